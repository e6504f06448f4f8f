import type { ComposedBodies } from "../out/bodies.ts";
import { readMailHtml } from "./html/mailText.ts";
import type { ParsedMail } from "./parsedMail.ts";
import { type BesideLines, isRule, squeezed } from "./text/besideLines.ts";
import { linesMissingIn, saysMoreThan } from "./text/words.ts";

/** Both forms of a mail that came. */
export type CopyBodies = Pick<ParsedMail, "bodyText" | "bodyHtml">;

/** HTML that is read, at most, in characters. */
const maxHtml = 1024 * 1024;

/**
 * Compares a mail that came under a Message-ID of ours with the mail that was sent under it: returns what else each of its forms says; null
 * if a form does not contain the whole text that was sent. Line ends, white space and the fonts of a form do not count.
 */
export function linesBesideOurs({ sent, came }: { sent: ComposedBodies; came: CopyBodies }): BesideLines[] | null {
  const { text, html } = sent;
  const htmlText = html === null ? null : readMailHtml(html).text;
  const ofHtml = html === null || htmlText === null ? [] : [ruledTextOf(html), htmlText];
  const isBoth = htmlText !== null && came.bodyHtml !== null;
  const inText = (form: string): Place[] => {
    const place = beside(form, text);
    const ofText = place && isBoth ? withoutHtml(place, { text, htmlText }) : place;
    return [ofText, ...ofHtml.map((ours) => beside(form, ours))];
  };
  const inHtml = (form: string): Place[] => [...ofHtml, text].map((ours) => beside(ruledTextOf(form), ours));
  const forms = [
    ...(came.bodyText === null ? [] : [closest(inText(came.bodyText))]),
    ...(came.bodyHtml === null ? [] : [closest(inHtml(came.bodyHtml))]),
  ];
  const found = forms.filter((place) => place !== undefined);
  return found.length < forms.length || forms.length === 0 ? null : withoutFooters(found);
}

/** Returns the text of HTML, with a rule where the HTML draws one. */
const ruledTextOf = (html: string): string =>
  readMailHtml(html.slice(0, maxHtml).replace(/<hr\b[^<>]{0,200}>/gi, "<div>----</div>")).text;

/** The lines of a form beside one of our texts; null if it does not contain that. */
type Place = BesideLines | null;

/** Returns the place with the fewest other words; undefined if there is none. */
const closest = (places: readonly Place[]): BesideLines | undefined =>
  places.filter((place) => place !== null).sort((a, b) => sizeOf(a) - sizeOf(b))[0];

const sizeOf = ({ above, below }: BesideLines): number => above.join("").length + below.join("").length;

/**
 * Removes what the reader of a mail takes from the HTML and adds below the plain text (bodies.ts): the whole text of the HTML, or the lines
 * that the plain text lacks.
 */
function withoutHtml(
  { above, below }: BesideLines,
  { text, htmlText }: { text: string; htmlText: string },
): BesideLines {
  if (saysMoreThan(htmlText, text)) {
    const rest = beside(below.join("\n"), htmlText);
    return rest ? { above, below: [...rest.above, ...rest.below] } : { above, below };
  }
  const added = new Set(linesMissingIn(text, htmlText).map(squeezed));
  return { above, below: below.filter((line) => !added.has(squeezed(line))) };
}

/** Removes blank lines and footers below a rule. One form may show the footer of the other without its rule. */
function withoutFooters(places: readonly BesideLines[]): BesideLines[] {
  const isSaid = (line: string): boolean => squeezed(line) !== "";
  const parted = places.map(({ below }) => {
    const rule = below.findIndex(isRule);
    return rule < 0 ? [] : below.slice(rule);
  });
  const footers = new Set(parted.flat().map(squeezed));
  return places.map(({ above, below }, index) => ({
    above: above.filter(isSaid),
    below: below
      .slice(0, below.length - parted[index]!.length)
      .filter((line) => isSaid(line) && !footers.has(squeezed(line))),
  }));
}

/** Splits a text into the lines above and below another one that it contains; null if it does not. */
function beside(text: string, contained: string): BesideLines | null {
  const wanted = contained.split("\n").map(squeezed).join("");
  if (wanted === "") return null;
  const lines = text.split("\n");
  const starts: number[] = [];
  let all = "";
  for (const line of lines) {
    starts.push(all.length);
    all += squeezed(line);
  }
  const from = all.indexOf(wanted);
  if (from < 0) return null;
  const to = from + wanted.length;
  const endOf = (index: number): number => starts[index + 1] ?? all.length;
  return {
    above: lines.filter((_, index) => starts[index]! < from),
    below: lines.filter((_, index) => endOf(index) > to),
  };
}
