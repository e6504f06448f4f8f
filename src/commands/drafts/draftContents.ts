import { htmlOfText } from "#src/html/htmlOfText.ts";
import { contentSha256 } from "#src/mail/out/content.ts";
import type { Blobs } from "#src/platform/blobs/blobs.ts";
import type { DraftContent } from "#streams/draft/content.ts";
import type { StoredContent } from "#streams/draft/events.ts";
import type { Identity } from "#streams/identity/decider.ts";
import type { Dependencies } from "../dependencies.ts";

export { contentSha256 };

/** Maximum size in bytes, as JSON, of a content that is stored in the event itself. */
const inlineBytes = 16 * 1024;

/** Returns a content as stored: inside the event, or in the blob store if it is large. */
export async function storeContent(blobs: Blobs, content: DraftContent): Promise<StoredContent> {
  const bytes = Buffer.from(JSON.stringify(content));
  if (bytes.length <= inlineBytes) return { content, contentBlob: null };
  return { content: null, contentBlob: await blobs.put(bytes) };
}

export async function loadContent(blobs: Blobs, stored: StoredContent): Promise<DraftContent> {
  if (stored.content !== null) return stored.content;
  const bytes = stored.contentBlob === null ? undefined : await blobs.get(stored.contentBlob);
  if (!bytes) throw new Error(`the blob ${stored.contentBlob} of a draft's content is missing`);
  return JSON.parse(bytes.toString("utf8"));
}

export type IdentityParts = Pick<DraftContent, "from" | "reply_to" | "signature_text" | "signature_html">;

/**
 * Returns the parts of a content that come from the identity. If they change, the content of each open draft changes too. If the signature
 * was given only as text or only as HTML, the mail converts it where it needs the other form.
 */
export async function identityParts(
  { costlyWork }: Pick<Dependencies, "costlyWork">,
  { identity, letter }: { identity: Identity; letter: Pick<DraftContent, "body_html"> },
): Promise<IdentityParts> {
  const { workspaceId, signatureText, signatureHtml } = identity;
  const needed = letter.body_html !== null && signatureText ? htmlOfText(signatureText) : null;
  return {
    from: { name: identity.displayName, address: identity.emailAddress },
    reply_to: identity.replyToEmail,
    signature_text:
      signatureText ?? (signatureHtml ? await costlyWork("textOfBody", signatureHtml, workspaceId) : null),
    signature_html: signatureHtml ?? needed,
  };
}
