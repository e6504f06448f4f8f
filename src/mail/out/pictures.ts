/** Pictures that a mail shows inside its HTML: `<img src="cid:<sha256 of its bytes>">`, so that body and hash bind picture and place. */

/** Picture types that mail programs show, recognised by their first bytes; declared types are ignored. */
const signatures: readonly (readonly [type: string, starts: (bytes: Buffer) => boolean])[] = [
  ["image/png", (bytes) => bytes.subarray(0, 8).toString("latin1") === "\x89PNG\r\n\x1a\n"],
  ["image/jpeg", (bytes) => bytes.subarray(0, 3).toString("hex") === "ffd8ff"],
  ["image/gif", (bytes) => /^GIF8[79]a$/.test(bytes.subarray(0, 6).toString("latin1"))],
  ["image/webp", (bytes) => bytes.toString("latin1", 0, 4) + bytes.toString("latin1", 8, 12) === "RIFFWEBP"],
];

/**
 * Returns the media type of a picture; null for other bytes, and for an animated PNG: programs that do not animate it show a different
 * picture.
 */
export const pictureTypeOf = (bytes: Buffer): string | null =>
  isMovingPng(bytes) ? null : (signatures.find(([, starts]) => starts(bytes))?.[0] ?? null);

/** True for an animated PNG: its control chunk comes before the data of the still picture. */
const isMovingPng = (bytes: Buffer): boolean =>
  bytes.subarray(0, Math.max(0, bytes.indexOf("IDAT", 0, "latin1"))).includes("acTL", 0, "latin1");

/** Returns the file extension for a picture's media type. */
export const endingOf = (type: string): string => (type === "image/jpeg" ? "jpg" : type.slice("image/".length));

/** Returns the bytes inside a `data:` URL; null if it holds no base64. */
export function bytesOfDataUrl(src: string): Buffer | null {
  const comma = src.indexOf(",");
  if (!/^data:[^,]*;base64$/i.test(src.slice(0, Math.max(0, comma)))) return null;
  // Blanks are removed first: a pattern that allows them anywhere takes long if one character is wrong.
  const base64 = src.slice(comma + 1).replace(/\s+/g, "");
  return /^[A-Za-z0-9+/]+=*$/.test(base64) ? Buffer.from(base64, "base64") : null;
}

/** Matches attribute by attribute: an alternative text may contain `>`. */
const shown = /<img(?:\s+[a-z]+="[^"]*")*?\s+src="cid:([0-9a-f]{64})"/g;

/** Returns the distinct hashes of the pictures that reduced HTML shows. */
export const picturesIn = (html: string | null): string[] => [
  ...new Set([...(html ?? "").matchAll(shown)].map(([, sha256]) => sha256 as string)),
];
