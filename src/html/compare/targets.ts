/** Normalises a link target, so that two spellings of it are equal: without http(s), a final slash, and capitals in the host. */
export function targetKey(target: string): string {
  const text = target.trim();
  const address = /^mailto:([^?]*)/i.exec(text)?.[1];
  if (address !== undefined) return `mailto:${unescaped(address).toLowerCase()}`;
  if (/^tel:/i.test(text)) return `tel:${digitsOf(text)}`;
  const [, host = "", rest = ""] = /^(?:https?:\/\/)?([^/?#]*)(.*)$/is.exec(text) ?? [];
  return `${host.toLowerCase()}${rest}`.replace(/\/$/, "");
}

export const digitsOf = (text: string): string => text.replace(/\D/g, "");

function unescaped(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Takes web addresses, mail addresses and `tel:` numbers out of a text, and returns their keys. `known`: bare hosts to find too. */
export function withoutTargets(text: string, known: ReadonlySet<string>): { rest: string; keys: string[] } {
  const keys: string[] = [];
  const taken = (key: string): string => {
    keys.push(key);
    return " ";
  };
  const rest = text
    .replace(/\b(?:https?:\/\/|www\.)[^\s<>"|]+/gi, (found) => {
      const url = withoutPunctuation(found);
      const key = targetKey(url);
      // A scheme followed only by punctuation or a mark names no target.
      return key === "" ? found : `${taken(key)}${found.slice(url.length)}`;
    })
    .replace(
      /\b(?:mailto:)?([\p{L}\p{N}._%+-]{1,64}@[\p{L}\p{N}-]{1,63}(?:\.[\p{L}\p{N}-]{1,63}){0,8})(?:\?[^\s<>"|)\]]*)?/giu,
      (found) => taken(targetKey(/^mailto:/i.test(found) ? found : `mailto:${found}`)),
    )
    // The `+` of `+}` ends underlined text and belongs to no number.
    .replace(/\btel:(?:[\d().-]|\+(?!\}))+/gi, (found) => taken(targetKey(found)))
    .replace(/(?<![\p{L}\p{N}.-])[a-z0-9-]{1,63}(?:\.[a-z0-9-]{1,63}){1,8}(?:\/[^\s<>"|]*)?/giu, (found) => {
      const key = targetKey(withoutPunctuation(found));
      return known.has(key) ? taken(key) : found;
    });
  return { rest, keys };
}

/**
 * Returns a web address in running text without the punctuation and marks after it; a closing bracket belongs to it only together with
 * its opening one.
 */
export function withoutPunctuation(address: string): string {
  const [found = ""] = address.split(/~~|\+\}/, 1);
  const counts = new Map<string, number>();
  for (const one of found) if ("()[]{}".includes(one)) counts.set(one, (counts.get(one) ?? 0) + 1);
  for (let end = found.length; ; end--) {
    const last = found[end - 1] ?? "";
    const closing = counts.get(last) ?? 0;
    const opening = openings.get(last);
    const loose = opening !== undefined && (counts.get(opening) ?? 0) < closing;
    if (!loose && !/[.,;:!?'*_~`»”’]/.test(last)) return found.slice(0, end);
    if (loose) counts.set(last, closing - 1);
  }
}

const openings = new Map([
  [")", "("],
  ["]", "["],
  ["}", "{"],
]);
