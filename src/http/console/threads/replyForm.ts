import type { ReplyPreview } from "#src/commands/emails/replyPreview.ts";
import { counted } from "#src/html/counted.ts";
import { area, button, choice, errorAt, field, form, withErrorSummary } from "#src/html/forms.ts";
import { html, type Markup } from "#src/html/html.ts";
import { shortLine } from "#src/html/visible.ts";
import { person } from "./threadWords.ts";

/** A reply as the person typed it. The form shows it again after a refusal, so that no text is lost. */
export type TypedReply = { body_text: string; reply_all: boolean; cc: string; bcc: string };

export const nothingWritten: TypedReply = { body_text: "", reply_all: false, cc: "", bcc: "" };

export type ReplyView = {
  threadId: string;
  /** The message that would be answered, its sender and recipients; undefined if no message was received. */
  preview: ReplyPreview | undefined;
  /** A newer message is held: no reply can be sent now. */
  isHeld: boolean;
  canSend: "yes" | "identity_disabled" | "identity_deleted";
  written: TypedReply;
  /** True if a newer message arrived while the person typed. The page shows that message above, and the person decides again. */
  isOvertaken: boolean;
  refused: { message: string; field?: string | undefined } | undefined;
  /** Random id: if the form is sent twice, it has its effect once. */
  once: string;
};

/** The form for a person's own reply, below the newest message. */
export function replySection(view: ReplyView, token: { formToken: string }): Markup {
  return html`<section id="reply" aria-labelledby="reply-title"><h2 id="reply-title">Write a reply</h2>
${view.isOvertaken && html`<div class="card alert" role="alert" id="overtaken"><p><strong>Nothing was sent: a newer message arrived while you were writing.</strong> It is shown above. Your text is still here: read the newer message, change your reply if necessary, and send it again.</p></div>`}
${withErrorSummary(view.refused, contentOf(view, token))}</section>`;
}

function contentOf({ preview, ...view }: ReplyView, token: { formToken: string }): Markup {
  if (view.canSend === "identity_deleted")
    return html`<p>The identity of this conversation was deleted, so you cannot reply.</p>`;
  if (preview === undefined) return html`<p>There is no message in this conversation to reply to.</p>`;
  if (preview.to.length === 0) return html`<p>The newest message has no address to reply to.</p>`;
  return html`${view.canSend === "identity_disabled" && html`<p class="caution">The identity is disabled: you can write a reply, but it is sent only after the identity is enabled.</p>`}
${view.isHeld && html`<p class="caution">A newer message is held and cannot be shown yet. A reply can be sent once it is released.</p>`}
${recipients(preview)}
${replyForm({ ...view, preview }, token)}`;
}

const recipients = ({ from, to, everybody, leftOut }: ReplyPreview): Markup => html`<dl>
<dt>From</dt><dd>${person(from.name, from.address)}</dd>
<dt>To</dt><dd>${list(to)}</dd>
${everybody.length > 0 && html`<dt>Reply to all adds</dt><dd>${list(everybody)}</dd>`}
${leftOut.length > 0 && html`<dt>Left out</dt><dd>${leftOut.join(" ")}</dd>`}
</dl>`;

const shownRecipients = 20;

const list = (addresses: readonly string[]): Markup =>
  html`${addresses.slice(0, shownRecipients).map((address) => html`<div><bdi lang="">${shortLine(address, 320)}</bdi></div>`)}${addresses.length > shownRecipients && html`<div>and ${counted(addresses.length - shownRecipients, "other")}</div>`}`;

const replyForm = (
  { threadId, preview, written, refused, once }: Omit<ReplyView, "preview"> & { preview: ReplyPreview },
  token: { formToken: string },
): Markup =>
  form(
    token,
    { action: `/threads/${threadId}/reply`, className: "reply", once, label: "Write a reply" },
    html`<input type="hidden" name="based_on_message_id" value="${preview.messageId}">`,
    area({
      name: "body_text",
      label: "Your reply",
      value: written.body_text,
      rows: 8,
      required: true,
      error: errorAt(refused, "body_text"),
      hint: "The identity's signature is added below your text. Files cannot be attached here.",
    }),
    preview.everybody.length > 0 &&
      choice({
        name: "reply_all",
        label: "Recipients",
        value: String(written.reply_all),
        required: true,
        error: errorAt(refused, "reply_all"),
        choices: [
          { value: "false", label: "Reply: only those in To" },
          { value: "true", label: `Reply to all: ${counted(preview.everybody.length, "copy", "copies")} too` },
        ],
      }),
    html`<details${(written.cc || written.bcc || /^b?cc\b/.test(refused?.field ?? "")) && html` open`}><summary>Cc and Bcc</summary>`,
    field({
      name: "cc",
      label: "Cc",
      value: written.cc,
      error: errorAt(refused, "cc"),
      hint: "Addresses, separated by commas",
    }),
    field({
      name: "bcc",
      label: "Bcc",
      value: written.bcc,
      error: errorAt(refused, "bcc"),
      hint: "Addresses that the other recipients do not see",
    }),
    html`</details>`,
    html`<p class="buttons">${button("Send", { kind: "approve", name: "how", value: "send" })}${button("Save as a draft", { name: "how", value: "draft" })}</p>`,
  );
