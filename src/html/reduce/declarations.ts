import { asciiLower } from "./asciiLower.ts";

/** One declaration of a style attribute. `source`: the text between the semicolons; `property`: in lower case. */
export type Declaration = { property: string; value: string; important: boolean; source: string };

/**
 * Splits a (decoded) style attribute into declarations, at semicolons outside quotes and parentheses. Anything else gets the property
 * "other" and no value.
 */
export function readDeclarations(style: string): Declaration[] {
  return split(style)
    .filter((part) => part.trim() !== "")
    .map(declarationOf);
}

function split(style: string): string[] {
  const parts: string[] = [];
  let start = 0;
  let quote = "";
  let depth = 0;
  for (let at = 0; at < style.length; at++) {
    const character = style[at] as string;
    if (quote) {
      if (character === quote) quote = "";
    } else if (character === '"' || character === "'") quote = character;
    else if (character === "(") depth += 1;
    else if (character === ")") depth = Math.max(0, depth - 1);
    else if (character === ";" && depth === 0) {
      parts.push(style.slice(start, at));
      start = at + 1;
    }
  }
  parts.push(style.slice(start));
  return parts;
}

/** Searches once from the end: a regular expression would restart at each blank. */
function withoutImportant(value: string): string {
  const mark = value.lastIndexOf("!");
  return mark >= 0 && /^important$/i.test(value.slice(mark + 1).trim()) ? value.slice(0, mark).trimEnd() : value;
}

function declarationOf(source: string): Declaration {
  const colon = source.indexOf(":");
  const property = source.slice(0, colon < 0 ? 0 : colon).trim();
  if (!/^-?[a-z][a-z-]*$/i.test(property)) return { property: "other", value: "", important: false, source };
  // A blank character that CSS does not accept makes programs ignore the whole declaration; in a font name it counts as a letter.
  if (property !== "font-family" && /[^\S \t\n\f\r]/.test(source)) {
    return { property: asciiLower(property), value: "", important: false, source };
  }
  const whole = source.slice(colon + 1).trim();
  const value = withoutImportant(whole);
  return { property: asciiLower(property), value, important: value !== whole, source };
}
