import { visibleLine } from "#src/html/visible.ts";
import type { AttachmentFact } from "../approvalView.ts";

/** An attachment, prepared for display. */
export type Attachment = AttachmentFact & {
  /** Type and size of the file, in words. */
  description: string;
};

export const attachmentsShown = (facts: readonly AttachmentFact[]): Attachment[] =>
  facts.map((fact) => {
    const declaredType = visibleLine(fact.declaredType);
    const kind = fact.kind === null ? null : visibleLine(fact.kind);
    const type = kind === null || kind === declaredType ? declaredType : `${declaredType} (content: ${kind})`;
    const description = fact.size === null ? type : `${type}, ${readableSize(fact.size)}`;
    const warning = fact.warning === null ? null : visibleLine(fact.warning);
    return { ...fact, name: visibleLine(fact.name), declaredType, kind, warning, description };
  });

/** Formats a size: "640 bytes", "18 KB", "2.4 MB". */
export function readableSize(bytes: number): string {
  if (bytes < 1024) return `${bytes} ${bytes === 1 ? "byte" : "bytes"}`;
  if (bytes < 1024 * 1024) return `${Math.round(bytes / 1024)} KB`;
  return `${(bytes / (1024 * 1024)).toFixed(1)} MB`;
}
