import { contrast, luminance } from "#src/html/reduce/colours.ts";
import { type Declaration, readDeclarations } from "#src/html/reduce/declarations.ts";
import { seenColour } from "./seenColour.ts";
import { cssComment } from "./styleSheet.ts";

/** Rendering of the text within an element. `ground`, `color`: brightness from 0 to 1; null if unknown. */
export type MailLook = {
  gone: boolean;
  invisible: boolean;
  tiny: boolean;
  color: number | null;
  ground: number | null;
};

/** Rendering of text on a page without styles. */
export const plainLook: MailLook = { gone: false, invisible: false, tiny: false, color: 0, ground: 1 };

/** True if a reader does not see text rendered like this. */
export const isHidden = ({ gone, invisible, tiny, color, ground }: MailLook): boolean =>
  gone || invisible || tiny || (color !== null && ground !== null && contrast(color, ground) < 1.15);

type StyledElement = { name: string; given: ReadonlyMap<string, string> };

/** Computes the look of text within an element with these attributes. `ofSheet`: declarations of a style sheet for it. */
export function lookOf({ name, given }: StyledElement, around: MailLook, ofSheet = ""): MailLook {
  const look: MailLook = { ...around };
  if (given.has("hidden") || name === "template" || name === "noscript") look.gone = true;
  paint(look, "ground", given.get("bgcolor"));
  if (given.has("background")) look.ground = null;
  paint(look, "color", given.get(name === "body" ? "text" : "color"));
  if (name === "a" && around.color === 0) look.color = null;
  const declared = readDeclarations(plainCss(`${ofSheet};${given.get("style") ?? ""}`));
  for (const declaration of declared) apply(look, declaration);
  if (isFolded(declared)) look.gone = true;
  return look;
}

/** Removes comments and escapes from CSS. */
const plainCss = (css: string): string =>
  css
    .replace(cssComment, "")
    .replace(/\\([\da-f]{1,6})\s?/gi, (_, code: string) =>
      String.fromCodePoint(Math.min(0x10ffff, Number.parseInt(code, 16))),
    );

function paint(look: MailLook, what: "color" | "ground", value: string | undefined): void {
  if (value === undefined) return;
  const colour = seenColour(value.trim());
  look[what] = colour && colour !== "clear" ? luminance(colour) : null;
}

function apply(look: MailLook, { property, value }: Declaration): void {
  const said = value.toLowerCase();
  const hides = hiding.get(property);
  if (hides) look.gone ||= hides.test(said);
  else if (property === "visibility") look.invisible = said === "hidden" || said === "collapse";
  else if (property === "font-size") look.tiny = tinyAfter(said, look.tiny);
  else if (property === "font") look.tiny = tinyAfter(sizeInFont.exec(said)?.[1] ?? "", look.tiny);
  else if (property === "color") {
    if (seenColour(said) === "clear") look.invisible = true;
    else if (said !== "inherit") paint(look, "color", said);
  } else if (property === "background-color" || property === "background") ground(look, said);
  else if (property === "background-image" && said !== "none") look.ground = null;
}

const farAway = /^-\d{3,}/;
/** Property values that make an element invisible. */
const hiding: ReadonlyMap<string, RegExp> = new Map(
  Object.entries({
    display: /^none$/,
    opacity: /^(?:0*(?:\.0\d*)?|0*\.0[0-5]\d*|[0-5](?:\.\d+)?%)$/,
    "content-visibility": /^hidden$/,
    filter: /opacity\(\s*0*(?:\.0*)?%?\s*\)/,
    transform: /scale[xy]?\(\s*0*(?:\.0*)?\s*[,)]|translate[xy]?\([^)]{0,40}-\d{3,}/,
    clip: /^rect\((?:\s*[01](?:px)?\s*,?){4}\)/,
    "clip-path": /inset\(\s*(?:[5-9]\d|100)%|circle\(\s*0/,
    ...Object.fromEntries(
      ["left", "top", "right", "text-indent", "margin-left", "margin-top"].map((property) => [property, farAway]),
    ),
  }),
);

const sizeInFont = /(?:^|\s)([\d.]+(?:px|pt|em|rem|%)?)(?=[/\s])/;

/** True if text of this size is tiny. More than 2 pixels are visible; a relative size changes nothing unless it is a tenth or less. */
function tinyAfter(size: string, before: boolean): boolean {
  const [, number = "", unit = ""] = /^([\d.]+)(px|pt|em|rem|%|)/.exec(size) ?? [];
  if (number === "") return before && !/small|medium|large/.test(size);
  if (unit === "px" || unit === "pt" || unit === "") return Number(number) <= 2;
  return Number(number) <= (unit === "%" ? 10 : 0.1) || (before && unit !== "rem");
}

function ground(look: MailLook, said: string): void {
  if (/^(?:none|transparent|inherit|initial|unset|0)$/.test(said)) return;
  const colours = [said, ...said.split(/\s+/)].map(seenColour);
  const colour = colours.find((one) => one !== undefined);
  if (colour === "clear") return;
  look.ground = colour && !said.includes("url(") ? luminance(colour) : null;
}

/** True for a box with nearly no height or width that clips its content. */
function isFolded(declared: readonly Declaration[]): boolean {
  const is = (property: RegExp, value: RegExp) =>
    declared.some((one) => property.test(one.property) && value.test(one.value.toLowerCase()));
  return (
    is(/^overflow(?:-[xy])?$/, /hidden|clip/) &&
    is(/^(?:max-)?(?:height|width)$/, /^(?:0*(?:\.\d+)?(?:px|pt|em|%)?|[12]px)$/)
  );
}
