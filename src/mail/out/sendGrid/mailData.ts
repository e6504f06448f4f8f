import type sendGrid from "@sendgrid/mail";
import type { OutgoingMail } from "#src/mail/mailProvider.ts";

/** A mail in the form of SendGrid's library. */
export type MailData = Exclude<Parameters<typeof sendGrid.send>[0], unknown[]>;

/** Marks that a mail carries through SendGrid, and that every event about it returns. A permanent format: they are in its logs. */
export const marks = { attempt: "attempt_id", messageId: "rfc_message_id" } as const;

/**
 * Converts a mail to SendGrid's form: one personalization, both bodies, every file, and nothing that SendGrid would add or rewrite. Each
 * address occurs once: SendGrid refuses duplicates. Values that its JSON cannot express are approximated: a blank for an empty subject,
 * and a file's type without parameters, which it takes for an attack.
 */
export function mailData({
  attemptId,
  messageId,
  letter,
}: Pick<OutgoingMail, "attemptId" | "messageId" | "letter">): MailData {
  const named = new Set<string>();
  const each = (addresses: readonly string[]) =>
    addresses
      .filter((address) => !named.has(address.toLowerCase()) && named.add(address.toLowerCase()))
      .map((email) => ({ email }));
  const { from, replyTo, subject, text, html } = letter;
  return {
    from: { email: from.address, name: from.name },
    ...(replyTo !== null && { replyTo: { email: replyTo } }),
    subject: subject || " ",
    personalizations: [
      {
        to: each(letter.to),
        cc: each(letter.cc),
        bcc: each(letter.bcc),
        customArgs: { [marks.attempt]: attemptId, [marks.messageId]: messageId },
      },
    ],
    headers: { ...letter.headers },
    ...((text !== "" || html === null) && { text: text || " " }),
    ...(html !== null && { html }),
    attachments: letter.attachments.map(({ filename, contentType, content, contentId }) => ({
      content: content.toString("base64"),
      filename,
      type: bareType(contentType),
      disposition: contentId === null ? "attachment" : "inline",
      ...(contentId !== null && { content_id: contentId }),
    })),
    trackingSettings: {
      clickTracking: { enable: false, enableText: false },
      openTracking: { enable: false },
      subscriptionTracking: { enable: false },
      ganalytics: { enable: false },
    },
  } as MailData;
}

function bareType(contentType: string): string {
  const [type = ""] = contentType.split(";");
  return /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+$/.test(type.trim()) ? type.trim() : "application/octet-stream";
}
