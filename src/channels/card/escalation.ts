import { counted } from "#src/html/counted.ts";
import { readableTime } from "#src/html/times.ts";
import type { ApprovalView } from "../approvalView.ts";

/** The time when the secondary channel is asked. `left`: the time between the making of the card and then, in words. */
export type Escalation = { at: string; left: string; sentence: string };

/** Null if no one else would be asked, and once that time has passed. */
export function escalationOf({
  escalatesAt: at,
  shownAt,
}: Pick<ApprovalView, "escalatesAt" | "shownAt">): Escalation | null {
  if (at === null) return null;
  const ms = Date.parse(at) - Date.parse(shownAt);
  if (!(ms > 0)) return null;
  return {
    at,
    left: duration(ms),
    sentence: `If it is not decided by ${readableTime(at)}, another approver will be asked.`,
  };
}

/** Rounded down, so that approvers do not count on time they do not have. */
function duration(ms: number): string {
  const minutes = Math.floor(ms / 60_000);
  if (minutes < 1) return "less than a minute";
  if (minutes < 120) return counted(minutes, "minute");
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? counted(hours, "hour") : counted(Math.floor(hours / 24), "day");
}
