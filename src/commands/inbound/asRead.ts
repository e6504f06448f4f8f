import type { FilingDecision } from "#streams/filing/events.ts";
import type { ReadMail } from "./readMail.ts";

/** A decision that shows a mail, with what became known when the mail was read: that it cannot be, or only in part. */
export function asRead(decision: FilingDecision, mail: ReadMail): FilingDecision {
  const { unreadable } = mail.parsed;
  if (unreadable !== null) {
    return {
      ...decision,
      disposition: "quarantined",
      reason: unreadable,
      reviewReason: "a mail that could not be read",
    };
  }
  const reason = leftOut(mail);
  const reviewReason = decision.reviewReason ?? (reason === null ? null : "a mail of which only a part was read");
  return { ...decision, disposition: "threaded", reason, reviewReason };
}

/** What was left out of what is shown, in words; null if nothing was. */
function leftOut({ event, parsed }: ReadMail): string | null {
  const { cut = [] } = event.data.headers;
  const fields = cut.length > 0 ? [`only the first part was read of: ${cut.join(", ")}`] : [];
  const said = [...fields, ...(parsed.cut === null ? [] : [parsed.cut])];
  return said.length === 0 ? null : said.join("; ");
}
