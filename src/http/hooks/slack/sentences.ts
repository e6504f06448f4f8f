import type { DecisionResult, HeldBy, LinkedApproval } from "#src/channels/approvalDecisions.ts";
import {
  type ApprovalView,
  insteadOfExpired,
  mayReopen,
  type RecordedOutcome,
  type RequestedChanges,
} from "#src/channels/approvalView.ts";
import { approvalsInWords } from "#src/channels/card/approvalsSoFar.ts";
import { named } from "#src/channels/card/names.ts";
import { readableTime } from "#src/html/times.ts";
import { shortLine, visibleLine } from "#src/html/visible.ts";
import type { LinkClosure } from "#streams/draft/events.ts";

/** Sentences for a card that cannot be used for decisions any more. Names by others are quoted; nothing is escaped for markup. */

type Press = { by: string; at: string; reason?: string };

/** The outcome of a click. `view`: of the draft, if it could be loaded. */
export function sentenceOf(result: DecisionResult, press: Press, view: ApprovalView | undefined): string {
  const who = `by ${named(press.by)}, ${readableTime(press.at)}.`;
  switch (result.kind) {
    case "approved":
      return `Approved ${who} ${result.note ? held[result.note] : result.sending ? onItsWay(view) : "It has not been sent yet: the agent can send it now."}`;
    case "vote_counted":
      return `${result.again ? "You have already approved this version." : "Your approval counts."} ${approvalsInWords(result.approvals)} Nothing is sent until the other approvers have approved it.`;
    case "rejected":
      return `Rejected ${who} ${press.reason ? `Reason: ${shortLine(press.reason, 500)} ` : ""}It will not be sent, and the agent is informed.`;
    case "changes_requested":
      return result.view.changesRequested ? waitingFor(result.view.changesRequested) : changed;
    case "already_decided":
      return result.view.decided ? recorded(result.view.decided) : changed;
    case "changed":
      return changed;
    case "stale":
      return stale;
    case "expired":
      return expired;
    case "closed":
      return closed[result.because];
    case "edit_refused":
      return `Nothing was decided. ${result.sentence}`;
    case "code_missing":
    case "code_wrong":
    case "in_chat_only":
    case "sign_in_required":
      return "Nothing was decided: you can decide about this draft only on its page.";
    case "unknown":
      return unknownButton;
  }
}

/** Why a button cannot decide any more; undefined if it can. */
export function endOf(link: LinkedApproval, nowMs: number): string | undefined {
  if (link.closed) return closed[link.closed];
  if (link.superseded) return changed;
  if (link.decided) return recorded(link.decided);
  if (link.changesRequested) return waitingFor(link.changesRequested);
  return nowMs >= Date.parse(link.expiresAt) ? expired : undefined;
}

const waitingFor = ({ by, at, text }: RequestedChanges): string =>
  `Changes requested by ${named(by)}, ${readableTime(at)}: “${shortLine(text, 500)}” A new message asks about the agent's next version.`;

export const unknownButton = "This button does not exist any more. Nothing was decided.";
export const notAllowed = "You may not decide about drafts in this channel. Nothing was decided.";
export const otherPlace = "This button belongs to another message. Nothing was decided.";
export const notRecorded = "Your decision could not be recorded. Please press again in a moment.";

const changed = "This draft changed. Nothing was decided: a newer message asks about the new version.";
const stale =
  "Not sent: a newer message from the customer arrived. The agent is informed and can write a new draft. You will then be asked again.";
const expired = `You can no longer decide here: the time is over, or other approvers are asked now. Nothing was decided. ${insteadOfExpired}`;

const closed: Record<LinkClosure, string> = {
  link_leaked: "These buttons were closed: their link was found in other mail. Nothing was decided.",
  wrong_codes: "These buttons were closed: wrong codes were entered on the page. Nothing was decided.",
};

const held: Record<HeldBy, string> = {
  sending_paused:
    "Sending is paused at the moment. It is sent when the pause ends, unless a newer message arrives first.",
  plan_limit_reached: "It was not sent: the workspace has reached its plan's limit for outgoing mail.",
  identity_disabled: "It was not sent: the sending address is disabled.",
};

const onItsWay = (view: ApprovalView | undefined): string =>
  view ? `It goes to ${view.content.to.map(visibleLine).join(", ")}.` : "It is on its way.";

const words: Record<Exclude<RecordedOutcome["decision"], "stale">, string> = {
  approved: "Already approved",
  sending: "Already approved and on its way",
  sent: "Already approved and sent",
  rejected: "Already rejected",
  failed: "Approved, but it could not be delivered",
};

function recorded({ decision, by, at, reason, undoable }: RecordedOutcome): string {
  if (decision === "stale") return stale;
  const who = by === null ? "" : ` by ${named(by)}`;
  const why = reason ? ` ${decision === "failed" ? "What happened" : "Reason"}: ${shortLine(reason, 500)}` : "";
  return `${words[decision]}${who}, ${readableTime(at)}.${why}${undoable ? ` ${mayReopen}` : ""}`;
}
