/** What a link leads to, in a form in which two spellings of it are the same: without http(s), the end's slash and capitals of a host. */
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

/** Text with its web addresses, mail addresses and `tel:` numbers taken out, and the keys of those. `known` are bare hosts to look for, too. */
export function withoutTargets(text: string, known: ReadonlySet<string>): { rest: string; keys: string[] } {
  const keys: string[] = [];
  const taken = (key: string): string => {
    keys.push(key);
    return " ";
  };
  const rest = text
    .replace(/\b(?:https?:\/\/|www\.)[^\s<>"|]+/gi, (found) => {
      const url = ended(found);
      return `${taken(targetKey(url))}${found.slice(url.length)}`;
    })
    .replace(
      /\b(?:mailto:)?([\p{L}\p{N}._%+-]{1,64}@[\p{L}\p{N}-]{1,63}(?:\.[\p{L}\p{N}-]{1,63}){0,8})(?:\?[^\s<>"|)\]]*)?/giu,
      (found) => taken(targetKey(/^mailto:/i.test(found) ? found : `mailto:${found}`)),
    )
    .replace(/\btel:[+\d().-]+/gi, (found) => taken(targetKey(found)))
    .replace(/(?<![\p{L}\p{N}.-])[a-z0-9-]{1,63}(?:\.[a-z0-9-]{1,63}){1,8}(?:\/[^\s<>"|]*)?/giu, (found) => {
      const key = targetKey(ended(found));
      return known.has(key) ? taken(key) : found;
    });
  return { rest, keys };
}

/** A web address in running text without the punctuation after it; a closing bracket belongs to it only with its opening one. */
function ended(found: string): string {
  let url = found;
  for (;;) {
    const last = url.at(-1) ?? "";
    const opening = { ")": "(", "]": "[", "}": "{" }[last];
    const loose = opening !== undefined && url.split(opening).length < url.split(last).length;
    if (!loose && !/[.,;:!?'*_~`»”’]/.test(last)) return url;
    url = url.slice(0, -1);
  }
}
