import names from "color-name";
import { asciiLower } from "./asciiLower.ts";

export type Rgb = readonly [red: number, green: number, blue: number];

/** Relative luminance after WCAG 2: 0 for black, 1 for white. */
export type Luminance = number;

/** Parses a colour: hex of three or six digits, `rgb(r,g,b)` or a name; undefined for anything else, transparent colours too. */
export function colourOf(value: string): Rgb | undefined {
  const text = asciiLower(value);
  if (/^#[0-9a-f]{3}$/.test(text)) return hex([...text.slice(1)].map((digit) => digit + digit));
  if (/^#[0-9a-f]{6}$/.test(text)) return hex([text.slice(1, 3), text.slice(3, 5), text.slice(5, 7)]);
  const parts = /^rgb\(\s*(\d{1,3})\s*,\s*(\d{1,3})\s*,\s*(\d{1,3})\s*\)$/.exec(text);
  if (parts) {
    const rgb = [Number(parts[1]), Number(parts[2]), Number(parts[3])] as const;
    return rgb.every((part) => part <= 255) ? rgb : undefined;
  }
  return Object.hasOwn(names, text) ? names[text] : undefined;
}

const hex = ([red = "", green = "", blue = ""]: string[]): Rgb => [
  Number.parseInt(red, 16),
  Number.parseInt(green, 16),
  Number.parseInt(blue, 16),
];

export function luminance([red, green, blue]: Rgb): Luminance {
  return 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue);
}

function linear(part: number): number {
  const share = part / 255;
  return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
}

/** Contrast ratio after WCAG 2: 1 for equal luminance, 21 for black on white. */
export const contrast = (a: Luminance, b: Luminance): number => (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);

export const black = luminance([0, 0, 0]);
export const white = luminance([255, 255, 255]);

/** Default colours of links and marked text in browsers. */
export const linkBlue = luminance([0, 0, 238]);
export const markYellow = luminance([255, 255, 0]);
