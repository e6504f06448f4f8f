import { Rejected } from "../decider.ts";
import { newerHumanMessage, staleDraft } from "../draft/staleness.ts";
import { getEntry } from "../idMap.ts";
import { requireFullyAbsorbed } from "./absorption.ts";
import { otherAnswers, requireKnownAnswers } from "./answers.ts";
import { mayHaveForgotten, notedDraft } from "./drafts.ts";
import type { SendClaim, ThreadEvent } from "./events.ts";
import { requireNoLoop } from "./loopGuard.ts";
import type { Thread } from "./thread.ts";

/** Commands that claim the right to send, on the stream that also records the customer's mail: so the stale check has no race. */
export type ThreadSending =
  | {
      type: "ClaimSend";
      claim: SendClaim;
      /** The filing number of the message the draft answers; 0 for a draft that answers none. */
      basedOnNumber: number;
      /** The attempt that this claim replaces; null for the first one. */
      replaces: string | null;
      /** Answers that its approval knows of, by their drafts. Absent for a key's send and another attempt: not checked then. */
      knows?: readonly string[];
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

/** Returns the claim under which a draft is being sent; undefined if there is none. */
export const sendClaimOf = ({ claims }: Thread, draftId: string): SendClaim | undefined => getEntry(claims, draftId);

export function claimSend(command: Extract<ThreadSending, { type: "ClaimSend" }>, thread: Thread): ThreadEvent[] {
  const { claim, basedOnNumber, replaces, knows } = command;
  requireFullyAbsorbed(thread);
  const newer = newerHumanMessage(thread, { basedOnNumber });
  if (newer !== null) throw staleDraft(newer.messageId);
  const held = sendClaimOf(thread, claim.draftId);
  if (held && held.attemptId === claim.attemptId) return [];
  if ((held?.attemptId ?? null) !== replaces || notedDraft(thread, claim.draftId)?.status === "sent") {
    throw new Rejected("send_in_progress", "this draft is already being sent");
  }
  if (knows !== undefined) {
    requireKnownAnswers(otherAnswers(thread, { draftId: claim.draftId, basedOnNumber }), knows);
  }
  requireNoLoop(thread, claim);
  return [{ type: "SendClaimed", data: { ...claim, replaces } }];
}

export function releaseClaim(command: Extract<ThreadSending, { type: "ReleaseClaim" }>, thread: Thread): ThreadEvent[] {
  const { draftId, attemptId, because } = command;
  if (sendClaimOf(thread, draftId)?.attemptId !== attemptId) return [];
  return [{ type: "SendClaimReleased", data: { draftId, attemptId, because } }];
}

export function recordSent(command: Extract<ThreadSending, { type: "RecordSent" }>, thread: Thread): ThreadEvent[] {
  const { type: _, ...sent } = command;
  if (wasSent(thread, sent.draftId)) return [];
  const events: ThreadEvent[] = [{ type: "MessageSent", data: sent }];
  if (thread.status !== "waiting") {
    events.push({ type: "ThreadStatusChanged", data: { status: "waiting", because: "a reply was sent" } });
  }
  return events;
}

/** True if a draft was sent. If notes were forgotten, a draft that is neither known nor claimed was sent long ago. */
function wasSent(thread: Thread, draftId: string): boolean {
  const known = notedDraft(thread, draftId);
  if (known !== undefined) return known.status === "sent";
  return mayHaveForgotten(thread) && sendClaimOf(thread, draftId) === undefined;
}
