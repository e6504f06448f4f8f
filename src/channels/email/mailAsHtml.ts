import { html, type Markup, trusted } from "#src/html/html.ts";
import type { FieldValue } from "../card/fields.ts";
import type { ApprovalMail } from "./approvalMail.ts";
import { type CutText, cutNote } from "./excerpt.ts";
import { font, light, mailFrame, row } from "./mailFrame.ts";

/**
 * Renders the mail for programs that show HTML: tables and inline styles, one column, nothing loaded from elsewhere, only our own links.
 */
export const mailAsHtml = (mail: ApprovalMail): string =>
  mailFrame({
    subject: mail.subject,
    title: mail.title,
    lead: html`<p class="soft" style="${paragraph}color:${light.soft};">${mail.lead}</p>
${mail.escalation && html`<p class="soft" style="${paragraph}color:${light.soft};padding-top:6px;">${mail.escalation}</p>`}`,
    rows: html`${mail.code && row(code(mail.code))}
${mail.warnings.length > 0 && row(warnings(mail.warnings))}
${mail.hints.length > 0 && row(hints(mail.hints))}
${mail.newer && row(html`${label("The newer message")}${meta([value(mail.newer.from), mail.newer.at])}${letter(mail.newer.text)}`)}
${mail.changes && row(changes(mail.changes))}
${row(html`${label("The draft")}${fields(mail.fields)}`)}
${mail.parts.map((part) => row(html`${mail.parts.length > 1 && label(part.label)}${letter(part.text)}${part.folded && note(part.folded)}`))}
${mail.notes.map(({ label: title, values }) => row(html`${label(title)}${meta(values)}`))}
${row(html`${button(mail.approve, light.approve, "approve")}${mail.edit && button(mail.edit, light.soft, "edit")}${button(mail.askForChanges, light.soft, "changes")}${button(mail.reject, light.reject, "reject")}`)}
${mail.rationale && row(html`${label("Why the agent wrote it")}${letter(mail.rationale)}`)}
${mail.answers && row(answers(mail.answers))}`,
    facts: mail.facts,
  });

const paragraph = `margin:0;${font}font-size:16px;line-height:1.5;overflow-wrap:anywhere;word-break:break-word;`;

const label = (text: string): Markup =>
  html`<h2 class="soft" style="margin:8px 0 6px;${font}font-size:14px;line-height:1.4;font-weight:700;color:${light.soft};">${text}</h2>`;

const meta = (lines: (string | Markup)[]): Markup =>
  html`<p class="soft" style="${paragraph}font-size:14px;color:${light.soft};padding-bottom:6px;">${lines.map((line, index) => html`${index > 0 && html`<br>`}<bdi>${line}</bdi>`)}</p>`;

const warnings = (sentences: string[]): Markup =>
  html`<table role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0" class="warning" style="background-color:${light.warning};border-left:4px solid ${light.edge};border-radius:6px;"><tr><td style="padding:12px 14px;">
${sentences.map((sentence) => html`<p class="caution" style="${paragraph}color:${light.caution};padding:2px 0;"><strong>Note:</strong> ${sentence}</p>`)}
</td></tr></table>`;

const code = ({ digits, sentence }: NonNullable<ApprovalMail["code"]>): Markup =>
  html`<p class="ink" style="${paragraph}color:${light.ink};">Code: <strong style="font-size:22px;letter-spacing:3px;">${digits}</strong></p>
<p class="soft" style="${paragraph}font-size:14px;color:${light.soft};">${sentence}</p>`;

const hints = (sentences: string[]): Markup =>
  html`${sentences.map((sentence) => html`<p class="soft" style="${paragraph}font-size:15px;color:${light.soft};padding:2px 0;"><strong>Hint:</strong> ${sentence}</p>`)}`;

const note = (sentence: string): Markup =>
  html`<p class="soft" style="${paragraph}font-size:14px;color:${light.soft};padding-top:6px;">${sentence}</p>`;

const changes = ({ title, sentences, pieces, left }: NonNullable<ApprovalMail["changes"]>): Markup =>
  html`${label(title)}${sentences.length > 0 && meta(sentences)}
${pieces.length > 0 && html`${note("Underlined is new, struck through is gone.")}${box(html`${pieces.map(piece)}`)}`}${left && note(left)}`;

/** Marks a change by its element, by a line under or through it, and by its colour. */
function piece({ kind, text }: { kind: "same" | "added" | "removed"; text: string }): Markup {
  if (kind === "same") return html`${lines(text)}`;
  return kind === "added"
    ? html`<ins class="added" style="background-color:${light.added};color:${light.ink};text-decoration:underline;padding:0 2px;">${lines(text)}</ins>`
    : html`<del class="removed" style="background-color:${light.removed};color:${light.ink};text-decoration:line-through;padding:0 2px;">${lines(text)}</del>`;
}

const fields = (all: ApprovalMail["fields"]): Markup =>
  html`<table role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0">${all.map(
    ({ label, values }) => html`<tr>
<td class="soft" valign="top" width="84" style="${paragraph}font-size:14px;color:${light.soft};padding:2px 10px 2px 0;">${label}</td>
<td class="ink" valign="top" style="${paragraph}font-size:15px;color:${light.ink};padding:2px 0;">${values.map((one, index) => html`${index > 0 && html`<br>`}${value(one)}`)}</td>
</tr>`,
  )}</table>`;

const value = ({ name, text, mark }: FieldValue): Markup =>
  html`${name === null ? html`<bdi>${text}</bdi>` : html`<bdi>${name}</bdi> &lt;<bdi>${text}</bdi>&gt;`}${mark !== null && html` ${marked(mark)}`}`;

const marked = (mark: string): Markup =>
  html`<strong class="caution warning" style="background-color:${light.warning};color:${light.caution};font-size:13px;padding:1px 6px;border-radius:4px;">${mark}</strong>`;

const letter = (text: CutText): Markup =>
  box(
    html`${lines(text.shown || "(no text)")}${cutNote(text) && html`<br><em class="soft" style="color:${light.soft};">${cutNote(text)}</em>`}`,
  );

const box = (content: Markup): Markup =>
  html`<table role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0" class="letter" style="background-color:${light.page};border:1px solid ${light.line};border-radius:8px;"><tr><td dir="auto" class="ink" style="${paragraph}color:${light.ink};padding:14px;">${content}</td></tr></table>`;

/** Line breaks as elements: not every mail program honours white-space. */
const lines = (text: string): Markup[] =>
  text.split("\n").map((line, index) => html`${index > 0 && trusted("<br>\n")}${line}`);

const button = ({ label, url }: { label: string; url: string }, colour: string, name: string): Markup =>
  html`<table role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0" style="margin:8px 0;"><tr><td align="center" bgcolor="${colour}" class="${name}" style="background-color:${colour};border-radius:8px;">
<a href="${url}" class="${name}" style="display:block;padding:15px 20px;${font}font-size:18px;line-height:1.2;font-weight:700;color:${light["on-button"]};text-decoration:none;border-radius:8px;">${label}</a>
</td></tr></table>`;

const answers = (message: NonNullable<ApprovalMail["answers"]>): Markup => html`${label("The message it answers")}
${meta([value(message.from), message.subject, `${message.at} · ${message.proof}`, ...message.attachments.map((name) => `Attached: ${name}`)])}
${letter(message.text)}
${message.folded && note(message.folded)}`;
