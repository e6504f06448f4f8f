/** Says if a link may stay; otherwise the kind of its target: a scheme, `relative` or `fragment`. `href` is decoded. */
export function judgeLink(href: string): { kept: true } | { kept: false; scheme: string } {
  const target = withoutBlanksAround(href);
  if (/^(?:https?:\/\/[^/?#]|mailto:.|tel:.)/i.test(target) && !unsafe.test(target)) return { kept: true };
  return { kept: false, scheme: schemeOf(target) };
}

/** Removes the characters around a target that programs ignore before they follow it. */
function withoutBlanksAround(href: string): string {
  let start = 0;
  let end = href.length;
  while (start < end && blanks.includes(href[start] as string)) start++;
  while (end > start && blanks.includes(href[end - 1] as string)) end--;
  return href.slice(start, end);
}

const blanks = " \t\n\f\r";

// biome-ignore lint/suspicious/noControlCharactersInRegex: finding them is what it is for
const unsafe = /[\u0000-\u001f\u007f-\u009f\u2028\u2029\\<>"]/;

/** Reads a scheme without tabs and line breaks, which programs drop (`java\tscript:`). */
function schemeOf(target: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: finding them is what it is for
  const bare = target.slice(0, 2000).replace(/[\u0000-\u0020\u007f-\u00a0]/g, "");
  if (bare.startsWith("#")) return "fragment";
  return /^([a-z][a-z0-9+.-]*):/i.exec(bare)?.[1]?.toLowerCase() ?? "relative";
}
