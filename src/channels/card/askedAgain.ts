import { readableTime } from "#src/html/times.ts";
import type { ApprovalView } from "../approvalView.ts";

/** Says that a request is not the first about its version, and why it was made; "" if it is the first. */
export function askedAgainInWords({ askedAgain }: Pick<ApprovalView, "askedAgain">): string {
  if (!askedAgain) return "";
  const at = readableTime(askedAgain.at);
  return askedAgain.by === "service"
    ? `Asked again: nobody decided by ${at}. This is the last automatic request.`
    : `Asked again: the link of an earlier request had expired, and its holder asked for a new one (${at}).`;
}
