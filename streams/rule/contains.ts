/** Length up to which searching a part is cheap in any case. */
const shortPart = 64;

/**
 * True if a text contains a part, in linear time. The built-in search is quadratic for malicious parts: minutes for a mail's whole text,
 * during which no request is served.
 */
export const contains = (text: string, part: string): boolean =>
  part.length <= shortPart ? text.includes(part) : containsLong(text, part);

/** Searches by Knuth, Morris and Pratt: each character of the text is read once. */
function containsLong(text: string, part: string): boolean {
  const borders = bordersOf(part);
  let matched = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    while (matched > 0 && part.charCodeAt(matched) !== code) matched = borders[matched - 1] as number;
    if (part.charCodeAt(matched) === code) matched += 1;
    if (matched === part.length) return true;
  }
  return false;
}

/** Returns, for each prefix of the part, the length of its longest border. */
function bordersOf(part: string): Uint32Array {
  const borders = new Uint32Array(part.length);
  let length = 0;
  for (let at = 1; at < part.length; at++) {
    const code = part.charCodeAt(at);
    while (length > 0 && part.charCodeAt(length) !== code) length = borders[length - 1] as number;
    if (part.charCodeAt(length) === code) length += 1;
    borders[at] = length;
  }
  return borders;
}
