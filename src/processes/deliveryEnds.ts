import { loadContent } from "#src/commands/contents.ts";
import type { Dependencies } from "#src/commands/dependencies.ts";
import type { Cause } from "#src/commands/handle.ts";
import { giveBack } from "#src/commands/sends.ts";
import { noteDraft, onThread } from "#src/commands/threads.ts";
import { crashPoint } from "#src/crashPoints.ts";
import type { Delivery } from "#streams/delivery/decider.ts";
import { draftDecider } from "#streams/draft/decider.ts";
import type { Draft } from "#streams/draft/draft.ts";
import { draftStream } from "#streams/draft/events.ts";

/** The provider took it: the draft is sent, and its thread waits for an answer. */
export async function endAccepted(
  deps: Dependencies,
  draftId: string,
  draft: Draft,
  delivery: Delivery,
  cause: Cause,
): Promise<void> {
  const attemptId = draft.attemptId as string;
  const rfcMessageId = delivery.started?.rfcMessageId ?? "";
  const sentAt = deps.clock.now().toISOString();
  const sent = { type: "RecordSent", attemptId, rfcMessageId, sentAt } as const;
  await deps.handle(draftDecider, draftStream(draftId), sent, cause);
  crashPoint("deliver:sent");
  const content = await loadContent(deps.blobs, draft.stored);
  const to = [...content.to, ...content.cc];
  const { messageId } = draft;
  await onThread(deps, draft.threadId, { type: "RecordSent", draftId, attemptId, messageId, rfcMessageId, to }, cause);
}

/** It will not be sent. Its quota is given back unless nobody knows whether it was. */
export async function endFailed(
  deps: Dependencies,
  draftId: string,
  draft: Draft,
  code: string,
  message: string,
  cause: Cause,
): Promise<void> {
  const { attemptId } = draft;
  const command = { type: "FailDraft", attemptId, code, message } as const;
  const { revision } = await deps.handle(draftDecider, draftStream(draftId), command, cause);
  const keptQuota = { ...draft, reservation: null };
  await giveBack(deps, draftId, code === "unconfirmed" ? keptQuota : draft, code, cause);
  await noteDraft(deps, { threadId: draft.threadId, draftId, outcome: "failed", draftRevision: revision }, cause);
}
