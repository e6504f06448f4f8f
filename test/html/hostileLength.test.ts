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

/** A pattern that starts again at each character takes minutes for these; nothing else of the service runs meanwhile. */
const size = inFull ? 250_000 : 100_000;
/** Where the time goes with the square of the length, the shorter one takes too long in a sixth of it. */
const mostMs = inFull ? 20_000 : 3_000;
/** For what costs much at each of its pieces: as many of them as already take too long where each looks at all the others. */
const dear = inFull ? size : 62_500;

const blanks = " ".repeat(size);
const filled = (piece: string, length = size): string => piece.repeat(Math.floor(length / piece.length));
const numbered = (piece: (n: number) => string): string =>
  Array.from({ length: Math.floor(dear / piece(10_000).length) }, (_, n) => piece(10_000 + n)).join("");

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
  ["lists", filled("<ol start=3><li>a</ol>", dear)],
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
  ["letters that are many", filled("\ufdfa", dear)],
  ["what is not seen", filled("\u200b\u200c", dear)],
];

describe("long hostile input takes no time to speak of", () => {
  const quick = (name: string, run: () => void): void => {
    expect(processorMs(run), name).to.be.lessThan(mostMs);
  };
  const calls = numbered((n) => `<a href="tel:${n}">x</a>`);

  for (const [name, html] of bodies)
    it(`in a body: ${name}`, () => {
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
    it(`in a text: ${name}`, () => {
      quick("compare", () => compareReadings("<p>a b a b</p>", text));
      quick("compare with calls", () => compareReadings(calls, text));
      quick("HTML", () => htmlOfText(text));
      quick("HTML of what a person wrote", () => htmlOfWritten(text));
    });

  it("in a picture's data", () => {
    quick("blanks", () => expect(bytesOfDataUrl(`data:image/png;base64,AA${blanks}!`)).to.equal(null));
    expect(bytesOfDataUrl("data:image/png;base64,AA\n AA==\n")?.length).to.equal(3);
    expect(bytesOfDataUrl("DATA:;BASE64,AAAA")?.length).to.equal(3);
    for (const src of ["data:image/png,AAAA", "data:;base64,", "data:;base64,A,A", "x:;base64,AAAA", "AAAA"])
      expect(bytesOfDataUrl(src), src).to.equal(null);
  });

  it("in pictures, each found wherever its source stands", () => {
    const sha256 = "a1".repeat(32);
    const forms = [`<img alt="a > b" src="cid:${sha256}">`, `<img\nsrc="cid:${sha256}" alt=">">`];
    for (const html of forms) {
      expect(reduceHtml(html, new Map([[`cid:${sha256}`, sha256]]))).to.deep.include({ html, pictures: [sha256] });
      expect(picturesIn(html), html).to.deep.equal([sha256]);
    }
    quick("pictures", () => picturesIn(`<img alt="${filled("> <img ")}" ${filled('src="" ')}`));
  });

  it("in one declaration, of which a long one goes", () => {
    const long = `<p style="color:red${" ".repeat(1100)};margin:0">a</p>`;
    expect(isWithinSubset(long)).to.equal(false);
    expect(reduceHtml(long, new Map())).to.deep.include({ html: '<p style="margin:0">a</p>' });
  });
});
