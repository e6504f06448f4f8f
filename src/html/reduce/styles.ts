import type { Backgrounds, ColourScope } from "./backgrounds.ts";
import { colourOf, luminance } from "./colours.ts";
import type { Declaration } from "./declarations.ts";
import { fontSizePx, isReadableLine, isReadableSize, lengthPx, lineHeightOf, rootSize } from "./lengths.ts";
import { maxDeclaration, mayHave, withHeight } from "./names.ts";
import { isPlainValue } from "./styleValues.ts";

/**
 * The look of text at a place, as far as it can hide the text. Sizes in px; `lineHeight` is null if it scales with the text. `monospace`:
 * browsers show such text smaller than specified.
 */
export type PlacedLook = { place: ColourScope; fontSize: number; lineHeight: number | null; monospace: boolean };

/** The look of a page without style. */
export const plainLookOn = (page: ColourScope): PlacedLook => ({
  place: page,
  fontSize: rootSize,
  lineHeight: null,
  monospace: false,
});

/** `from`: the attribute or element that a declaration was derived from; undefined for one from a style attribute. */
export type Styling = Declaration & { from?: string };

/** The element's look before any style: browsers show some elements smaller or larger. */
export function lookOf(element: string, around: PlacedLook): PlacedLook {
  if (monospaced.has(element)) return monospaceLook(around);
  const scale = scales.get(element);
  return scale ? { ...around, fontSize: around.fontSize * scale } : around;
}

const monospaced = new Set(["pre", "code", "kbd"]);

/** Browsers change 16 px to 13 px where text becomes monospaced, whatever size it inherits. */
const monospaceLook = (around: PlacedLook): PlacedLook =>
  around.monospace ? around : { ...around, fontSize: (around.fontSize * 13) / 16, monospace: true };

const scales = new Map([
  ["h1", 2],
  ["h2", 1.5],
  ["h3", 1.17],
  ["h5", 0.83],
  ["h6", 0.67],
  ["small", 1 / 1.2],
  ["sub", 1 / 1.2],
  ["sup", 1 / 1.2],
]);

/** Returns the declarations that may stay on an element, in order, those that are removed, and the resulting look of its content. */
export function judgeStyles(
  stylings: readonly Styling[],
  element: string,
  { look: around, grounds, isInTable }: { look: PlacedLook; grounds: Backgrounds; isInTable: boolean },
): { kept: Styling[]; gone: Styling[]; look: PlacedLook } {
  const kept = new Set(
    stylings.filter(({ property, source }) => source.length <= maxDeclaration && mayHave(element, property)),
  );
  const fits = (styling: Styling, judge: () => boolean): void => {
    if (!judge()) kept.delete(styling);
  };

  for (const one of of(kept, "font-family")) fits(one, () => isPlainValue(one.property, one.value, rootSize));
  const family = onlyLast(kept, "font-family");
  const becomesMonospace = monospaced.has(element) || /monospace/i.test(family?.value ?? "");
  const parent = becomesMonospace ? monospaceLook(around) : around;
  const own = lookOf(element, parent);
  const look = { ...own };
  for (const one of of(kept, "font-size")) fits(one, () => isReadableSize(fontSizePx(one.value, parent.fontSize) ?? 0));
  const size = onlyLast(kept, "font-size");
  if (size) look.fontSize = fontSizePx(size.value, parent.fontSize) ?? look.fontSize;

  for (const one of of(kept, "line-height"))
    fits(one, () => isReadableLine(lineHeightOf(one.value, look.fontSize)?.multiple ?? 0));
  const line = onlyLast(kept, "line-height");
  if (line) look.lineHeight = lineHeightOf(line.value, look.fontSize)?.px ?? null;
  // Lines of a fixed height overlap if an inner text is much larger.
  else if (size && look.lineHeight !== null && !isReadableLine(look.lineHeight / look.fontSize)) {
    kept.delete(size);
    look.fontSize = own.fontSize;
  }

  for (const one of kept)
    if (!judgedHere.has(one.property))
      fits(one, () => isPlainValue(one.property, one.value, look.fontSize) && hasRoom(one, element, isInTable));
  for (const property of new Set([...kept].map((one) => one.property)))
    if (!judgedHere.has(property)) onlyLast(kept, property);

  look.place = judgeColours(kept, element, { place: around.place, grounds });
  return { kept: stylings.filter((one) => kept.has(one)), gone: stylings.filter((one) => !kept.has(one)), look };
}

const judgedHere = new Set(["font-size", "line-height", "color", "background", "background-color"]);

/** Keeps the colours that hide nothing. Returns the place of the element's content. */
function judgeColours(
  kept: Set<Styling>,
  element: string,
  { place: around, grounds }: { place: ColourScope; grounds: Backgrounds },
): ColourScope {
  for (const one of of(kept, "color", "background", "background-color")) if (!colourOf(one.value)) kept.delete(one);
  const text = onlyLast(kept, "color");
  const ground = onlyLast(kept, "background", "background-color");
  const place = grounds.begin(element, around, { color: luminanceOf(text), ground: luminanceOf(ground) });
  if (text && !place.colorStays) kept.delete(text);
  if (ground && !place.groundStays) kept.delete(ground);
  return place;
}

function luminanceOf(styling: Styling | undefined): number | undefined {
  const colour = styling && colourOf(styling.value);
  return colour && luminance(colour);
}

/**
 * True if a length can stay on this kind of element: in a box that is too low, text would overlap what follows it, and in one too narrow
 * the next cell.
 */
function hasRoom({ property, value }: Styling, element: string, isInTable: boolean): boolean {
  if (element === "img" && /width|height/.test(property)) return isReadablePicture(value);
  const isFree = /^auto$|%$/i.test(value);
  if (property === "height") return isFree || withHeight.has(element);
  const isBox = property === "max-width" || (property === "width" && !ofSetWidth.has(element));
  return isFree || !isBox || !isInTable;
}

/** A picture with fewer pixels, or a smaller share of its surroundings, shows nothing recognisable. */
const isReadablePicture = (value: string): boolean =>
  value.endsWith("%") ? Number.parseFloat(value) >= 10 : value === "auto" || (lengthPx(value, rootSize) ?? 0) >= 8;

const ofSetWidth = new Set(["table", "td", "th", "col", "colgroup", "hr"]);

const of = (kept: Set<Styling>, ...properties: string[]): Styling[] =>
  [...kept].filter((one) => properties.includes(one.property));

/** Keeps only the effective one of competing declarations: the last important one, or the last. */
function onlyLast(kept: Set<Styling>, ...properties: string[]): Styling | undefined {
  const all = of(kept, ...properties);
  const last = all.filter((one) => one.important).at(-1) ?? all.at(-1);
  for (const one of all) if (one !== last) kept.delete(one);
  return last;
}
