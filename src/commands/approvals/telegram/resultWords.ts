import type {
  ChatPerson,
  DecisionResult,
  HeldBy,
  LinkedApproval,
  RecordedOutcome,
} from "#src/channels/approvalView.ts";
import { named } from "#src/channels/card/names.ts";
import { readableTime } from "#src/html/times.ts";
import { shortLine } from "#src/html/visible.ts";

/** What is said of a press: over the chat to who pressed, and in the question's place, where it ends the question. */
export type Said = { toast: string; sentence: string | null };

const held: Record<HeldBy, string> = {
  sending_paused: "Sending is paused: it leaves when the pause ends, unless a newer message arrives first.",
  plan_limit_reached: "It is not sent: the workspace has reached its plan's limit for outgoing mail.",
  identity_disabled: "It is not sent: the sending address is disabled.",
};

const recorded: Record<RecordedOutcome["decision"], string> = {
  approved: "Approved",
  sending: "Approved and on its way",
  sent: "Approved and sent",
  rejected: "Rejected",
  stale: "Not sent: a newer message arrived",
  failed: "Approved, but it could not be delivered",
};

type Press = { by: ChatPerson; at: string; reason?: string | undefined };

/** `by`: who pressed just now, at this ISO time. */
export function wordsOf(result: DecisionResult, { by, at, reason }: Press): Said {
  switch (result.kind) {
    case "approved": {
      const then = result.note
        ? held[result.note]
        : result.sending
          ? "It is on its way."
          : "The agent can send it now.";
      return { toast: `Approved. ${then}`, sentence: `✅ Approved by ${who(by)}, ${readableTime(at)}. ${then}` };
    }
    case "vote_counted": {
      const { again, approvals } = result;
      const sentence = `${again ? "You have approved it before." : "Your approval counts."} ${approvals.given.length} of ${approvals.required} are given.`;
      return { toast: sentence, sentence: null };
    }
    case "rejected":
      return {
        toast: "Rejected. It will not be sent.",
        sentence: `❌ Rejected by ${who(by)}, ${readableTime(at)}.${reason ? ` Reason: ${named(reason, 500)}` : ""}`,
      };
    case "already_decided":
      return result.view.decided ? decided(result.view.decided) : changed;
    case "changed":
      return changed;
    case "stale":
      return both("Not sent: a newer message arrived. The agent is told, and you will be asked about its next draft.");
    case "expired":
      return both("These buttons have expired. Nothing was decided.");
    case "closed":
      return both("These buttons were closed, since they may have become known to others. Nothing was decided.");
    case "code_missing":
    case "code_wrong":
      return { toast: "This draft is decided on its page, with a code.", sentence: null };
    case "unknown":
      return { toast: "This button is not known here.", sentence: null };
  }
}

/** What stands in the way of a decision now; undefined if nothing does. */
export function overAlready(link: LinkedApproval | undefined, now: string): Said | undefined {
  if (!link) return { toast: "This button is not known here.", sentence: null };
  const pressed = { by: { kind: "telegram", id: "", name: "" }, at: now } as const;
  if (link.closed) return wordsOf({ kind: "closed", because: link.closed }, pressed);
  if (link.superseded) return changed;
  if (link.decided) return decided(link.decided);
  return Date.parse(link.expiresAt) <= Date.parse(now) ? wordsOf({ kind: "expired" }, pressed) : undefined;
}

function decided({ decision, by, at, reason }: RecordedOutcome): Said {
  const whom = by ? ` by ${named(by)}` : "";
  const why = reason ? ` ${decision === "failed" ? "What happened" : "Reason"}: ${named(reason, 500)}` : "";
  const mark = decision === "rejected" ? "❌" : decision === "stale" || decision === "failed" ? "⚠️" : "✅";
  const sentence = `${recorded[decision]}${decision === "stale" ? "" : whom}, ${readableTime(at)}.${why}`;
  return { toast: shortLine(`Already decided: ${sentence}`, 190), sentence: `${mark} ${sentence}` };
}

const both = (sentence: string): Said => ({ toast: sentence, sentence: `⚠️ ${sentence}` });

const changed = both("This draft changed: review the new version.");

/** The id is Telegram's; the name is by their own choice. */
const who = ({ name }: ChatPerson): string => named(name);
