import names from "color-name";
import { Parser } from "htmlparser2";

type Element = { name: string; color: string | undefined; ground: string | undefined };

const inline = new Set("span a b strong i em u s sub sup small del ins mark code kbd q img".split(" "));

/**
 * Returns the texts of a reduced body with a contrast of less than 2:1 to the ground that a browser draws. Alternative text of pictures
 * and the markers of lists are texts too. Written without the reducer's own code, to check it independently.
 */
export function hiddenTexts(html: string): string[] {
  const open: Element[] = [];
  const hidden: string[] = [];
  const show = (text: string, color: string, ground: string): void => {
    if (/[^\s\u200b\u202e]/.test(text) && ratio(color, ground) < 2) hidden.push(text);
  };
  const parser = new Parser({
    onopentag(name, attributes) {
      if (name === "li") show("marker", colorIn([...open, elementOf(name, attributes)]), groundUnder(open));
      open.push(elementOf(name, attributes));
      if (name === "li") show("marker", colorIn(open), groundUnder(open));
      if (name === "img") show(attributes.alt ?? "", colorIn(open), groundUnder(open));
    },
    ontext: (text) => show(text, colorIn(open), groundUnder(open)),
    onclosetag: () => open.pop(),
  });
  parser.end(html);
  return hidden;
}

function elementOf(name: string, attributes: Record<string, string>): Element {
  const styles = (attributes.style ?? "").split(";").map((one) => one.split(":").map((part) => part.trim()));
  const value = (...wanted: string[]): string | undefined =>
    styles.find(([property = ""]) => wanted.includes(property.toLowerCase()))?.[1];
  const color = value("color") ?? (name === "a" ? "#0000ee" : name === "mark" ? "#000000" : undefined);
  return { name, color, ground: value("background", "background-color") ?? (name === "mark" ? "#ffff00" : undefined) };
}

const colorIn = (open: Element[]): string => open.findLast(({ color }) => color !== undefined)?.color ?? "#000000";

/** A browser draws no inline ground behind a block in it, and no table's ground behind the caption. */
function groundUnder(open: Element[]): string {
  let blockPassed = false;
  let captionPassed = false;
  for (const { name, ground } of open.toReversed()) {
    const isInline = inline.has(name);
    const isDrawn = !(isInline && blockPassed) && !(name === "table" && captionPassed);
    if (ground !== undefined && isDrawn) return ground;
    if (!isInline) blockPassed = true;
    if (name === "caption") captionPassed = true;
    if (name === "table") captionPassed = false;
  }
  return "#ffffff";
}

function ratio(a: string, b: string): number {
  const [one = 0, other = 0] = [brightness(a), brightness(b)].sort((x, y) => y - x);
  return (one + 0.05) / (other + 0.05);
}

function brightness(colour: string): number {
  const [red = 0, green = 0, blue = 0] = partsOf(colour.toLowerCase()).map((part) =>
    part / 255 <= 0.04045 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4,
  );
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function partsOf(colour: string): readonly number[] {
  const digits = /^#([0-9a-f]+)$/.exec(colour)?.[1];
  if (digits?.length === 3) return [...digits].map((digit) => Number.parseInt(digit + digit, 16));
  if (digits) return [0, 2, 4].map((at) => Number.parseInt(digits.slice(at, at + 2), 16));
  const known = (names as Record<string, readonly number[]>)[colour] ?? colour.match(/\d+/g)?.map(Number);
  if (known?.length !== 3) throw new Error(`no colour: ${colour}`);
  return known;
}
