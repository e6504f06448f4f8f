import { asciiLower } from "./asciiLower.ts";
import { colourOf } from "./colours.ts";
import { isBoxLength, measured } from "./lengths.ts";

/**
 * True if the value of a look property only changes the look, and hides nothing. `em` in px. Sizes and colours of text depend on the
 * surroundings, so styles.ts judges them.
 */
export function isPlainValue(property: string, value: string, em: number): boolean {
  const side = /^(margin|padding|border)-(?:top|right|bottom|left)$/.exec(property);
  return values.get(side?.[1] ?? property)?.(asciiLower(value), em, side !== null) ?? false;
}

type Judge = (value: string, em: number, side: boolean) => boolean;

const among =
  (words: string): Judge =>
  (value) =>
    words.split(" ").includes(value);

const percentage = (value: string): boolean => {
  const size = measured(value);
  return size?.unit === "%" && size.number <= 100;
};

const box =
  (judge: (part: string, em: number) => boolean): Judge =>
  (value, em, side) => {
    const parts = value.split(/\s+/);
    return parts.length <= (side ? 1 : 4) && parts.every((part) => judge(part, em));
  };

const borderStyles = among("solid dashed dotted double groove ridge inset outset");

function border(value: string, em: number): boolean {
  if (value === "none" || value === "0") return true;
  const [width = "", style = "", ...colour] = value.split(/\s+/);
  return isBoxLength(width, em) && borderStyles(style, em, false) && colourOf(colour.join(" ")) !== undefined;
}

/** Fonts that draw other signs than the letters they are given. */
const symbolFonts =
  /wing\s?dings|webdings|symbol|dingbat|mt extra|marlett|ornament|emoji|awesome|mdl2|icon|glyph|barcode|braille/i;
const familyName = /^\s*(?:-?[\p{L}_][\p{L}\p{N}_ -]*|"[\p{L}\p{N}_ .&+-]+"|'[\p{L}\p{N}_ .&+-]+')\s*$/u;

const fontFamily: Judge = (value) =>
  value.length <= 500 && !symbolFonts.test(value) && value.split(",").every((name) => familyName.test(name));

const values = new Map<string, Judge>(
  Object.entries({
    "font-family": fontFamily,
    "font-weight": among("normal bold bolder lighter 100 200 300 400 500 600 700 800 900"),
    "font-style": among("normal italic oblique"),
    "text-align": among("left right center justify start end"),
    "vertical-align": among("top middle bottom"),
    width: (value, em) => value === "auto" || percentage(value) || isBoxLength(value, em),
    "max-width": (value, em) => percentage(value) || isBoxLength(value, em),
    height: (value, em) => value === "auto" || isBoxLength(value, em),
    margin: box((part, em) => part === "auto" || isBoxLength(part, em)),
    padding: box(isBoxLength),
    border,
    "border-collapse": among("collapse separate"),
    "border-radius": box(isBoxLength),
  }),
);
