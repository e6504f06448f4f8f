import { asciiLower } from "./asciiLower.ts";
/** Parses a number with its unit. Undefined for anything else. */
export function measured(value: string): { number: number; unit: string } | undefined {
  const found = /^(\d{1,5}(?:\.\d{1,6})?|\.\d{1,6})([a-z%]*)$/i.exec(value);
  return found ? { number: Number(found[1]), unit: asciiLower(found[2] ?? "") } : undefined;
}

/** Default text size of browsers, in px; the base of `rem`. */
export const rootSize = 16;

/** Converts a length to px, with `em` in px; undefined for anything else (percentages, numbers without a unit except 0). */
export function lengthPx(value: string, em: number): number | undefined {
  const length = measured(value);
  if (length === undefined) return undefined;
  const px = pxOf.get(length.unit);
  if (px) return length.number * px(em);
  return length.unit === "" && length.number === 0 ? 0 : undefined;
}

const pxOf = new Map<string, (em: number) => number>([
  ["px", () => 1],
  ["pt", () => 4 / 3],
  ["em", (em) => em],
  ["rem", () => rootSize],
]);

/** True for a length of boxes and their edges: 0 to 600 px. */
export function isBoxLength(value: string, em: number): boolean {
  const px = lengthPx(value, em);
  return px !== undefined && px >= 0 && px <= 600;
}

const smallest = 8;
const largest = 40;

/** True if text of this size in px is readable and leaves room for other text. */
export const isReadableSize = (px: number): boolean => px >= smallest - 0.005 && px <= largest + 0.005;

/** Returns the computed `font-size` in px under a parent of that size in px; undefined for an invalid size. */
export function fontSizePx(value: string, parent: number): number | undefined {
  const keyword = keywords.get(asciiLower(value));
  if (keyword) return keyword(parent);
  const size = measured(value);
  return size?.unit === "%" ? (size.number / 100) * parent : lengthPx(value, parent);
}

const keywords = new Map<string, (parent: number) => number>([
  ["xx-small", () => 9],
  ["x-small", () => 10],
  ["small", () => 13],
  ["medium", () => 16],
  ["large", () => 18],
  ["x-large", () => 24],
  ["xx-large", () => 32],
  ["smaller", (parent) => parent / 1.2],
  ["larger", (parent) => parent * 1.2],
]);

/** Computes `line-height` for text of this size in px: as a multiple of it, and in px if inner elements inherit the absolute height. */
export function lineHeightOf(value: string, fontSize: number): { multiple: number; px: number | null } | undefined {
  if (asciiLower(value) === "normal") return { multiple: 1.2, px: null };
  const height = measured(value);
  if (height === undefined) return undefined;
  if (height.unit === "") return { multiple: height.number, px: null };
  const px = height.unit === "%" ? (height.number / 100) * fontSize : lengthPx(value, fontSize);
  return px === undefined ? undefined : { multiple: px / fontSize, px };
}

/** True for 1 to 3 times the text size: below that, lines overlap. */
export const isReadableLine = (multiple: number): boolean => multiple >= 0.995 && multiple <= 3.005;
