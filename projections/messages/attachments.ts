import type { DraftContent } from "#streams/draft/content.ts";
import type { MessageAttachment } from "#streams/thread/events.ts";

/** An attachment of a stored message. The size of one that we sent is known only to the blob store. */
export type StoredAttachment = Omit<MessageAttachment, "sizeBytes"> & { sizeBytes: number | null };

/** Returns the attachments of a mail of ours, numbered from 1. Its HTML references a picture by the hash of its bytes. */
export const attachmentsOf = ({
  attachments,
  body_html,
}: Pick<DraftContent, "attachments" | "body_html">): StoredAttachment[] =>
  attachments.map(({ filename, content_type: contentType, sha256 }, index) => ({
    id: String(index + 1),
    filename,
    contentType,
    sizeBytes: null,
    ...(body_html?.includes(`"cid:${sha256}"`)
      ? { contentId: sha256, inline: true }
      : { contentId: null, inline: false }),
    sha256,
  }));
