import type { DecisionResult, HeldBy, LinkedApproval } from "#src/channels/approvalDecisions.ts";
import {
  insteadOfExpired,
  mayReopen,
  type RecordedOutcome,
  type RequestedChanges,
} from "#src/channels/approvalView.ts";
import { named } from "#src/channels/card/names.ts";
import { readableTime } from "#src/html/times.ts";

/**
 * Reply shown in the chat to the person who pressed. `ends`: true if the buttons cannot decide any more. A process
 * (processes/concludeCards.ts) replaces the request's text with the draft's outcome; `sentence` replaces it if the draft itself did not
 * change.
 */
export type PressReply = { toast: string; ends: boolean; sentence?: string };

const held: Record<HeldBy, string> = {
  sending_paused: "Sending is paused: it will be sent when the pause ends, unless a newer message arrives first.",
  plan_limit_reached: "It was not sent: the workspace has reached its plan's limit for outgoing mail.",
  identity_disabled: "It was not sent: the sending address is disabled.",
};

const recorded: Record<RecordedOutcome["decision"], string> = {
  approved: "approved",
  sending: "approved and on its way",
  sent: "approved and sent",
  rejected: "rejected",
  stale: "stopped by a newer message",
  failed: "approved, but it could not be delivered",
};

export function replyToPress(result: DecisionResult): PressReply {
  switch (result.kind) {
    case "approved": {
      const then = result.note
        ? held[result.note]
        : result.sending
          ? "It is on its way."
          : "The agent can send it now.";
      return over(`Approved. ${then}`);
    }
    case "vote_counted": {
      const { again, approvals } = result;
      const counts = again ? "You have already approved it." : "Your approval counts.";
      return { toast: `${counts} ${approvals.given.length} of ${approvals.required} approvals given.`, ends: false };
    }
    case "rejected":
      return over("Rejected. It will not be sent.");
    case "changes_requested":
      return waiting(result.view.changesRequested, result.again);
    case "already_decided":
      return result.view.decided ? decided(result.view.decided) : changed;
    case "changed":
      return changed;
    case "stale":
      return over(
        "Not sent: a newer message arrived. The agent is notified, and you will be asked about its next draft.",
      );
    case "expired":
      return expired;
    case "closed":
      return closed;
    case "edit_refused":
      return { toast: `Nothing was decided. ${result.sentence}`, ends: false };
    case "code_missing":
    case "code_wrong":
      return { toast: "Nothing was decided: this draft needs a code. Decide on its page.", ends: false };
    case "in_chat_only":
    case "sign_in_required":
    case "unknown":
      return unknownButton;
  }
}

/** Returns the reply that explains why the request cannot be decided now; undefined if it can. */
export function whyDecided(link: LinkedApproval | undefined, now: Date): PressReply | undefined {
  if (!link) return unknownButton;
  if (link.closed) return closed;
  if (link.superseded) return changed;
  if (link.decided) return decided(link.decided);
  if (link.changesRequested) return waiting(link.changesRequested);
  return Date.parse(link.expiresAt) <= now.getTime() ? expired : undefined;
}

function decided({ decision, by, at, undoable }: RecordedOutcome): PressReply {
  const whom = by && decision !== "stale" ? ` by ${named(by, 60)}` : "";
  const toast = `Already decided: ${recorded[decision]}${whom}, ${readableTime(at)}.`;
  return undoable ? { toast: `${toast} ${mayReopen}`, ends: false } : over(toast);
}

/** `again`: the request was made before this press. */
function waiting(request: RequestedChanges | null, again = true): PressReply {
  if (request === null) return changed;
  return over(
    again
      ? `Nothing was decided: ${named(request.by, 60)} asked for changes. You will be asked about the next version.`
      : "The agent is asked for changes. You will be asked about its next version.",
  );
}

const over = (toast: string): PressReply => ({ toast, ends: true });

export const unknownButton: PressReply = { toast: "This button does not exist any more.", ends: false };

const changed = over("This draft changed: review the new version.");
const closed = over("These buttons were closed. Nothing was decided.");
const expired: PressReply = {
  ...over(`These buttons have expired. Nothing was decided. ${insteadOfExpired}`),
  sentence: `These buttons have expired. ${insteadOfExpired}`,
};
