import type { ReviewCard } from "../card/reviewCard.ts";
import { type ApprovalLinks, approvalMail } from "./approvalMail.ts";
import { mailAsHtml } from "./mailAsHtml.ts";
import { mailAsText } from "./mailAsText.ts";

/**
 * Renders the approval mail, with the same content as text and as HTML. `confirmCode`: the code that the page asks for; null if it asks for
 * none.
 */
export function renderApprovalMail(
  card: ReviewCard,
  links: ApprovalLinks,
  confirmCode: string | null = null,
): { subject: string; text: string; html: string } {
  const mail = approvalMail(card, links, confirmCode);
  return { subject: mail.subject, text: mailAsText(mail), html: mailAsHtml(mail) };
}
