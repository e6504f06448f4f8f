import { colourOf, contrast, luminance } from "#src/html/reduce/colours.ts";
import { type Declaration, readDeclarations } from "#src/html/reduce/declarations.ts";
import { readTokens } from "#src/html/reduce/tokens.ts";

/** What HTML says to a reader of its source, and what of that is seen. */
export type HtmlText = {
  /** Each run of text that is there and not shown; `early`: nothing had been shown before it. */
  hidden: { text: string; early: boolean }[];
  shown: string;
  /** What is in places that nobody shows in any case: comments, the title. */
  aside: string[];
};

/** How text looks within an element. `ground`, `color`: brightness from 0 to 1; null where that is not known. */
type Look = {
  name: string;
  gone: boolean;
  invisible: boolean;
  tiny: boolean;
  color: number | null;
  ground: number | null;
};

const page: Look = { name: "", gone: false, invisible: false, tiny: false, color: 0, ground: 1 };

/** As much of the HTML as is looked at, in UTF-16 units, and how far out an end tag looks for its element: time stays small. */
const lookedAt = 128 * 1024;
const reach = 200;

/** Tells what HTML shows from what it hides by attributes and styles of its elements. Style sheets are not read. */
export function textsOfHtml(html: string): HtmlText {
  const found: HtmlText = { hidden: [], shown: "", aside: [] };
  const shown: string[] = [];
  const open: Look[] = [page];
  let hidden = "";
  let hasShown = false;
  const endRun = (): void => {
    if (hidden.trim()) found.hidden.push({ text: hidden, early: !hasShown });
    hidden = "";
  };
  readTokens(html.slice(0, lookedAt), {
    open({ name, attributes }) {
      if (breaks.has(name)) (isHidden(open.at(-1)!) ? [] : shown).push("\n");
      if (empty.has(name)) return;
      endImplied(open, name);
      if (attributes.length === 0 && !ofItsOwn.has(name)) return void open.push({ ...open.at(-1)!, name });
      const given = new Map(attributes.map((attribute) => [attribute.name, attribute.value]));
      open.push(lookOf({ name, given }, open.at(-1)!));
    },
    close(name) {
      const at = open.slice(-reach).findLastIndex((look) => look.name === name);
      if (at >= 0) open.length = Math.max(1, Math.max(0, open.length - reach) + at);
      if (breaks.has(name)) shown.push("\n");
    },
    text(_source, text) {
      const look = open.at(-1)!;
      if (unread.has(look.name)) return;
      if (look.name === "title") found.aside.push(text);
      else if (isHidden(look)) hidden += text;
      else {
        if (text.trim()) endRun();
        if (/[\p{L}\p{N}]/u.test(text)) hasShown = true;
        shown.push(text);
      }
    },
    comment: (text) => void found.aside.push(text),
    doctype() {},
  });
  endRun();
  return { ...found, shown: shown.join("") };
}

const isHidden = ({ gone, invisible, tiny, color, ground }: Look): boolean =>
  gone || invisible || tiny || (color !== null && ground !== null && contrast(color, ground) < 1.15);

const empty = new Set("area base br col embed hr img input link meta param source track wbr".split(" "));
/** Elements that look another way without any attribute. */
const ofItsOwn = new Set(["a", "template", "noscript"]);
const unread = new Set(["style", "script"]);
const breaks = new Set("p div br tr li h1 h2 h3 h4 h5 h6 table ul ol blockquote pre hr td th".split(" "));
const cells = new Set(["td", "th"]);

/** What browsers end without an end tag, where it would go on hiding what comes next. */
function endImplied(open: Look[], name: string): void {
  const top = open.at(-1)!.name;
  const ends =
    (top === "p" && breaks.has(name) && name !== "br") ||
    (top === "li" && name === "li") ||
    (cells.has(top) && (cells.has(name) || name === "tr")) ||
    (top === "tr" && name === "tr");
  if (!ends) return;
  open.pop();
  endImplied(open, name);
}

function lookOf({ name, given }: { name: string; given: ReadonlyMap<string, string> }, around: Look): Look {
  const look: Look = { ...around, name };
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
