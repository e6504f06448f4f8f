import type { DraftContent } from "./content.ts";

/** A draft's content and its author's rationale, which is not sent. */
export type WrittenContent = { content: DraftContent; rationale: string | null };

/** Fields of the content that an author can change. */
const editable = ["body_text", "body_html", "subject", "cc", "bcc", "attachments"] as const;

/** Returns the fields that an edit changed, in the contract's names; empty if the draft did not change. */
export function changedFields(before: WrittenContent, after: WrittenContent): string[] {
  const fields: string[] = editable.filter(
    (field) => JSON.stringify(after.content[field]) !== JSON.stringify(before.content[field]),
  );
  return after.rationale === before.rationale ? fields : [...fields, "rationale"];
}
