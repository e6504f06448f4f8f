import type { DraftEvent, StoredContent } from "#streams/draft/events.ts";
import type { Recorded } from "#streams/event.ts";
import { type ThreadEvent, threadStream } from "#streams/thread/events.ts";
import type { Dependencies } from "../../dependencies.ts";
import { loadContent } from "../draftContents.ts";
import { readPages } from "../draftHistories.ts";
import { explainDraft } from "./explain.ts";
import { foldLife } from "./fold.ts";
import type { DraftLife, MessageMakingStale } from "./life.ts";
import { type LifeEvent, toLifeEvent } from "./lifeEvents.ts";
import type { Phrase } from "./phrases.ts";

/**
 * Explains why a draft was or was not sent, from its history in the log, oldest event first. The history may be cut off after any event.
 */
export async function explainFromLog(deps: Dependencies, history: readonly Recorded[]): Promise<Phrase[]> {
  const life = foldLife(await Promise.all(history.map((event) => withContent(deps, event))));
  const newer = life.stale && (await newerMessage(deps, history, life.stale.newer));
  return explainDraft({ ...life, stale: life.stale && newer && { ...life.stale, newer } });
}

const withContent = async (deps: Dependencies, event: Recorded): Promise<LifeEvent> =>
  event.type === "DraftSubmitted" || event.type === "DraftEdited"
    ? toLifeEvent(event, await loadContent(deps.blobs, event.data as StoredContent))
    : toLifeEvent(event);

/** Looks up the message that made the draft stale on the draft's thread. Fields of a message that is not found stay null. */
async function newerMessage(
  deps: Dependencies,
  history: readonly Recorded[],
  newer: NonNullable<DraftLife["stale"]>["newer"],
): Promise<MessageMakingStale> {
  const submitted = history[0] as Recorded<Extract<DraftEvent, { type: "DraftSubmitted" }>>;
  for await (const page of readPages<ThreadEvent>(deps, threadStream(submitted.data.threadId))) {
    for (const { type, data } of page) {
      if (type !== "MessageReceived" && type !== "MessageHeld") continue;
      if (data.messageId !== newer.id) continue;
      return { id: newer.id, from: data.from?.address ?? null, receivedAt: data.receivedAt };
    }
  }
  return newer;
}
