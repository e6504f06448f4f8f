import { readableTime } from "#src/html/times.ts";
import { shortLine } from "#src/html/visible.ts";
import type { ApprovalsSoFar } from "../approvalView.ts";

/** Says how many of the required approvals are given, by whom and when. Display names are quoted, not escaped for any markup. */
export function approvalsInWords({ required, given }: ApprovalsSoFar): string {
  if (given.length === 0) return `${required} approvals are needed; none is given yet.`;
  const who = given.map(({ by, at }) => `${shortLine(by, 100)} at ${readableTime(at)}`).join("; by ");
  return `${given.length} of ${required} approvals given: by ${who}.`;
}
