import { letterOf } from "#src/channels/letter.ts";
import { pageHtml } from "#src/html/letter/pageHtml.ts";
import { plainText, textOfBody } from "#src/html/letter/plainText.ts";
import { readLetter } from "#src/html/letter/readLetter.ts";
import { reduceHtml } from "#src/html/reduce/reduceHtml.ts";
import { frameStyle } from "#src/html/style.ts";
import { visible } from "#src/html/visible.ts";
import { browserPath, startBrowser } from "#test/support/browser.ts";
import { draftContent } from "#test/support/draftContent.ts";
import { logo, realBodies } from "./contentBodies.ts";
import { generatedLetter } from "./letterBodies.ts";
import { type LetterReading, readLetters, readSigns, type SeenPiece } from "./letterReaders.ts";
import { allOf, type Proof, type Report } from "./proof.ts";

const batchSize = 50;
const pictures = new Map([[`cid:${logo}`, logo]]);

/** A body as it is stored. `isGenerated`: its own words contain nothing that reads as a sign. */
type StoredLetter = { name: string; html: string; isGenerated: boolean };

export const letters: Proof = {
  name: "letters",
  title: "words, marks, order and list markers of a letter are in Chromium what page, mail, chats and text part show",
  unit: "letters",
  full: 5_000,
  checked: 1_000,
  sample: 200,
  async run({ size, seed, report }) {
    const real = await realBodies(["mime"]);
    const generated = Array.from({ length: size }, (_, n) => ({
      name: `letter ${n}`,
      html: generatedLetter(seed + n),
    }));
    const stored = [
      ...generated.flatMap((body) => storedOf(body, true)),
      ...real.flatMap((body) => storedOf(body, false)),
    ];
    const browser = browserPath === undefined ? undefined : await startBrowser();
    if (!browser) {
      const note = "no Chromium is installed here: letters were not read in a browser";
      report.figure("NOTE", note);
      console.log(`      ${note}`);
    }
    let good = 0;
    try {
      for (let from = 0; from < stored.length; from += batchSize) {
        const batch = stored.slice(from, from + batchSize);
        const bodies = batch.map(({ html }) => html);
        const read = browser && {
          mails: await readLetters(browser, bodies),
          bare: await readLetters(browser, bodies.map(withoutStyles)),
          pages: await readLetters(
            browser,
            bodies.map((html) => pageHtml(readLetter(html))),
            frameStyle,
          ),
        };
        batch.forEach((letter, n) => {
          const found = [
            ...judgeTexts(letter, read?.mails[n]),
            ...(read ? judgeBrowser(read.mails[n]!, { bare: read.bare[n]!, page: read.pages[n]! }) : []),
          ];
          for (const what of found) report.violation(`${letter.name}: ${what}`);
          if (found.length === 0) good += 1;
        });
        report.progress(from, stored.length);
      }
    } finally {
      await browser?.close();
    }
    report.figure("bodies of real mail", stored.filter(({ isGenerated }) => !isGenerated).length);
    reportMarks(stored, report);
    allOf(report, "shown alike", { good, of: stored.length });
  },
};

function storedOf({ name, html }: { name: string; html: string }, isGenerated: boolean): StoredLetter[] {
  const reduced = reduceHtml(html, pictures);
  return "refused" in reduced || !reduced.readable ? [] : [{ name, html: reduced.html, isGenerated }];
}

const withoutStyles = (html: string): string => html.replace(/\s+style="[^"]*"/g, "");

/** Compares the mail in the browser with itself without styles, and with the page. */
function judgeBrowser(mail: LetterReading, { bare, page }: { bare: LetterReading; page: LetterReading }): string[] {
  const shown = asSeen(mail.seen, { direction: true });
  return [
    ...differing("without its styles", shown, asSeen(bare.seen, { direction: true })),
    ...differing("on the page", shown, asSeen(page.seen, { direction: true })),
    ...mail.overlaid,
  ];
}

/** Compares the texts with the mail in a browser; without one, with each other. */
function judgeTexts({ html, isGenerated }: StoredLetter, mail: LetterReading | undefined): string[] {
  const card = letterOf(draftContent({ body_html: html }), { textDerived: true }).html?.asText ?? "";
  if (!isGenerated) {
    if (!mail) return [];
    const words = plainText(readLetter(html), { show: visible, link: () => ({}), picture: alternative });
    return differing("as text", lettersOf(asSeen(mail.seen)), lettersOf(asSeen(readSigns(words))));
  }
  const signs = asSeen(readSigns(textOfBody(html)));
  return [
    ...differing("on the card of mail and chats", signs, asSeen(readSigns(card))),
    ...(mail ? differing("in the text part", asSeen(mail.seen), signs) : []),
  ];
}

const alternative = ({ attributes }: { attributes: ReadonlyMap<string, string> }): string =>
  ` ${visible(attributes.get("alt") ?? "")} `;

/** Formats what is seen as one line: letters and digits, preceded by their marks, and each marker between lines. */
function asSeen(seen: readonly SeenPiece[], { direction = false } = {}): string {
  let before = "";
  let line = "";
  for (const one of seen) {
    if ("marker" in one) {
      line += `\n${one.marker}\n`;
      before = "";
      continue;
    }
    const text = visible(one.text).replace(/[^\p{L}\p{N}]/gu, "");
    const marks = `<${one.marks}${direction && one.rtl ? " rtl" : ""}>`;
    if (text === "") continue;
    line += (marks === before ? "" : marks) + text;
    before = marks;
  }
  return line;
}

/** Removes marks: the words of real mail may contain what reads as a sign. */
const lettersOf = (seen: string): string => seen.replace(/<[^>]*>/g, "").replace(/[^\p{L}\p{N}]/gu, "");

function differing(where: string, shown: string, other: string): string[] {
  if (shown === other) return [];
  let at = 0;
  while (shown[at] === other[at]) at++;
  const near = (text: string): string => JSON.stringify(text.slice(Math.max(0, at - 30), at + 30));
  return [`${where}: ${near(other)} in place of ${near(shown)}`];
}

/** Reports the number of marks, so that readers of the figures see that marks were tried. */
function reportMarks(stored: readonly StoredLetter[], report: Report): void {
  const all = stored.filter(({ isGenerated }) => isGenerated).map(({ html }) => html);
  for (const name of ["s", "u", "sup", "sub", "q", "li"]) {
    const count = all.reduce((sum, html) => sum + html.split(new RegExp(`<${name}[ >]`)).length - 1, 0);
    report.figure(`elements ${name}`, count);
    if (all.length >= 100 && count === 0) report.violation(`no letter has ${name}: nothing was tried`);
  }
}
