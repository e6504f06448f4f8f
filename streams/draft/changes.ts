import type { DraftContent } from "./content.ts";

/** A draft's content with what its author says about it, which is not sent. */
export type Written = { content: DraftContent; rationale: string | null };

/** What an author can change, beside the rationale. */
const editable = ["body_text", "body_html", "subject", "cc", "bcc", "attachments"] as const;

/** What an edit changed in a draft, by the names of the contract; empty if the draft stays as it was. */
export function changedFields(before: Written, after: Written): string[] {
  const fields: string[] = editable.filter(
    (field) => JSON.stringify(after.content[field]) !== JSON.stringify(before.content[field]),
  );
  return after.rationale === before.rationale ? fields : [...fields, "rationale"];
}
