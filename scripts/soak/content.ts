import { letterOf } from "#src/channels/letter.ts";
import { pageHtml } from "#src/html/letter/pageHtml.ts";
import { reduceHtml } from "#src/html/reduce/reduceHtml.ts";
import { visible } from "#src/html/visible.ts";
import { composeBodies } from "#src/mail/out/bodies.ts";
import { browserPath, startBrowser } from "#test/support/browser.ts";
import { draftContent } from "#test/support/draftContent.ts";
import { generatedBody, logo, realBodies } from "./contentBodies.ts";
import { plainReaders, type ReaderTexts, readInBrowser } from "./contentReaders.ts";
import { allOf, type Proof, type Report } from "./proof.ts";

const batchSize = 100;
const pictures = new Map([
  ["cid:logo@x", logo],
  [`cid:${logo}`, logo],
]);

/** A body, the HTML part of the mail made from it, and everything that the approval page shows of it, without blanks. */
type ProofMail = { name: string; html: string; page: string };

export const content: Proof = {
  name: "content",
  title: "whatever a mail program shows of a reduced body is on the approval page",
  unit: "bodies",
  full: 20_000,
  checked: 400,
  sample: 30,
  async run({ size, seed, report }) {
    const real = size > 1_000 ? await realBodies() : [];
    const all = [
      ...Array.from({ length: size }, (_, n) => () => ({ name: `body ${n}`, html: generatedBody(seed + n) })),
      ...real.map((body) => () => body),
    ];
    const browser = browserPath === undefined ? undefined : await startBrowser();
    if (!browser) report.figure("NOTE", "no Chromium is installed here: nothing was read in a browser");
    const counts = { reduced: 0, refused: 0, again: 0, agreed: 0, texts: 0 };
    try {
      for (let from = 0; from < all.length; from += batchSize) {
        const bodies = all.slice(from, from + batchSize).map((body) => body());
        const mails = bodies.map((body) => mailOf(body, counts)).filter((mail) => mail !== undefined);
        const seen = browser
          ? await readInBrowser(
              browser,
              mails.map(({ html }) => html),
            )
          : [];
        mails.forEach((mail, n) => {
          const { styled = [], bare = [], hidden = [], faint = [] } = seen[n] ?? {};
          const shown: ReaderTexts[] = [
            { reader: "Chromium", texts: styled },
            { reader: "Chromium without styles", texts: bare },
          ];
          const read = [...shown, ...plainReaders(mail.html)];
          counts.texts += read.flatMap(({ texts }) => texts).length;
          if (judge(mail, read, report)) counts.agreed += 1;
          for (const text of hidden) report.violation(`${mail.name}: styles hide ${text.slice(0, 80)}`);
          for (const text of faint) report.violation(`${mail.name}: too faint or small: ${text.slice(0, 80)}`);
        });
        report.progress(from, all.length);
      }
    } finally {
      await browser?.close();
    }
    report.figure("bodies of real mail", real.length);
    report.figure("refused (too deep, too large)", counts.refused);
    report.figure("texts read", counts.texts);
    allOf(report, "unchanged by a second reduction", { good: counts.again, of: counts.reduced });
    allOf(report, "shown in full on the page", { good: counts.agreed, of: counts.reduced });
  },
};

function mailOf({ name, html }: { name: string; html: string }, counts: Record<string, number>): ProofMail | undefined {
  const reduced = reduceHtml(html, pictures);
  if ("refused" in reduced) {
    counts.refused = (counts.refused ?? 0) + 1;
    return undefined;
  }
  counts.reduced = (counts.reduced ?? 0) + 1;
  const again = reduceHtml(reduced.html, pictures);
  if ("html" in again && again.html === reduced.html && again.removed.length === 0)
    counts.again = (counts.again ?? 0) + 1;
  const draft = draftContent({ body_html: reduced.html });
  const letter = letterOf(draft, { textDerived: true });
  if (letter.html === null) throw new Error(`${name}: the page does not show it`);
  const { pieces, asText } = letter.html;
  const shown = pageHtml(pieces);
  const images = /<span class="image"[^>]*>\[image(?:: )?([^<]*)\]<\/span>/g;
  const alternatives = [...shown.matchAll(images)].map(([, text]) => text).join("\n");
  const frame = `${shown.replace(images, "").replace(/<[^>]*>/g, "")}\n${alternatives}`;
  return { name, html: composeBodies(draft).html ?? "", page: bare(`${unescaped(frame)}\n${asText}`) };
}

/** True if each text is on the page. Blanks are ignored, since readers differ in them. */
function judge(mail: ProofMail, shown: ReaderTexts[], report: Report): boolean {
  const missing = shown.flatMap(({ reader, texts }) => {
    return texts
      .filter((text) => !mail.page.includes(bare(visible(text))))
      .map((text) => `${reader} shows ${text.slice(0, 80)}`);
  });
  for (const text of missing) report.violation(`${mail.name}: ${text}`);
  return missing.length === 0;
}

/** Removes blanks, and the counts of marks, which a blank may have split. */
const bare = (text: string): string =>
  text
    .replace(/\[(U\+[0-9A-F]+) ×(\d+)\]/g, (_, name, count) => `[${name}]`.repeat(Number(count)))
    .replace(/[\s\u00a0]+/g, "");

const unescaped = (text: string): string =>
  text.replace(
    /&(lt|gt|quot|#39|amp);/g,
    (_, name: string) => ({ lt: "<", gt: ">", quot: '"', "#39": "'", amp: "&" })[name] ?? "",
  );
