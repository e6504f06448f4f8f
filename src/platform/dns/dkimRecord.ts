import { quoted } from "./quoted.ts";

/** Returns why receivers do not use the DKIM key at a selector, or why it is not the one of `value`; null if it is right (RFC 6376, 3.6.1). */
export function faultOfDkim(found: readonly string[], value: string): string | null {
  if (found.length > 1)
    return `found ${found.length} TXT records, but a DKIM key has to be the only one: ${quoted(found)}`;
  const [text = ""] = found;
  const tags = tagsOf(text);
  if (!tags) return `no DKIM key, because its tags cannot be read; found ${quoted(found)}`;
  const key = keyIn(tags);
  if (key === undefined) return `no DKIM key; found ${quoted(found)}`;
  if (tags.has("v") && (tags.get("v") !== "DKIM1" || [...tags.keys()][0] !== "v"))
    return `the DKIM record has to begin with v=DKIM1; found ${quoted(found)}`;
  if (key === "") return "the DKIM key is empty, which means revoked";
  if (key !== keyIn(tagsOf(value) ?? new Map())) return `found another DKIM key: ${quoted(found)}`;
  const type = tags.get("k") ?? "rsa";
  if (type !== "rsa") return `the DKIM record says k=${type.slice(0, 40)}, not k=rsa`;
  if (!allows(tags.get("h"), ["sha256"])) return `the DKIM record has to allow sha256 in h=; found ${quoted(found)}`;
  if (!allows(tags.get("s"), ["*", "email"])) return `the DKIM record has to allow email in s=; found ${quoted(found)}`;
  if (itemsOf(tags.get("t") ?? "").includes("y"))
    return "the DKIM record says t=y: receivers take the mail for unsigned, because the key is only being tested";
  return null;
}

const keyIn = (tags: ReadonlyMap<string, string>): string | undefined => tags.get("p")?.replace(/\s+/g, "");

const itemsOf = (list: string): string[] => list.split(":").map((item) => item.trim());

const allows = (list: string | undefined, wanted: readonly string[]): boolean =>
  list === undefined || itemsOf(list).some((item) => wanted.includes(item));

/** Reads a list of tags (RFC 6376, 3.2). Undefined if it is malformed or has a tag twice: receivers then use none of it. */
function tagsOf(text: string): Map<string, string> | undefined {
  const tags = new Map<string, string>();
  for (const part of text.replace(/;\s*$/, "").split(";")) {
    const [, name, value = ""] = /^\s*([a-z][a-z0-9_]*)\s*=([\s!-~]*)$/i.exec(part) ?? [];
    if (name === undefined || tags.has(name)) return undefined;
    tags.set(name, value.trim());
  }
  return tags;
}
