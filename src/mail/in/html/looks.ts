import { colourOf, contrast, luminance } from "#src/html/reduce/colours.ts";
import { type Declaration, readDeclarations } from "#src/html/reduce/declarations.ts";

/** How text looks within an element. `ground`, `color`: brightness from 0 to 1; null where that is not known. */
export type Look = {
  gone: boolean;
  invisible: boolean;
  tiny: boolean;
  color: number | null;
  ground: number | null;
};

/** Of a page before anything is said. */
export const plainLook: Look = { gone: false, invisible: false, tiny: false, color: 0, ground: 1 };

/** True if a reader does not see text that looks so. */
export const isHidden = ({ gone, invisible, tiny, color, ground }: Look): boolean =>
  gone || invisible || tiny || (color !== null && ground !== null && contrast(color, ground) < 1.15);

/** How text looks within an element with these attributes. Style sheets are not read. */
export function lookOf({ name, given }: { name: string; given: ReadonlyMap<string, string> }, around: Look): Look {
  const look: Look = { ...around };
  if (given.has("hidden") || name === "template" || name === "noscript") look.gone = true;
  paint(look, "ground", given.get("bgcolor"));
  if (given.has("background")) look.ground = null;
  paint(look, "color", given.get(name === "body" ? "text" : "color"));
  if (name === "a" && around.color === 0) look.color = null;
  const declared = readDeclarations(given.get("style") ?? "");
  for (const declaration of declared) apply(look, declaration);
  if (isFolded(declared)) look.gone = true;
  return look;
}

function paint(look: Look, what: "color" | "ground", value: string | undefined): void {
  if (value === undefined) return;
  const colour = colourOf(value.trim());
  look[what] = colour ? luminance(colour) : null;
}

function apply(look: Look, { property, value }: Declaration): void {
  const said = value.toLowerCase();
  if (property === "display") look.gone ||= said === "none";
  else if (property === "visibility") look.invisible = said === "hidden" || said === "collapse";
  else if (property === "opacity") look.gone ||= Number.parseFloat(said) <= 0.05;
  else if (property === "font-size") look.tiny = tinyAfter(said, look.tiny);
  else if (property === "left" || property === "top" || property === "right" || property === "text-indent")
    look.gone ||= /^-\d{3,}/.test(said);
  else if (property === "color") {
    if (said === "transparent") look.invisible = true;
    else if (said !== "inherit") paint(look, "color", said);
  } else if (property === "background-color" || property === "background") ground(look, said);
  else if (property === "background-image" && said !== "none") look.ground = null;
}

/** Above 2 pixels it can be seen; a share of the size around it changes nothing, unless it is nothing. */
function tinyAfter(size: string, before: boolean): boolean {
  const [, number = "", unit = ""] = /^([\d.]+)(px|pt|em|rem|%|)/.exec(size) ?? [];
  if (number === "") return before && !/small|medium|large/.test(size);
  return unit === "px" || unit === "pt" || unit === "" ? Number(number) <= 2 : Number(number) === 0 || before;
}

function ground(look: Look, said: string): void {
  if (/^(?:none|transparent|inherit|initial|unset|0)$/.test(said)) return;
  const colour = said
    .split(/\s+/)
    .map(colourOf)
    .find((one) => one !== undefined);
  look.ground = colour && !said.includes("url(") ? luminance(colour) : null;
}

/** A box without height or width that shows nothing beyond itself. */
function isFolded(declared: readonly Declaration[]): boolean {
  const is = (property: RegExp, value: RegExp) =>
    declared.some((one) => property.test(one.property) && value.test(one.value.toLowerCase()));
  return is(/^overflow$/, /hidden/) && is(/^(?:max-)?(?:height|width)$/, /^0(?:px|pt|em|%)?$/);
}
