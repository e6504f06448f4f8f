import type { MailParts } from "#src/mail/mailProvider.ts";

/** An empty letter, for a hand-over that uses only the MIME. */
export const emptyLetter: MailParts = {
  from: { name: "", address: "agent@ours.example" },
  ...{ to: [], cc: [], bcc: [], replyTo: null },
  ...{ subject: "", text: "", html: null, headers: {}, attachments: [] },
};
