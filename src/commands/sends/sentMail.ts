import { readEvents } from "#src/eventStore/eventStore.ts";
import type { Draft } from "#streams/draft/draft.ts";
import { type DraftEvent, draftStream } from "#streams/draft/events.ts";
import type { Dependencies } from "../dependencies.ts";
import { loadContent } from "../drafts/draftContents.ts";
import type { Cause } from "../handle.ts";
import { commandThread } from "../threads/threads.ts";

/** Records on a draft's thread that the draft's mail was sent. Changes nothing if that is recorded already or the draft was not sent. */
export async function noteSentOnThread(deps: Dependencies, draftId: string, cause: Cause): Promise<void> {
  const { state: draft } = await deps.drafts.load(draftId);
  if (draft.status !== "sent") return;
  const events = await readEvents<DraftEvent>(deps.store, draftStream(draftId));
  const sent = events.find((event) => event.type === "DraftSent");
  if (sent?.type !== "DraftSent") return;
  const { attemptId, rfcMessageId } = sent.data;
  await recordSentOnThread(deps, { draftId, draft, attemptId, rfcMessageId }, cause);
}

/** Records on a draft's thread that the draft's mail was sent; the caller knows the attempt and the Message-ID. */
export async function recordSentOnThread(
  deps: Dependencies,
  {
    draftId,
    draft,
    attemptId,
    rfcMessageId,
  }: { draftId: string; draft: Draft; attemptId: string; rfcMessageId: string },
  cause: Cause,
): Promise<void> {
  const content = await loadContent(deps.blobs, draft.stored);
  const { messageId, threadId } = draft;
  const to = [...content.to, ...content.cc];
  const command = { type: "RecordSent", draftId, attemptId, messageId, rfcMessageId, to } as const;
  await commandThread(deps, { threadId, command }, cause);
}
