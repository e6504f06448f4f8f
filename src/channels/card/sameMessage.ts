import { shortLine } from "#src/html/visible.ts";
import type { ApprovalView } from "../approvalView.ts";
import { named } from "./names.ts";

/** Characters shown of a text within a sentence. */
const excerptLength = 300;

const minute = (at: string): string => `${at.slice(0, 10)} at ${at.slice(11, 16)} UTC`;

const quoted = ({ subject, text }: { subject: string; text: string }): string =>
  `${named(subject) === "“”" ? "(no subject)" : named(subject)}: “${shortLine(text, excerptLength)}”`;

/** Says who already answered the message, when and with what text; undefined if it was not answered. */
export function answeredInWords({ answeredMeanwhile }: Pick<ApprovalView, "answeredMeanwhile">): string | undefined {
  if (answeredMeanwhile === null) return undefined;
  const { by, at, elsewhere } = answeredMeanwhile;
  const address = elsewhere === null ? "" : ` from ${named(elsewhere)}`;
  return `This message was already answered${address}, by ${named(by)} on ${minute(at)}: ${quoted(answeredMeanwhile)}. This draft would be another answer.`;
}

/** Names other drafts that answer the same message and wait for a decision; undefined if there are none. */
export function othersInWords({ otherDrafts }: Pick<ApprovalView, "otherDrafts">): string | undefined {
  if (otherDrafts.length === 0) return undefined;
  const all = otherDrafts.map((other) => `${quoted(other)} (submitted on ${minute(other.at)})`);
  return `${otherDrafts.length === 1 ? "Another draft waits" : "Other drafts wait"} for a decision on the same message: ${all.join("; ")}.`;
}
