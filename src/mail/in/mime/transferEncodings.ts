/** The bytes of a part, without transfer encoding. */
export type DecodedContent = {
  bytes: Buffer;
  /** Sentence about the repair that was made; null if there was none. */
  repaired: string | null;
};

/** Decodes the content of a part. `encoding`: its declared Content-Transfer-Encoding; an unknown one changes nothing. */
export function contentOf(body: Buffer, { encoding, isText }: { encoding: string; isText: boolean }): DecodedContent {
  const name = /[\w-]+/.exec(encoding.toLowerCase().replace(/\([^()]*\)/g, ""))?.[0];
  if (name === "quoted-printable") return { bytes: decodeQuotedPrintable(body), repaired: null };
  if (name !== "base64") return { bytes: body, repaired: null };
  return isText ? base64Text(body) : { bytes: decodeBase64(body), repaired: null };
}

const isCleanBase64 = (text: string): boolean => /^[A-Za-z0-9+/\s]*=?\s*=?\s*$/.test(text);

/** Decodes base64, skipping bytes outside its alphabet. Some programs pad every line, or every chunk they encode. */
export function decodeBase64(body: Buffer): Buffer {
  const text = body.toString("latin1");
  if (isCleanBase64(text)) return Buffer.from(text, "base64");
  return Buffer.concat(text.split(/=[=\s]*/).map((part) => Buffer.from(part.replace(/[^A-Za-z0-9+/]/g, ""), "base64")));
}

/** Decodes base64 text. A gateway may have appended plain text, usually a list's footer. */
function base64Text(body: Buffer): DecodedContent {
  const text = body.toString("latin1");
  const left = text.replace(/[\s=]/g, "").length % 4;
  if (isCleanBase64(text) && (left === 0 || text.includes("="))) return { bytes: decodeBase64(body), repaired: null };
  const footerAt = startOfFooter(text);
  const bytes = decodeBase64(body.subarray(0, footerAt));
  if (footerAt === body.length) {
    return { bytes, repaired: left === 1 ? "A text is incomplete: its base64 breaks off." : null };
  }
  const gap = bytes.at(-1) === 0x0a ? "" : "\n";
  return {
    bytes: Buffer.concat([bytes, Buffer.from(gap), body.subarray(footerAt)]),
    repaired: "A text in base64 is followed by plain text, which is shown below it.",
  };
}

const encodedLine = /^\s*[A-Za-z0-9+/]+(={0,2})\s*$/;

/**
 * Returns the start of the first line that is not base64, if most of the rest is not either: a single such line is noise and is skipped.
 * A padded line is the end; later lines, and lines shorter than earlier ones, are base64 only if they decode to text.
 */
function startOfFooter(text: string): number {
  let [at, start, width, isEnded, encoded, others] = [0, text.length, 0, false, 0, 0];
  for (const line of text.split(/(?<=\n)/)) {
    const [isEncoded, padding = ""] = encodedLine.exec(line) ?? [];
    const { length } = line.trim();
    const isFirst = isEncoded !== undefined && !isEnded && length >= width;
    const isUnit = isFirst || (isEncoded !== undefined && isEncodedText(line, text));
    if (length > 0 && start < text.length) isUnit ? encoded++ : others++;
    else if (length > 0 && !isUnit) [start, others] = [at, 1];
    if (isUnit) [width, isEnded] = [Math.max(width, length), isEnded || padding !== ""];
    at += line.length;
  }
  return encoded < others ? start : text.length;
}

/**
 * True for a line whose bytes are text, in UTF-8 if those of the first line are; a character may begin in the previous line, or be cut
 * off.
 */
function isEncodedText(line: string, text: string): boolean {
  const isUnicode = (encoded: string): boolean =>
    !Buffer.from(encoded, "base64")
      .toString()
      .replace(/^\ufffd{1,3}|\ufffd$/g, "")
      .includes("\ufffd");
  return (
    !Buffer.from(line, "base64").some(isControl) && (isUnicode(line) || !isUnicode(text.slice(0, text.indexOf("\n"))))
  );
}

const isControl = (byte: number): boolean => byte < 0x20 && ![0x09, 0x0a, 0x0d, 0x1b].includes(byte);

/** Decodes quoted-printable, of encoded words too. Invalid escapes stay unchanged. */
export function decodeQuotedPrintable(body: Buffer): Buffer {
  const bytes = Buffer.allocUnsafe(body.length);
  let length = 0;
  for (let at = 0; at < body.length; at++) {
    const byte = body[at]!;
    if (byte !== 0x3d) {
      bytes[length++] = byte;
      continue;
    }
    const lineEnd = endOfBlankRest(body, at + 1);
    const value = lineEnd === undefined ? hexAt(body, at + 1) : undefined;
    if (lineEnd !== undefined) at = lineEnd;
    else if (value === undefined) bytes[length++] = byte;
    else {
      bytes[length++] = value;
      at += 2;
    }
  }
  return bytes.subarray(0, length);
}

/** Returns the last byte of the line's end if only a few blanks come before it: then the line is joined to the next. */
function endOfBlankRest(bytes: Buffer, start: number): number | undefined {
  let at = start;
  while (at < start + 10 && (bytes[at] === 0x20 || bytes[at] === 0x09)) at += 1;
  if (at >= bytes.length) return bytes.length;
  if (bytes[at] === 0x0d && bytes[at + 1] === 0x0a) return at + 1;
  return bytes[at] === 0x0a ? at : undefined;
}

function hexAt(bytes: Buffer, at: number): number | undefined {
  const digits = bytes.toString("latin1", at, at + 2);
  return /^[0-9a-f]{2}$/i.test(digits) ? Number.parseInt(digits, 16) : undefined;
}
