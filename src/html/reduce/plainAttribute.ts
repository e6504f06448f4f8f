import { maxDeclaration, mayHave, withHeight } from "./names.ts";

/** True if the raw value of an attribute (the text between its quotes) only says how something looks or where it links to. */
export function isPlainAttribute(element: string, name: string, raw: string): boolean {
  const value = decoded(raw);
  switch (name) {
    case "alt":
      return true;
    case "dir":
      return /^(?:ltr|rtl|auto)$/.test(raw);
    case "lang":
      return /^[A-Za-z0-9-]{0,35}$/.test(raw);
    case "colspan":
    case "rowspan":
      return /^[1-9]\d?$/.test(raw);
    case "start":
      return /^-?\d{1,6}$/.test(raw);
    case "src":
      return /^cid:[0-9a-f]{64}$/.test(raw);
    case "href":
      return value !== undefined && isPlainTarget(value);
    case "style":
      return value !== undefined && isPlainStyle(element, value);
    default:
      return false;
  }
}

/** Decodes a value; undefined if it has named references beyond the four common ones. */
function decoded(raw: string): string | undefined {
  if (/&(?!(?:amp|lt|gt|quot);)[a-z][a-z0-9]*;/i.test(raw)) return undefined;
  return raw.replace(/&(#\d{1,7}|#x[0-9a-f]{1,6}|amp|lt|gt|quot);?/gi, (whole, reference: string) => {
    if (!reference.startsWith("#")) return named[reference.toLowerCase()] ?? whole;
    const code = /^#x/i.test(reference) ? Number.parseInt(reference.slice(2), 16) : Number(reference.slice(1));
    return code > 0x10ffff ? "\ufffd" : String.fromCodePoint(code);
  });
}

const named: Record<string, string> = { amp: "&", lt: "<", gt: ">", quot: '"' };

const isPlainTarget = (target: string): boolean =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: finding them is what it is for
  /^(?:https?:\/\/|mailto:|tel:)[^\u0000-\u001f\\<>"]+$/i.test(target.replace(/^[ \t\n\f\r]+/, "").trimEnd());

function isPlainStyle(element: string, style: string): boolean {
  const properties = new Set<string>();
  for (const part of style.split(";").filter((one) => one.trim() !== "")) {
    const [written = "", value, ...more] = part.length > maxDeclaration ? [] : part.split(":").map((one) => one.trim());
    if (!/^[a-z-]+$/i.test(written) || value === undefined || more.length > 0) return false;
    const property = written.toLowerCase() === "background" ? "background-color" : written.toLowerCase();
    if (properties.has(property) || !mayHave(element, property) || !isPlainDeclaration(property, value)) return false;
    if (property === "height" && !withHeight.has(element) && !/^auto$/i.test(value)) return false;
    properties.add(property);
  }
  return properties.size > 0;
}

function isPlainDeclaration(property: string, value: string): boolean {
  const kind = property.replace(/-(?:top|right|bottom|left)$/, "");
  const pattern = patterns.get(kind);
  if (pattern) return pattern.test(value);
  const parts = value.split(/\s+/);
  if (kind === "margin" || kind === "padding" || kind === "border-radius")
    return (
      parts.length <= 4 && parts.every((part) => (kind === "margin" && /^auto$/i.test(part)) || isLength(part, 600))
    );
  if (kind === "border") {
    const [width = "", style = "", ...colour] = parts;
    if (/^(?:none|0)$/i.test(value)) return true;
    return (
      isLength(width, 600) &&
      /^[a-z]{5,6}$/i.test(style) &&
      style.toLowerCase() !== "hidden" &&
      isColour(colour.join(" "))
    );
  }
  if (/^auto$/i.test(value)) return true;
  const share = /^(\d*\.?\d+)%$/.exec(value)?.[1];
  if (share !== undefined) return kind !== "height" && Number(share) <= 100;
  return isLength(value, 600);
}

/** The maximum applies to px and pt; the size of `em` depends on the surroundings. */
function isLength(value: string, most: number): boolean {
  const [, number, unit = ""] = /^(\d*\.?\d+)(px|pt|em|rem)?$/i.exec(value) ?? [];
  if (number === undefined) return false;
  const size = Number(number) * (unit.toLowerCase() === "pt" ? 4 / 3 : 1);
  return unit === "" ? size === 0 : size <= most;
}

const colour =
  /^(?:#[0-9a-f]{3}|#[0-9a-f]{6}|rgb\((?:\s*\d{1,3}\s*,){2}\s*\d{1,3}\s*\)|(?!transparent$|inherit$|initial$|unset$|revert|currentcolor$)[a-z]{3,20})$/i;
const isColour = (value: string): boolean => colour.test(value);

const patterns = new Map([
  ["color", colour],
  ["background-color", colour],
  ["font-family", /^[\p{L}\p{N}\s"',.&_+-]+$/u],
  [
    "font-size",
    /^(?:(?:xx?-)?(?:small|large)|smaller|larger|medium|(?!0+(?:\.0*)?[a-z%])\d*\.?\d+(?:px|pt|em|rem|%))$/i,
  ],
  ["font-weight", /^(?:normal|bold|bolder|lighter|[1-9]00)$/i],
  ["font-style", /^(?:normal|italic|oblique)$/i],
  ["line-height", /^(?:normal|(?!0+(?:\.0*)?(?:[a-z%]|$))\d*\.?\d+(?:px|pt|em|rem|%)?)$/i],
  ["text-align", /^(?:left|right|center|justify|start|end)$/i],
  ["vertical-align", /^(?:top|middle|bottom)$/i],
  ["border-collapse", /^(?:collapse|separate)$/i],
]);
