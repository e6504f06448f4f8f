import type { ComposedBodies } from "../out/bodies.ts";
import { readMailHtml } from "./html/mailText.ts";
import type { ParsedMail } from "./parsedMail.ts";

/** Lines of a mail beside the text that it carries, without those that a delimiter line parts from it. */
export type BesideLines = { above: string[]; below: string[] };

/** Both forms of a mail that came. */
export type CopyBodies = Pick<ParsedMail, "bodyText" | "bodyHtml">;

/** Line above a footer that programs add: the usual `-- `, or a rule. */
const delimiter = /^(?:--|[-_*=]{4,})$/;

/** HTML that is read, at most, in characters. */
const maxHtml = 1024 * 1024;

/**
 * Compares a mail that came under a Message-ID of ours with the mail that was sent under it: returns what else it says, in either of its
 * forms; null if a form does not contain the whole text that was sent. Line ends, white space and the fonts of a form do not count.
 */
export function linesBesideOurs({ sent, came }: { sent: ComposedBodies; came: CopyBodies }): BesideLines | null {
  const ours = [sent.text, ...(sent.html === null ? [] : [textOf(sent.html)])];
  const forms = [came.bodyText, came.bodyHtml === null ? null : textOf(came.bodyHtml)].filter((form) => form !== null);
  if (forms.length === 0) return null;
  const known = new Set(ours.flatMap((text) => text.split("\n").map(squeezed)));
  const found: BesideLines = { above: [], below: [] };
  for (const form of forms) {
    const place = ours.map((text) => beside(form, text)).find((each) => each !== null);
    if (!place) return null;
    const isOther = (line: string): boolean => squeezed(line) !== "" && !known.has(squeezed(line));
    found.above.push(...place.above.filter(isOther));
    const end = place.below.findIndex((line) => delimiter.test(squeezed(line)));
    const [shown, parted] = end < 0 ? [place.below, []] : [place.below.slice(0, end), place.below.slice(end)];
    found.below.push(...shown.filter(isOther));
    // The second form may have the same footer without a rule.
    for (const line of parted) known.add(squeezed(line));
  }
  return { above: [...new Set(found.above)], below: [...new Set(found.below)] };
}

const textOf = (html: string): string =>
  readMailHtml(html.slice(0, maxHtml).replace(/<hr\b[^<>]{0,200}>/gi, "<div>----</div>")).text;

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

/** The characters of a line that are seen. Mail stores write ">From" for "From". */
const squeezed = (line: string): string =>
  line
    .normalize("NFC")
    .replace(/[\s\p{Cf}\u2800]+/gu, "")
    .replace(/^>+(?=From)/, "");
