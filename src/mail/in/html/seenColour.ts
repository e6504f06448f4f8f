import { colourOf, type Rgb } from "#src/html/reduce/colours.ts";

const maxLength = 100;

/** Parses a colour in any form that browsers read; "clear" if it is transparent; undefined if it is not a colour. */
export function seenColour(value: string): Rgb | "clear" | undefined {
  const text = value.toLowerCase().slice(0, maxLength);
  if (text === "transparent") return "clear";
  const [, three, six, alpha = "ff"] = /^#(?:([\da-f]{3})|([\da-f]{6}))([\da-f]{1,2})$/.exec(text) ?? [];
  if (three !== undefined && alpha.length === 1) return alpha === "0" ? "clear" : colourOf(`#${three}`);
  if (six !== undefined && alpha.length === 2) return Number.parseInt(alpha, 16) <= 12 ? "clear" : colourOf(`#${six}`);
  const [, kind, inside = ""] = /^(rgb|hsl)a?\(([\d.,%/\s-]*(?:deg)?[\d.,%/\s]*)\)$/.exec(text) ?? [];
  if (kind === undefined) return colourOf(text);
  const [first, second, third, opacity] = (inside.match(/[\d.]+%?/g) ?? []).map(
    (part, n) => Number.parseFloat(part) * (part.endsWith("%") ? (kind === "rgb" && n < 3 ? 2.55 : 0.01) : 1),
  );
  if (first === undefined || second === undefined || third === undefined) return undefined;
  if (opacity !== undefined && opacity <= 0.05) return "clear";
  return kind === "rgb" ? rgb([first, second, third]) : rgb(ofHue(first, second, third));
}

const rgb = ([red, green, blue]: Rgb): Rgb => [bounded(red), bounded(green), bounded(blue)];
const bounded = (part: number): number => Math.min(255, Math.max(0, Math.round(part)));

function ofHue(hue: number, saturation: number, lightness: number): Rgb {
  const part = (n: number): number => {
    const at = (n + hue / 30) % 12;
    const reach = saturation * Math.min(lightness, 1 - lightness);
    return 255 * (lightness - reach * Math.max(-1, Math.min(at - 3, 9 - at, 1)));
  };
  return [part(0), part(8), part(4)];
}
