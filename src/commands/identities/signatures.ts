import { bytesOfDataUrl, picturesIn, pictureTypeOf } from "#src/mail/out/pictures.ts";
import { invalidRequest } from "#streams/decider.ts";
import type { IdentitySettings } from "#streams/identity/events.ts";
import type { Dependencies } from "../dependencies.ts";
import { contentIdsOf } from "../drafts/composeLetter.ts";
import { refusedHtml } from "../drafts/refusedHtml.ts";

type Signature = Pick<IdentitySettings, "signatureHtml" | "htmlRemoved">;
type SignatureSources = Pick<Dependencies, "blobs" | "pictures" | "costlyWork">;

/**
 * Maximum number of a signature's pictures that are fetched from the web. They are fetched once, when the identity is saved, and sent
 * inside every mail.
 */
const maxFetched = 5;
const maxPictureBytes = 200 * 1024;
/** Maximum number of pictures inside a signature. Each becomes a part of every mail. */
const maxInside = 20;

/** Maximum size in bytes of a signature's reduced HTML, so that body and signature fit on one approval page. */
const maxReducedBytes = 128 * 1024;

/**
 * Reduces a signature's HTML (`given`) to what can be shown, and stores its pictures as blobs. `before`: the HTML stored so far, whose
 * pictures may be used again. A picture that cannot be fetched is removed and reported. Throws Rejected invalid_request, naming the field.
 */
export async function reduceSignature(
  deps: SignatureSources,
  workspaceId: string,
  { given: html, before }: { given: string | null; before: string | null },
): Promise<Signature> {
  if (!html) return { signatureHtml: html, htmlRemoved: [] };
  const sources = await deps.costlyWork("picturesNamed", html, workspaceId);
  const pictures = await keepPictures(deps, sources, new Set(picturesIn(before)));
  const reduced = await deps.costlyWork("reduceBody", { html, pictures }, workspaceId);
  if ("refused" in reduced) throw refusedHtml("signature_html", reduced.refused);
  if (Buffer.byteLength(reduced.html) > maxReducedBytes) {
    throw invalidRequest(
      "signature_html",
      "this HTML exceeds 128 KB once its presentational attributes are converted to styles: shorten it",
    );
  }
  return { signatureHtml: reduced.html, htmlRemoved: reduced.removed };
}

async function keepPictures(
  deps: SignatureSources,
  srcs: readonly string[],
  stored: ReadonlySet<string>,
): Promise<Map<string, string>> {
  const kept = new Map<string, string>();
  const fetched = srcs.filter((src) => /^https:/i.test(src)).slice(0, maxFetched);
  const inside = srcs.filter((src) => /^data:/i.test(src)).slice(0, maxInside);
  const wanted = new Set([...fetched, ...inside]);
  await Promise.all(
    srcs.map(async (src) => {
      const ids = contentIdsOf(src);
      const known = ids.find((id) => stored.has(id));
      if (ids.length > 0) return known !== undefined && kept.set(src, known);
      if (!wanted.has(src)) return;
      const bytes = fetched.includes(src) ? await deps.pictures.fetch(src, maxPictureBytes) : bytesOfDataUrl(src);
      if (bytes && bytes.length <= maxPictureBytes && pictureTypeOf(bytes) !== null) {
        kept.set(src, await deps.blobs.put(bytes));
      }
    }),
  );
  return kept;
}
