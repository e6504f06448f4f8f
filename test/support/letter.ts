import type { Letter } from "#src/mail/mailProvider.ts";

/** For a hand-over that only the MIME matters to. */
export const emptyLetter: Letter = {
  from: { name: "", address: "agent@ours.example" },
  ...{ to: [], cc: [], bcc: [], replyTo: null },
  ...{ subject: "", text: "", html: null, headers: {}, attachments: [] },
};
