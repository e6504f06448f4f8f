import type { Dependencies } from "#src/commands/dependencies.ts";
import type { Cause } from "#src/commands/handle.ts";
import { crashPoint } from "#src/crashPoints.ts";
import type { AcceptedDelivery } from "#streams/delivery/decider.ts";

/** The provider took it: the draft is sent. One that had failed meanwhile, because nobody knew, stays failed. */
export async function endAccepted(
  deps: Dependencies,
  { draftId, attemptId, delivery }: { draftId: string; attemptId: string; delivery: AcceptedDelivery },
  cause: Cause,
): Promise<void> {
  const { rfcMessageId } = delivery.started;
  const sentAt = deps.clock.now().toISOString();
  const sent = { type: "RecordSent", attemptId, rfcMessageId, sentAt } as const;
  const { state } = await deps.drafts.handle(draftId, sent, cause);
  crashPoint("deliver:sent");
  if (state.status === "failed") await lateEvidence(deps, { draftId, attemptId, outcome: "accepted" }, cause);
}

/** It will not be sent. A process gives back what it still holds. A refusal after an unknown outcome is evidence. */
export async function endFailed(
  deps: Dependencies,
  { draftId, attemptId, code, message }: { draftId: string; attemptId: string; code: string; message: string },
  cause: Cause,
): Promise<void> {
  const fail = { type: "FailDraft", attemptId, code, message } as const;
  const { state } = await deps.drafts.handle(draftId, fail, cause);
  const late = state.status === "failed" && state.failureCode === "unconfirmed" && code !== "unconfirmed";
  if (late) await lateEvidence(deps, { draftId, attemptId, outcome: "refused" }, cause);
}

const lateEvidence = (
  deps: Dependencies,
  { draftId, attemptId, outcome }: { draftId: string; attemptId: string; outcome: "accepted" | "refused" },
  cause: Cause,
) => deps.drafts.handle(draftId, { type: "RecordLateEvidence", attemptId, outcome }, cause);
