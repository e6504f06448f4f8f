import type { PutAsideRow } from "#projections/inbound/queries.ts";
import { named } from "#src/channels/card/names.ts";
import { button, form } from "#src/html/forms.ts";
import { html, type Markup } from "#src/html/html.ts";
import { when } from "#src/html/times.ts";
import { shortLine } from "#src/html/visible.ts";
import type { PageContext } from "../../framework/pageContext.ts";
import { shortPerson, subjectLine } from "../../threads/threadWords.ts";
import { asidePath } from "./path.ts";

/** A mail put aside: who wrote it, why it stands aside, and what became of it since. */
export function asideRow(mail: PutAsideRow, context: PageContext): Markup {
  const { id, thread_id, message_id, identity_name, identity_address, received_at, expired_after_days } = mail;
  const subject = subjectLine(mail.subject ?? "", 150);
  return html`<li class="conversation" id="mail-${id}"><a href="/threads/${thread_id}?open=${message_id}#message-${message_id}">
<span class="who">${sender(mail)}</span>
<span class="subject"><bdi lang="">${subject}</bdi></span></a>
<p class="why-aside">${whyAside(mail)}</p>
${mail.filed_by && html`<p class="why-aside"><strong>Filed as a message</strong> by ${named(mail.filed_by.name ?? mail.filed_by.id)}, ${when(context, mail.filed_by.at)}${mail.disposition === "quarantined" && ", but it could not be read"}.</p>`}
<div class="facts"><span class="identity"><bdi lang="">${shortLine(identity_name || identity_address || "", 60)}</bdi></span> ${
    expired_after_days === null
      ? html`<a class="press" href="/review/aside/${id}/raw" download>Download${theMail(subject)}</a>`
      : html`<span class="meta">Its content was removed.</span>`
  }${mayFile(mail, context) && fileForm(mail, context, subject)}</div>
<p class="time">${when(context, received_at.toISOString())}</p></li>
`;
}

const mayFile = ({ filed_by, expired_after_days }: PutAsideRow, context: PageContext): boolean =>
  filed_by === null && expired_after_days === null && context.may("write:drafts");

const fileForm = ({ id }: PutAsideRow, context: PageContext, subject: string): Markup =>
  form(
    context,
    { action: asidePath(`/${id}/file`, context.query), className: "inline" },
    button(html`File as a message${theMail(subject)}`),
  );

/** Names the mail to those who hear the list. */
const theMail = (subject: string): Markup => html`<span class="unseen"> (<bdi lang="">${subject}</bdi>)</span>`;

function sender({ put_aside, filed_by, reaction, envelope_from, ...mail }: PutAsideRow): Markup {
  if (put_aside === "own_copy" && filed_by === null)
    return shortPerson(mail.identity_name, mail.identity_address ?? envelope_from);
  if (put_aside === "reaction" && filed_by === null) return shortPerson(null, reaction?.from ?? envelope_from);
  return shortPerson(mail.from_name, mail.from_email ?? envelope_from);
}

/** Explains in a sentence why a mail is listed aside. */
function whyAside({ put_aside, envelope_from, reaction, classification, colleague }: PutAsideRow): Markup | string {
  switch (put_aside) {
    case "own_copy":
      return html`Our own mail: it came back with our words unchanged${envelope_from !== "" && html`, from <bdi lang="">${shortLine(envelope_from, 320)}</bdi>`}.`;
    case "reaction":
      return html`A reaction${reaction && html`, <bdi lang="">${shortLine(reaction.emoji, 16)}</bdi>,`} to a mail of ours: it is shown at that mail.`;
    case "automatic_reply":
      return "An automatic reply: agents are not notified of these.";
    case "report":
      return classification === "bounce"
        ? "A bounce: a mail could not be delivered."
        : "A report about a mail, such as a delay or a receipt.";
    case "colleague":
      return html`From a colleague: ${address(colleague)} of this workspace.`;
    case "hand_over":
      return html`Handed over by a colleague: ${address(colleague)} of this workspace.`;
  }
}

const address = (colleague: string | null): Markup =>
  html`<bdi lang="">${shortLine(colleague ?? "another address", 320)}</bdi>`;
