import { visibleLine } from "#src/html/visible.ts";
import type { DraftContent } from "#streams/draft/content.ts";
import type { ApprovalView } from "../approvalView.ts";

/** `mark`: what is to be noticed about this one, in a few words. */
export type Value = { text: string; mark: string | null };

/** A line of the letter's head: "To", and the values in it. */
export type Field = { label: string; values: Value[] };

/** Beside an address that neither wrote nor was written to in this conversation. */
export const newcomerMark = "new in this conversation";

/** Who would send it, who would get it, and what it would be called. Fields without a value are left out. */
export function fieldsOf({ content, participants }: Pick<ApprovalView, "content" | "participants">): Field[] {
  const known = new Set(participants.map((address) => address.toLowerCase()));
  const recipient = (address: string): Value => ({
    text: visibleLine(address),
    mark: known.has(address.toLowerCase()) ? null : newcomerMark,
  });
  return letterHead(content)
    .map(({ label, values, areRecipients }) => ({ label, values: values.map(areRecipients ? recipient : plain) }))
    .filter(({ values }) => values.length > 0);
}

const plain = (value: string): Value => ({ text: visibleLine(value), mark: null });

/** The head's lines as they are written, those without a value too. */
export function letterHead(content: DraftContent): { label: string; values: string[]; areRecipients?: true }[] {
  const name = visibleLine(content.from.name);
  return [
    { label: "From", values: [name ? `${name} <${content.from.address}>` : content.from.address] },
    { label: "To", values: content.to, areRecipients: true },
    { label: "Cc", values: content.cc, areRecipients: true },
    { label: "Bcc (hidden)", values: content.bcc, areRecipients: true },
    { label: "Replies go to", values: content.reply_to ? [content.reply_to] : [] },
    { label: "Subject", values: [visibleLine(content.subject) || "(no subject)"] },
  ];
}
