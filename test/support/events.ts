import { randomUUID } from "node:crypto";
import type { Dependencies } from "#src/commands/dependencies.ts";
import { StreamMoved } from "#src/eventStore/eventStore.ts";
import { draftStream } from "#streams/draft/events.ts";
import type { Event } from "#streams/event.ts";
import { threadStream } from "#streams/thread/events.ts";
import * as examples from "./examples/drafts.ts";

/** Appends events as the parts of the service would, for tests of subscribers. */
export async function append(
  deps: Pick<Dependencies, "store">,
  { workspaceId, stream }: { workspaceId: string | null; stream: string },
  ...events: Event[]
): Promise<number> {
  const id = randomUUID();
  const metadata = {
    workspaceId,
    actor: { kind: "api_key" as const, id: "0199aaaa-0000-7000-8000-00000000000a", name: "agent" },
    correlationId: id,
    causationId: id,
    at: new Date().toISOString(),
  };
  const named = events.map((event) => ({ ...event, id: randomUUID(), metadata }));
  for (;;) {
    const last = await deps.store.readLast(stream);
    try {
      return (await deps.store.append(stream, last?.revision ?? -1, named)).position;
    } catch (error) {
      // The service's own processes may write to the stream as well.
      if (!(error instanceof StreamMoved)) throw error;
    }
  }
}

/** Makes a submitted draft with its own thread; neither has other events. */
export async function begunDraft(
  deps: Pick<Dependencies, "store">,
  workspaceId: string,
  { identityId = randomUUID(), autoApproved = false }: { identityId?: string; autoApproved?: boolean } = {},
) {
  const [draftId, threadId, messageId] = [randomUUID(), randomUUID(), randomUUID()];
  const opened = { workspaceId, identityId, subject: "Order", contactEmail: null, contactId: null };
  await append(deps, { workspaceId, stream: threadStream(threadId) }, { type: "ThreadOpened", data: opened });
  const submitted = examples.submitted({
    ...{ workspaceId, threadId, identityId, messageId, autoApproved, content: null, contentSha256: "a".repeat(64) },
    ...{ basedOnMessageId: null, basedOnNumber: 0, answers: null },
  });
  await append(deps, { workspaceId, stream: draftStream(draftId) }, submitted);
  return {
    draftId,
    threadId,
    messageId,
    identityId,
    /** Appends one more event of the draft. */
    next: (type: string, more: Record<string, unknown> = {}) =>
      append(deps, { workspaceId, stream: draftStream(draftId) }, { type, data: more }),
    /** Appends several events at once. */
    all: (...events: Event[]) => append(deps, { workspaceId, stream: draftStream(draftId) }, ...events),
  };
}

/** The data of an edit's event. */
export const edited = (version: number) =>
  examples.edited(version, {
    ...{ content: null, contentSha256: String(version % 10).repeat(64), changedFields: ["body_text"] },
  }).data;
