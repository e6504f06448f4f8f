import { Rejected } from "../decider.ts";
import { newerWord, staleDraft } from "../draft/staleness.ts";
import type { SendClaim, ThreadEvent } from "./events.ts";
import { requireNoLoop } from "./loopGuard.ts";
import type { Thread } from "./thread.ts";

/** The right to send, claimed on the stream that also records the customer's mail: so the stale check cannot be raced. */
export type ThreadSending =
  | {
      type: "ClaimSend";
      claim: SendClaim;
      /** The filing number of the message the draft answers; 0 for a draft that answers none. */
      basedOnNumber: number;
      /** The attempt this claim takes the place of; null for a first one. */
      replaces: string | null;
    }
  | { type: "ReleaseClaim"; draftId: string; attemptId: string; because: string }
  | {
      type: "RecordSent";
      draftId: string;
      attemptId: string;
      messageId: string;
      rfcMessageId: string;
      to: string[];
    };

export function claimSend(command: Extract<ThreadSending, { type: "ClaimSend" }>, thread: Thread): ThreadEvent[] {
  const { claim, basedOnNumber, replaces } = command;
  const newer = newerWord(thread, { basedOnNumber });
  if (newer !== null) throw staleDraft(newer.messageId);
  const held = thread.claims[claim.draftId];
  if (held && held.attemptId === claim.attemptId) return [];
  if ((held?.attemptId ?? null) !== replaces || thread.drafts[claim.draftId]?.status === "sent") {
    throw new Rejected("send_in_progress", "this draft is already being sent");
  }
  requireNoLoop(thread, claim);
  return [{ type: "SendClaimed", data: { ...claim, replaces } }];
}

export function releaseClaim(command: Extract<ThreadSending, { type: "ReleaseClaim" }>, thread: Thread): ThreadEvent[] {
  const { draftId, attemptId, because } = command;
  if (thread.claims[draftId]?.attemptId !== attemptId) return [];
  return [{ type: "SendClaimReleased", data: { draftId, attemptId, because } }];
}

export function recordSent(command: Extract<ThreadSending, { type: "RecordSent" }>, thread: Thread): ThreadEvent[] {
  const { type: _, ...sent } = command;
  if (thread.drafts[sent.draftId]?.status === "sent") return [];
  const events: ThreadEvent[] = [{ type: "MessageSent", data: sent }];
  if (thread.status !== "waiting") {
    events.push({ type: "ThreadStatusChanged", data: { status: "waiting", because: "a reply was sent" } });
  }
  return events;
}
