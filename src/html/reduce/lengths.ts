import { asciiLower } from "./asciiLower.ts";
/** Of a number with its unit. Undefined for what is no such number. */
export function measured(value: string): { number: number; unit: string } | undefined {
  const found = /^(\d{1,5}(?:\.\d{1,6})?|\.\d{1,6})([a-z%]*)$/i.exec(value);
  return found ? { number: Number(found[1]), unit: asciiLower(found[2] ?? "") } : undefined;
}

/** How browsers size text if nothing is said, in px. `rem` counts from it. */
export const rootSize = 16;

/** A length in px, where `em` is so many px; undefined for what is none (percentages, numbers without a unit but 0). */
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

/** Boxes and their edges: 0 to 600 px. */
export function isBoxLength(value: string, em: number): boolean {
  const px = lengthPx(value, em);
  return px !== undefined && px >= 0 && px <= 600;
}

const smallest = 8;
const largest = 40;

/** Whether text of so many px can be read and leaves room for other text. */
export const isReadableSize = (px: number): boolean => px >= smallest - 0.005 && px <= largest + 0.005;

/** The size in px that `font-size` computes to under a parent of so many px; undefined for what is no size. */
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

/** What `line-height` makes of text of so many px: as a multiple of it, and in px where the lines of inner elements stay as far apart. */
export function lineHeightOf(value: string, fontSize: number): { multiple: number; px: number | null } | undefined {
  if (asciiLower(value) === "normal") return { multiple: 1.2, px: null };
  const height = measured(value);
  if (height === undefined) return undefined;
  if (height.unit === "") return { multiple: height.number, px: null };
  const px = height.unit === "%" ? (height.number / 100) * fontSize : lengthPx(value, fontSize);
  return px === undefined ? undefined : { multiple: px / fontSize, px };
}

/** 1 to 3 times the text: in less, what is written on one line lies on the next. */
export const isReadableLine = (multiple: number): boolean => multiple >= 0.995 && multiple <= 3.005;
