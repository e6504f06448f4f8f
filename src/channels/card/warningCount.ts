import type { ApprovalView } from "../approvalView.ts";
import { reviewCard } from "./reviewCard.ts";

/** A list has up to fifty drafts, and looking through this many characters takes some tens of milliseconds. */
const mostLookedThrough = 20_000;

/** How many warnings a draft's own page shows; null for a draft that is too long to be looked through on a page with many others. */
export function warningCount(view: ApprovalView): number | null {
  const { body_html, body_text, signature_html } = view.content;
  const isLong = [body_html, body_text, signature_html].join("").length > mostLookedThrough;
  return isLong ? null : reviewCard(view).warnings.length;
}
