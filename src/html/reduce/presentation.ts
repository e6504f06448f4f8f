import { asciiLower } from "./asciiLower.ts";
import type { Attribute } from "./tokens.ts";

/** A style that replaces an attribute or an obsolete element. `property` is "" if no style is worth keeping. */
export type PresentedStyle = { property: string; value: string; from: string };

/** The styles that a table's attributes give its cells. `spansRows`: a cell so far spans rows. */
export type CellStyle = { padding: string | null; border: boolean; spansRows: boolean };

/** Returns the cell styles that a table's attributes ask for. */
export function cellStyleOf(attributes: readonly Attribute[]): CellStyle {
  const padding = pixels(textOf(attributes, "cellpadding"));
  const border = borderWidth(attributes);
  return { padding, border: border !== null && border !== "0px", spansRows: false };
}

/** Returns the styles that a cell takes from its table. The attributes are the table's, so they are not counted at the cell. */
export function meaningsOfTable({ padding, border }: CellStyle): PresentedStyle[] {
  return [
    ...(padding === null ? [] : [{ property: "padding", value: padding, from: "" }]),
    ...(border ? [{ property: "border", value: "1px solid gray", from: "" }] : []),
  ];
}

/** Returns the styles that replace presentational attributes; none for other attributes. `element`: its original name. */
export function meaningsOf(element: string, attributes: readonly Attribute[]): PresentedStyle[] {
  const found = attributes.flatMap((attribute) =>
    (meaningOf(element, attribute) ?? []).map(([property, value]) => ({ property, value, from: attribute.name })),
  );
  if (element === "center") found.unshift({ property: "text-align", value: "center", from: "" });
  return found;
}

type Pairs = [property: string, value: string][];

/** Undefined if the attribute is not presentational for this element, or has no effect. */
function meaningOf(element: string, { name, value }: Attribute): Pairs | undefined {
  const text = value.trim();
  switch (name) {
    case "bgcolor":
      return one("background-color", colour(text));
    case "text":
      return element === "body" ? one("color", colour(text)) : undefined;
    case "color":
      return element === "font" ? one("color", colour(text)) : undefined;
    case "face":
      return element === "font" ? one("font-family", text) : undefined;
    case "size":
      return element === "font" ? one("font-size", fontSize(text)) : undefined;
    case "width":
    case "height":
      return sized.has(element) ? one(name, pixels(text) ?? (name === "width" ? percent(text) : null)) : undefined;
    case "align":
      return align(element, asciiLower(text));
    case "valign":
      return cellParts.has(element) ? one("vertical-align", asciiLower(text)) : undefined;
    case "cellspacing":
      return element === "table" && /^0+(?:px)?$/.test(text) ? one("border-collapse", "collapse") : undefined;
    case "cellpadding":
      return element === "table" && pixels(text) !== null ? [["", ""]] : undefined;
    case "border":
      return element === "table" || element === "img" ? border(value) : undefined;
    default:
      return undefined;
  }
}

const cellParts = new Set(["td", "th", "tr", "thead", "tbody", "tfoot"]);
const sized = new Set(["table", "td", "th", "img", "hr", "col", "colgroup"]);

const one = (property: string, value: string | null): Pairs | undefined =>
  value === null ? undefined : [[property, value]];

const pixels = (value: string): string | null => {
  const digits = /^\s*(\d{1,4})(?:\.\d+)?(?:px)?\s*$/i.exec(value)?.[1];
  return digits === undefined ? null : `${Number(digits)}px`;
};

const percent = (value: string): string | null => (/^\d{1,3}%$/.test(value) ? value : null);

const colour = (value: string): string => (/^[0-9a-f]{6}$/i.test(value) ? `#${value}` : value);

function fontSize(value: string): string | null {
  const found = /^([+-]?)(\d{1,2})$/.exec(value);
  if (!found) return null;
  const step = Number(found[2]) * (found[1] === "-" ? -1 : 1) + (found[1] ? 3 : 0);
  return `${[10, 13, 16, 18, 24, 32, 40][Math.min(7, Math.max(1, step)) - 1]}px`;
}

function align(element: string, value: string): Pairs | undefined {
  const way = value === "middle" ? "center" : value;
  if (element === "table" && way === "center")
    return [
      ["margin-left", "auto"],
      ["margin-right", "auto"],
    ];
  if (element === "img") return ["top", "middle", "bottom"].includes(value) ? one("vertical-align", value) : undefined;
  if (element === "table" || element === "hr") return undefined;
  return ["left", "right", "center", "justify"].includes(way) ? one("text-align", way) : undefined;
}

/** `border` without a number means 1. */
function border(value: string): Pairs | undefined {
  const width = value.trim() === "" ? "1px" : pixels(value);
  if (width === null) return undefined;
  return width === "0px" ? [["", ""]] : [["border", `${width} solid gray`]];
}

const borderWidth = (attributes: readonly Attribute[]): string | null => {
  const found = attributes.find(({ name }) => name === "border");
  return found === undefined ? null : found.value.trim() === "" ? "1px" : pixels(found.value);
};

const textOf = (attributes: readonly Attribute[], wanted: string): string =>
  attributes.find(({ name }) => name === wanted)?.value ?? "";
