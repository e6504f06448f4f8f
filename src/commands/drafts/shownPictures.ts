import { picturesIn, pictureTypeOf } from "#src/mail/out/pictures.ts";
import type { DraftContent } from "#streams/draft/content.ts";
import type { Dependencies } from "../dependencies.ts";

/** Limits in bytes of the pictures on an approval page. A body whose pictures exceed them is refused when it is submitted. */
export const maxPictureBytes = 1024 * 1024;
export const maxPicturesBytes = 4 * 1024 * 1024;

/** Returns the pictures that a content's HTML shows, as `data:` URLs by hash. */
export async function shownPictures(
  { blobs }: Pick<Dependencies, "blobs">,
  content: Pick<DraftContent, "attachments" | "body_html" | "signature_html">,
): Promise<Map<string, string>> {
  const own = new Set(content.attachments.map(({ sha256 }) => sha256));
  const ofBody = picturesIn(content.body_html).filter((sha256) => own.has(sha256));
  const shown = new Map<string, string>();
  // The few small pictures of a signature are allowed in addition to those of the body.
  let left = maxPicturesBytes + maxPictureBytes;
  for (const sha256 of new Set([...ofBody, ...picturesIn(content.signature_html)])) {
    const size = (await blobs.size(sha256)) ?? Number.POSITIVE_INFINITY;
    if (size > Math.min(maxPictureBytes, left)) continue;
    const bytes = await blobs.get(sha256);
    const type = bytes && pictureTypeOf(bytes);
    if (!type) continue;
    left -= size;
    shown.set(sha256, `data:${type};base64,${bytes.toString("base64")}`);
  }
  return shown;
}
