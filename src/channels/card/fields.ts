import { visibleLine } from "#src/html/visible.ts";
import type { DraftContent } from "#streams/draft/content.ts";
import type { ApprovalView } from "../approvalView.ts";

/**
 * `name`: display name, kept apart from the address, so that a right-to-left name does not reorder the address. `mark`: a notable fact
 * about this value, in a few words.
 */
export type FieldValue = { name: string | null; text: string; mark: string | null };

/** A header line of the letter: "To", and the values in it. */
export type CardField = { label: string; values: FieldValue[] };

/** Shown next to an address that neither sent nor received a message of this conversation. */
export const newcomerMark = "new in this conversation";

/** Returns the sender, recipients and subject of the draft. Fields without a value are left out. */
export function fieldsOf({ content, participants }: Pick<ApprovalView, "content" | "participants">): CardField[] {
  const known = new Set(participants.map((address) => address.toLowerCase()));
  const recipient = (address: string): FieldValue => ({
    name: null,
    text: visibleLine(address),
    mark: known.has(address.toLowerCase()) ? null : newcomerMark,
  });
  const from = (): FieldValue => ({ ...plain(content.from.address), name: visibleLine(content.from.name) || null });
  const valuesOf: Record<string, (value: string) => FieldValue> = {
    From: from,
    To: recipient,
    Cc: recipient,
    [hidden]: recipient,
  };
  return letterHead(content)
    .map(({ label, values }) => ({ label, values: values.map(valuesOf[label] ?? plain) }))
    .filter(({ values }) => values.length > 0);
}

const hidden = "Bcc (hidden)";

const plain = (value: string): FieldValue => ({ name: null, text: visibleLine(value), mark: null });

/** Returns the header lines as they would be written, including those without a value. */
export function letterHead(content: DraftContent): { label: string; values: string[] }[] {
  const name = visibleLine(content.from.name);
  return [
    { label: "From", values: [name ? `${name} <${content.from.address}>` : content.from.address] },
    { label: "To", values: content.to },
    { label: "Cc", values: content.cc },
    { label: hidden, values: content.bcc },
    { label: "Replies go to", values: content.reply_to ? [content.reply_to] : [] },
    { label: "Subject", values: [visibleLine(content.subject) || "(no subject)"] },
  ];
}
