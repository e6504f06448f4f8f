import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** The custom properties of the look, as a style sheet. */
export const tokensSheet = readFileSync(fileURLToPath(import.meta.resolve("#src/html/tokens.css")), "utf8")
  .replace(/\/\*[\s\S]*?\*\//g, "")
  .replace(/\s+/g, " ")
  .replace(/ ?([{}:;,]) ?/g, "$1")
  .trim();

export type Colour =
  | "ink"
  | "soft"
  | "page"
  | "card"
  | "line"
  | "link"
  | "approve"
  | "reject"
  | "on-button"
  | "warning"
  | "caution"
  | "edge"
  | "added"
  | "removed";

export type Palette = Readonly<Record<Colour, string>>;

/** Returns the colours that a `:root` block sets; `media`: the condition around the block, "" for none. */
function coloursWhen(media: string): Partial<Record<Colour, string>> {
  const before = media === "" ? "" : `@media ${media}{`;
  const start = tokensSheet.indexOf(`${before}:root{`);
  if (start < 0) throw new Error(`tokens.css has no :root for “${media}”`);
  const block = tokensSheet.slice(start, tokensSheet.indexOf("}", start));
  return Object.fromEntries([...block.matchAll(/--([\w-]+):(#[0-9a-f]{6})/g)].map(([, name, value]) => [name, value]));
}

const light = coloursWhen("") as Palette;
const dark = { ...light, ...coloursWhen("(prefers-color-scheme:dark)") };
const lightWithContrast = { ...light, ...coloursWhen("(prefers-contrast:more)") };
const darkWithContrast = {
  ...dark,
  ...coloursWhen("(prefers-contrast:more)"),
  ...coloursWhen("(prefers-contrast:more) and (prefers-color-scheme:dark)"),
};

/** The colours of each look, for mail and for tests. */
export const palettes = { light, dark, lightWithContrast, darkWithContrast } as const;

/** The part of the sheet that names colours alone: for frames, which are many on a page. */
export const coloursSheet = tokensSheet.slice(0, tokensSheet.lastIndexOf(":root{--font"));
