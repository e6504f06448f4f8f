import { picturesNamed } from "#src/html/reduce/reduceHtml.ts";
import { bytesOfDataUrl, picturesIn, pictureTypeOf } from "#src/mail/out/pictures.ts";
import { invalid, Rejected } from "#streams/decider.ts";
import type { Identity } from "#streams/identity/decider.ts";
import type { IdentitySettings } from "#streams/identity/events.ts";
import type { Dependencies } from "../dependencies.ts";
import { contentIdsOf } from "../drafts/letters.ts";
import { reducedHtml, refusedHtml } from "../drafts/reducedHtml.ts";
import type { Cause } from "../handle.ts";

type Signature = Pick<IdentitySettings, "signatureHtml" | "htmlRemoved">;
type Sources = Pick<Dependencies, "blobs" | "pictures">;

/** A signature's pictures on the web: fetched once, when the identity is saved, and sent inside every mail from then on. */
const maxFetched = 5;
const maxPictureBytes = 200 * 1024;
/** Each becomes a part of every mail. */
const maxInside = 20;

/** Body and signature together have room on one page. */
const maxReducedBytes = 128 * 1024;

/**
 * A signature's HTML reduced to what can be shown, its pictures kept as blobs. `before`: the stored one, whose pictures may stay. A picture
 * that is not to be had is removed and named. Throws Rejected invalid_request naming the field.
 */
export async function reducedSignature(deps: Sources, html: string | null, before: string | null): Promise<Signature> {
  if (!html) return { signatureHtml: html, htmlRemoved: [] };
  const reduced = reducedHtml(html, await keepPictures(deps, picturesNamed(html), new Set(picturesIn(before))));
  if ("refused" in reduced) throw refusedHtml("signature_html", reduced.refused);
  if (Buffer.byteLength(reduced.html) > maxReducedBytes) {
    throw invalid(
      "signature_html",
      "this HTML exceeds 128 KB once its presentational attributes are converted to styles: shorten it",
    );
  }
  return { signatureHtml: reduced.html, htmlRemoved: reduced.removed };
}

/** Reduces a signature from before that was done at saving; false if there is none. What cannot be shown at all is taken away and named. */
export async function reduceStoredSignature(deps: Dependencies, identityId: string, cause: Cause): Promise<boolean> {
  const { state: before } = await deps.identities.load(identityId);
  if (!before.signatureHtml || before.htmlRemoved !== null || before.deleted) return false;
  const reduced = await reducedSignature(deps, before.signatureHtml, null).catch((error) => {
    if (error instanceof Rejected) return { signatureHtml: null, htmlRemoved: [{ what: "element:html", count: 1 }] };
    throw error;
  });
  // Somebody may have set another one meanwhile, which is reduced.
  const changesOf = (now: Identity) => (now.signatureHtml === before.signatureHtml ? reduced : {});
  const command = (now: Identity) =>
    ({ type: "UpdateIdentity", changes: now.htmlRemoved === null ? changesOf(now) : {}, mayLoosen: true }) as const;
  return (await deps.identities.handle(identityId, command, cause)).changed;
}

async function keepPictures(
  deps: Sources,
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
