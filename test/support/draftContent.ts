import type { DraftContent } from "#streams/draft/content.ts";

/** Makes a plain text answer, with the given fields replaced. */
export const draftContent = (different: Partial<DraftContent> = {}): DraftContent => ({
  from: { name: "Support", address: "support@agents.localhost" },
  reply_to: null,
  to: ["ann@customer.example"],
  cc: [],
  bcc: [],
  subject: "Re: My order",
  body_text: "Hello Ann,\n\nit is on its way.",
  body_html: null,
  signature_text: null,
  signature_html: null,
  in_reply_to: "<question@customer.example>",
  references: ["<question@customer.example>"],
  attachments: [],
  ...different,
});
