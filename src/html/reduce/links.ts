/** Whether a link may stay; otherwise the kind of target it had: a scheme, `relative` or `fragment`. `href` is decoded. */
export function judgeLink(href: string): { kept: true } | { kept: false; scheme: string } {
  const target = trimmed(href);
  if (/^(?:https?:\/\/[^/?#]|mailto:.|tel:.)/i.test(target) && !unsafe.test(target)) return { kept: true };
  return { kept: false, scheme: schemeOf(target) };
}

/** What programs leave out around a target before they follow it. */
const trimmed = (href: string): string => href.replace(/^[ \t\n\f\r]+|[ \t\n\f\r]+$/g, "");

// biome-ignore lint/suspicious/noControlCharactersInRegex: finding them is what it is for
const unsafe = /[\u0000-\u001f\u007f-\u009f\u2028\u2029\\<>"]/;

/** Programs drop tabs and line breaks within a scheme (`java\tscript:`), so it is read without them. */
function schemeOf(target: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: finding them is what it is for
  const bare = target.slice(0, 2000).replace(/[\u0000-\u0020\u007f-\u00a0]/g, "");
  if (bare.startsWith("#")) return "fragment";
  return /^([a-z][a-z0-9+.-]*):/i.exec(bare)?.[1]?.toLowerCase() ?? "relative";
}
