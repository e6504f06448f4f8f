import { expect } from "chai";
import { compareReadings } from "#src/html/compare/compareReadings.ts";
import { htmlOfText } from "#src/html/htmlOfText.ts";
import { htmlOfWritten } from "#src/html/htmlOfWritten.ts";
import { textOfBody } from "#src/html/letter/plainText.ts";
import { reduceHtml } from "#src/html/reduce/reduceHtml.ts";
import { isWithinSubset } from "#src/html/reduce/withinSubset.ts";
import { bytesOfDataUrl, picturesIn } from "#src/mail/out/pictures.ts";
import { inFull } from "#test/support/full.ts";
import { processorMs } from "#test/support/processorTime.ts";

/** Characters: a pattern that starts again at each of them takes minutes, in which nothing else of the service runs. */
const size = inFull ? 250_000 : 100_000;
/** Milliseconds that code with quadratic time exceeds, for either size. */
const mostMs = inFull ? 20_000 : 3_000;
/** Characters of input whose pieces are slow: already too long for code that compares each piece with all others. */
const slowSize = inFull ? size : 62_500;

const blanks = " ".repeat(size);
const filled = (piece: string, length = size): string => piece.repeat(Math.floor(length / piece.length));
const numbered = (piece: (n: number) => string): string =>
  Array.from({ length: Math.floor(slowSize / piece(10_000).length) }, (_, n) => piece(10_000 + n)).join("");

const bodies: [name: string, html: string][] = [
  ["blanks before what is not !important", `<p style="color:red${blanks}x">a</p>`],
  ["marks of importance", `<p style="color:red${filled("! ")}">a</p>`],
  ["blanks within a margin", `<p style="margin:0${blanks}0">a</p>`],
  ["blanks within a border", `<p style="border:1px${blanks}x">a</p>`],
  ["line breaks within a border", `<p style="border:1px solid${"\n".repeat(size)} x">a</p>`],
  ["blanks within a colour", `<p style="color:rgb(1${blanks}">a</p>`],
  ["blanks within a font", `<font face="a${blanks}!">a</font>`],
  ["fonts", `<p style="${filled(`font-family:a${" ".repeat(480)}!;`)}">a</p>`],
  ["digits of a width", `<p style="width:${filled("9")}px">a</p>`],
  ["blanks within a target", `<a href="https://x${blanks}x">a</a>`],
  ["references in a target", `<a href="https://x.example/${filled("&a")}">a</a>`],
  ["blanks within an attribute", `<td width="1${blanks}x" border="1${blanks}x">a`],
  ["blanks within a picture's source", `<img src="data:image/png;base64,${blanks}!">`],
  ["links within links", `${'<a href="https://x.example">'.repeat(90)}${filled("a")}`],
  ["numbers to call", numbered((n) => `<a href="tel:${n}">x</a>`)],
  ["marks on one letter", `<p>a${filled("\u0301\u0323")}</p>`],
  ["quotes in attributes", `<img src=x ${filled("alt='\"' ")}>`],
  ["pictures", filled('<img src=x alt="a b">')],
  ["lists", filled("<ol start=3><li>a</ol>", slowSize)],
  ["a long reference", `&#${filled("0")}65;`],
];

const texts: [name: string, text: string][] = [
  ["blanks", `a${blanks}b`],
  ["line breaks", `a${filled("\n \t")}b`],
  ["closing brackets", `https://a${filled(")")}`],
  ["brackets", `https://a${filled(")(]")}`],
  ["numbers", filled("1 ")],
  ["words", filled("c d ")],
  ["addresses", filled("a.b@c.")],
  ["hosts", filled("a.b-")],
  ["marks of emphasis", filled("*`_")],
  ["marks of quotes", filled("> ")],
  ["brackets of raised text in each other", filled("^(a")],
  ["marks of struck and underlined text", filled("~~a {+b")],
  ["backslashes before signs", filled("\\\\~~")],
  ["marks on one letter", `a${filled("\u0323\u0301")}`],
  ["a letter that stands for many", filled("\ufdfa", slowSize)],
  ["invisible characters", filled("\u200b\u200c", slowSize)],
];

describe("hostile input of great length", () => {
  const quick = (name: string, run: () => void): void => {
    expect(processorMs(run), name).to.be.lessThan(mostMs);
  };
  const calls = numbered((n) => `<a href="tel:${n}">x</a>`);

  for (const [name, html] of bodies)
    it(`${name}: a long HTML body with these is checked, reduced, read as text and compared in bounded time`, () => {
      quick("strict check", () => isWithinSubset(html));
      let reduced: ReturnType<typeof reduceHtml> | undefined;
      quick("reduce", () => {
        reduced = reduceHtml(html, new Map());
      });
      if (!reduced || "refused" in reduced) throw new Error(reduced?.refused);
      const kept = reduced.html;
      quick("text", () => textOfBody(kept));
      quick("compare", () => compareReadings(kept, "Hello"));
    });

  for (const [name, text] of texts)
    it(`${name}: a long text with these is compared and made into HTML in bounded time`, () => {
      quick("compare", () => compareReadings("<p>a b a b</p>", text));
      quick("compare with calls", () => compareReadings(calls, text));
      quick("HTML", () => htmlOfText(text));
      quick("HTML of what a person wrote", () => htmlOfWritten(text));
    });

  it("a data URL with many blanks is refused in bounded time, and only base64 data of a picture is read", () => {
    quick("blanks", () => expect(bytesOfDataUrl(`data:image/png;base64,AA${blanks}!`)).to.equal(null));
    expect(bytesOfDataUrl("data:image/png;base64,AA\n AA==\n")?.length).to.equal(3);
    expect(bytesOfDataUrl("DATA:;BASE64,AAAA")?.length).to.equal(3);
    for (const src of ["data:image/png,AAAA", "data:;base64,", "data:;base64,A,A", "x:;base64,AAAA", "AAAA"])
      expect(bytesOfDataUrl(src), src).to.equal(null);
  });

  it("pictures are found wherever their src attribute is, in bounded time", () => {
    const sha256 = "a1".repeat(32);
    const forms = [`<img alt="a > b" src="cid:${sha256}">`, `<img\nsrc="cid:${sha256}" alt=">">`];
    for (const html of forms) {
      expect(reduceHtml(html, new Map([[`cid:${sha256}`, sha256]]))).to.deep.include({ html, pictures: [sha256] });
      expect(picturesIn(html), html).to.deep.equal([sha256]);
    }
    quick("pictures", () => picturesIn(`<img alt="${filled("> <img ")}" ${filled('src="" ')}`));
  });

  it("a style declaration of 1,100 characters is removed, and the others of its style are kept", () => {
    const long = `<p style="color:red${" ".repeat(1100)};margin:0">a</p>`;
    expect(isWithinSubset(long)).to.equal(false);
    expect(reduceHtml(long, new Map())).to.deep.include({ html: '<p style="margin:0">a</p>' });
  });
});
