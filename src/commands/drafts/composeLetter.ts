import { createHash } from "node:crypto";
import { bytesOfDataUrl, endingOf, pictureTypeOf } from "#src/mail/out/pictures.ts";
import { invalidRequest } from "#streams/decider.ts";
import type { ContentOrigin, DraftContent, Picture } from "#streams/draft/content.ts";
import type { Dependencies } from "../dependencies.ts";
import { refusedHtml } from "./refusedHtml.ts";
import { maxPictureBytes, maxPicturesBytes } from "./shownPictures.ts";

export type SubmittedAttachment = {
  filename: string;
  contentType: string;
  contentId: string | null;
  bytes: Buffer;
  sha256: string;
};

/** A letter as its author submitted it. A body that the author did not give is null or "". */
export type SubmittedLetter = {
  workspaceId: string;
  bodyText: string | null;
  bodyHtml: string | null;
  attachments: readonly SubmittedAttachment[];
};

type Attachment = DraftContent["attachments"][number];
type Blobs = Pick<Dependencies, "blobs">;
/** Services needed to compose a letter, and the letter's workspace. */
type Makers = Blobs & Pick<Dependencies, "costlyWork"> & { workspaceId: string };

/** The part of a draft's content that its author wrote, in the form in which it is stored, shown and sent. */
export type WrittenLetter = Pick<DraftContent, "body_text" | "body_html" | "attachments"> & { making: ContentOrigin };

/**
 * Converts a submitted letter to its stored form: the HTML is reduced to what can be shown, pictures are referenced by hash, and a text
 * body is derived from the HTML if none was given. Throws Rejected invalid_request, naming the field.
 */
export async function composeLetter(
  deps: Pick<Dependencies, "blobs" | "costlyWork">,
  { workspaceId, bodyText, bodyHtml, attachments }: SubmittedLetter,
): Promise<WrittenLetter> {
  const described = attachments.map(describeAttachment);
  const files = {
    attachments: described.map(({ stored }) => stored),
    named: described.flatMap(({ picture }) => picture ?? []),
  };
  const bodies = { text: bodyText || null, html: bodyHtml || null };
  return storeFilesLast(deps, attachments, (inHand) =>
    composeParts({ ...deps, ...inHand, workspaceId }, bodies, files),
  );
}

/** Composes a letter with its files in memory, and stores the files only if that succeeds, so that a refused letter stores nothing. */
async function storeFilesLast(
  { blobs }: Blobs,
  files: readonly Pick<SubmittedAttachment, "bytes" | "sha256">[],
  make: (inHand: Blobs) => Promise<WrittenLetter>,
): Promise<WrittenLetter> {
  const inHand = new Map(files.map(({ sha256, bytes }) => [sha256, bytes]));
  const letter = await make({
    blobs: {
      async put(bytes) {
        const sha256 = createHash("sha256").update(bytes).digest("hex");
        inHand.set(sha256, bytes);
        return sha256;
      },
      get: async (sha256) => inHand.get(sha256) ?? blobs.get(sha256),
      size: async (sha256) => inHand.get(sha256)?.length ?? blobs.size(sha256),
      part: async (sha256, range) =>
        inHand.get(sha256)?.subarray(range.from, range.from + range.count) ?? blobs.part(sha256, range),
    },
  });
  // Store one file at a time, because files are large.
  for (const sha256 of new Set(letter.attachments.map((file) => file.sha256))) {
    const bytes = inHand.get(sha256);
    if (bytes) await blobs.put(bytes, sha256);
  }
  return letter;
}

/**
 * Composes a letter again for an edit. A body that is `undefined` stays as it is. Attachments stay; pictures inside a replaced body are
 * removed together with that body.
 */
export async function editLetter(
  deps: Pick<Dependencies, "blobs" | "costlyWork">,
  before: WrittenLetter & { workspaceId: string },
  changes: { bodyText?: string | null; bodyHtml?: string | null },
): Promise<WrittenLetter> {
  const { workspaceId, making, body_text, body_html, attachments } = before;
  const text = changes.bodyText === undefined ? (making.textDerived ? null : body_text) : changes.bodyText || null;
  if (changes.bodyHtml === undefined) {
    const { textDerived: _, ...rest } = making;
    return withText({ ...deps, workspaceId }, { body_text: text, body_html, attachments, making: rest });
  }
  const pictures = making.pictures ?? [];
  const inside = new Set(pictures.filter(({ contentId }) => contentId === null).map(({ sha256 }) => sha256));
  const given = attachments.filter(({ sha256 }) => !inside.has(sha256));
  const named = pictures.filter(({ contentId }) => contentId !== null);
  const files = { attachments: given, named, known: attachments };
  const bodies = { text, html: changes.bodyHtml || null };
  return storeFilesLast(deps, [], (inHand) => composeParts({ ...deps, ...inHand, workspaceId }, bodies, files));
}

/** Files of a letter. `known`: attachments that the HTML may reference; default: `attachments`. */
type LetterFiles = { attachments: readonly Attachment[]; named: readonly Picture[]; known?: readonly Attachment[] };

async function composeParts(
  deps: Makers,
  { text, html }: { text: string | null; html: string | null },
  { attachments, named, known = attachments }: LetterFiles,
): Promise<WrittenLetter> {
  if (html === null) {
    const making = { htmlRemoved: [], ...(named.length > 0 && { pictures: [...named] }) };
    return withText(deps, { body_text: text, body_html: null, attachments: [...attachments], making });
  }
  const sources = await deps.costlyWork("picturesNamed", html, deps.workspaceId);
  const pictures = await resolvePictures(deps, sources, { named, known });
  const reduced = await deps.costlyWork("reduceBody", { html, pictures: pictures.bySrc }, deps.workspaceId);
  if ("refused" in reduced) throw refusedHtml("body_html", reduced.refused);
  await requireShowable(deps, reduced.pictures);
  const inside = pictures.inside.filter(
    ({ sha256 }) => reduced.pictures.includes(sha256) && !attachments.some((given) => given.sha256 === sha256),
  );
  const making: ContentOrigin = { htmlRemoved: reduced.removed };
  const all = [...named, ...inside.map(({ sha256 }) => ({ contentId: null, sha256 }))];
  if (all.length > 0) making.pictures = all;
  // For a picture shown in the letter, the content type found in its bytes replaces the declared one.
  const asShown = attachments.map((file) => ({
    ...file,
    content_type: pictures.types.get(file.sha256) ?? file.content_type,
  }));
  return withText(deps, { body_text: text, body_html: reduced.html, attachments: [...asShown, ...inside], making });
}

/**
 * Maximum size in bytes of a text body derived from HTML. It can be much larger than the HTML, because each line in nested quotes and lists
 * is indented.
 */
const maxTextBytes = 512 * 1024;

/** Adds a text body to a letter without one, for mail programs that do not show HTML. `body_text`: null if the author gave none. */
async function withText(
  { costlyWork, workspaceId }: Makers,
  { body_text, ...letter }: Omit<WrittenLetter, "body_text"> & { body_text: string | null },
): Promise<WrittenLetter> {
  if (body_text !== null) return { body_text, ...letter };
  const { body_html, making } = letter;
  if (body_html === null) throw invalidRequest("body_text", "a draft needs body_text or body_html");
  const text = await costlyWork("textOfBody", body_html, workspaceId);
  if (Buffer.byteLength(text) > maxTextBytes) {
    throw invalidRequest(
      "body_html",
      "the plain text derived from this HTML would exceed 512 KB: flatten its quotes and lists, or send body_text as well",
    );
  }
  return { ...letter, body_text: text, making: { ...making, textDerived: true } };
}

function describeAttachment({ filename, contentType, contentId, bytes, sha256 }: SubmittedAttachment): {
  stored: Attachment;
  picture: Picture | null;
} {
  const type = contentId === null ? null : pictureTypeOf(bytes);
  // For a picture shown in the letter, the content type found in its bytes replaces the declared one.
  const stored = { filename, content_type: type ?? contentType, sha256 };
  return { stored, picture: type === null ? null : { contentId, sha256 } };
}

/** Rejects pictures that are too large for the approval page, because a picture that an approver cannot see must not be sent. */
async function requireShowable(deps: Blobs, pictures: readonly string[]): Promise<void> {
  const sizes = await Promise.all(pictures.map(async (sha256) => (await deps.blobs.size(sha256)) ?? 0));
  const total = sizes.reduce((sum, size) => sum + size, 0);
  if (sizes.every((size) => size <= maxPictureBytes) && total <= maxPicturesBytes) return;
  throw invalidRequest(
    "body_html",
    "expected inline pictures of at most 1 MB each and 4 MB together: send larger ones as attachments that the HTML does not show",
  );
}

/** Maximum number of pictures inside one body. Each becomes a part of the mail; a usual letter has far fewer. */
const maxInside = 20;

/**
 * Resolves the addresses of a body's pictures: a content id names an attachment, a hash names a stored picture, and the bytes of a data URL
 * become an attachment. No address can name a file of another draft.
 */
async function resolvePictures(
  deps: Blobs,
  srcs: readonly string[],
  { named, known }: { named: readonly Picture[]; known: readonly Attachment[] },
): Promise<{ bySrc: Map<string, string>; inside: Attachment[]; types: Map<string, string> }> {
  const bySrc = new Map<string, string>();
  const types = new Map<string, string>();
  const inside = new Map<string, Attachment>();
  for (const src of srcs) {
    const ids = contentIdsOf(src);
    const bytes = ids.length === 0 ? bytesOfDataUrl(src) : null;
    if (ids.length > 0) {
      const picture = named.find(({ contentId }) => contentId !== null && ids.includes(contentId));
      const attachment = known.find(({ sha256 }) => ids.includes(sha256));
      const type = picture || !attachment ? null : await typeOfPicture(deps, attachment.sha256);
      if (picture) bySrc.set(src, picture.sha256);
      else if (attachment && type !== null) {
        bySrc.set(src, attachment.sha256);
        types.set(attachment.sha256, type);
        // The picture was inside the body before this edit, so it stays.
        inside.set(attachment.sha256, attachment);
      }
    } else if (bytes !== null && inside.size < maxInside) {
      const type = pictureTypeOf(bytes);
      if (type === null) continue;
      const sha256 = await deps.blobs.put(bytes);
      bySrc.set(src, sha256);
      const filename = `picture-${inside.size + 1}.${endingOf(type)}`;
      if (!inside.has(sha256)) inside.set(sha256, { filename, content_type: type, sha256 });
    }
  }
  return { bySrc, inside: [...inside.values()], types };
}

async function typeOfPicture(deps: Blobs, sha256: string): Promise<string | null> {
  const bytes = await deps.blobs.get(sha256);
  return bytes === undefined ? null : pictureTypeOf(bytes);
}

/**
 * Returns the content ids that a `cid:` address may name: the raw text, and the text with percent escapes decoded. Returns [] for any other
 * address.
 */
export function contentIdsOf(src: string): string[] {
  const id = /^cid:(.+)$/is.exec(src.trim())?.[1];
  if (id === undefined) return [];
  try {
    return [...new Set([id, decodeURIComponent(id)])];
  } catch {
    return [id];
  }
}
