/** A text in one decoded form, with the way back to the original position of each character. */
export type TextReading = {
  text: string;
  /** Returns the part of the original that these characters came from: from `start`, up to and excluding `end`. */
  origin(start: number, end: number): { start: number; end: number };
};

/** Maximum number of decoding rounds: one for entities and three for percent-encoding, because gateways nest these in addresses. */
const maxRounds = 4;

/** Matches encoded ASCII; other characters are not searched for. */
const encoded =
  /%([0-7][0-9a-f])|&#x0*([0-7]?[0-9a-f])(?![0-9a-f]);?|&#0*(\d{1,3})(?!\d);?|&(amp|lowbar|underbar|percnt|num|sol);/gi;
const named: Readonly<Record<string, string>> = {
  amp: "&",
  lowbar: "_",
  underbar: "_",
  percnt: "%",
  num: "#",
  sol: "/",
};

/** Matches the break of a line that was too long, with the quotation marks of the next line; and characters without width. */
const breaks = /\r?\n(?<=[^\r\n]{20}\r?\n)[>\s|]*|[\u00ad\u200b-\u200d\u2060\ufeff]/g;
const breaksAndTags = /<[^<>]{0,4000}>|\r?\n(?<=[^\r\n]{20}\r?\n)[>\s|]*|[\u00ad\u200b-\u200d\u2060\ufeff]/g;

/** Length of 32 random bytes in base64url. */
export const tokenLength = 43;
/** By character code: true for a character that may write a token, itself or in encoded form. */
const writesToken = Array.from({ length: 128 }, (_, code) => /[\w%&#;-]/.test(String.fromCharCode(code)));

/**
 * False if no reading of the text can have 43 token characters in a row. True for very few texts; costs a small part of a full search.
 */
export const mayHoldToken = (text: string): boolean =>
  hasTokenLength(text) ||
  hasTokenLength(text.replace(breaks, "")) ||
  (text.includes("<") && hasTokenLength(text.replace(breaksAndTags, "")));

/**
 * True if a text has 43 token characters in a row. Tests every 43rd character, then the characters before it as long as they are token
 * characters: a regular expression would test the letters of each word many times.
 */
function hasTokenLength(text: string): boolean {
  for (let last = tokenLength - 1; last < text.length; ) {
    let at = last;
    while (at > last - tokenLength && writesToken[text.charCodeAt(at)]) at -= 1;
    if (at === last - tokenLength) return true;
    last = at + tokenLength;
  }
  return false;
}

/**
 * Yields a text in all relevant readings: raw, with broken lines joined, without tags, and each of these with entities and
 * percent-encoding undone up to four times. Each takes one pass.
 */
export function* readingsOf(text: string): Generator<TextReading> {
  const asItIs: TextReading = { text, origin: (start, end) => ({ start, end }) };
  const joined = rewritten(asItIs, breaks, () => "");
  const bare = text.includes("<") ? rewritten(asItIs, breaksAndTags, () => "") : undefined;
  for (const first of [asItIs, joined, bare]) {
    let reading = first;
    for (let round = 0; reading !== undefined; round += 1) {
      yield reading;
      reading = round < maxRounds ? rewritten(reading, encoded, decoded) : undefined;
    }
  }
}

/** Returns the decoded character; undefined if it cannot occur in an address. "" for tabs and line ends, which browsers leave out. */
function decoded([, percent, hex, decimal, name]: RegExpMatchArray): string | undefined {
  if (name !== undefined) return named[name.toLowerCase()];
  const code = decimal === undefined ? Number.parseInt((percent ?? hex) as string, 16) : Number(decimal);
  if (code === 0x09 || code === 0x0a || code === 0x0d) return "";
  return code >= 0x20 && code < 0x7f ? String.fromCharCode(code) : undefined;
}

/** Replaces each match by one character, by nothing, or (undefined) leaves it; undefined if nothing changes. */
function rewritten(
  before: TextReading,
  pattern: RegExp,
  replacement: (match: RegExpMatchArray) => string | undefined,
): TextReading | undefined {
  const source = before.text;
  const pieces: string[] = [];
  /** Per piece: its start in the new text, its start in the source, and its length in the source. */
  const [begins, origins, lengths]: [number[], number[], number[]] = [[], [], []];
  let [length, from] = [0, 0];
  const add = (piece: string, origin: number, sourceLength: number): void => {
    if (piece === "") return;
    pieces.push(piece);
    begins.push(length);
    origins.push(origin);
    lengths.push(sourceLength);
    length += piece.length;
  };
  for (const match of source.matchAll(pattern)) {
    const piece = replacement(match);
    if (piece === undefined) continue;
    const at = match.index;
    add(source.slice(from, at), from, at - from);
    from = at + match[0].length;
    add(piece, at, from - at);
  }
  if (from === 0) return undefined;
  add(source.slice(from), from, source.length - from);

  const place = (position: number): { start: number; end: number } => {
    const piece = lastAtMost(begins, position);
    const { length: shown } = pieces[piece] as string;
    const [origin, sourceLength] = [origins[piece] as number, lengths[piece] as number];
    // An encoded character came from its whole encoded form.
    if (shown !== sourceLength) return { start: origin, end: origin + sourceLength };
    const start = origin + position - (begins[piece] as number);
    return { start, end: start + 1 };
  };
  return {
    text: pieces.join(""),
    origin: (start, end) => before.origin(place(start).start, place(end - 1).end),
  };
}

/** Returns the index of the last of these rising numbers that is ≤ `limit`. The first always is. */
function lastAtMost(numbers: readonly number[], limit: number): number {
  let [low, high] = [0, numbers.length - 1];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if ((numbers[middle] as number) <= limit) low = middle;
    else high = middle - 1;
  }
  return low;
}
