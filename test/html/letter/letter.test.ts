import { expect } from "chai";
import fc from "fast-check";
import { compareReadings } from "#src/html/compare/compareReadings.ts";
import { pageHtml } from "#src/html/letter/pageHtml.ts";
import { plainText, textOfBody } from "#src/html/letter/plainText.ts";
import { elementsIn, readLetter } from "#src/html/letter/readLetter.ts";
import { reduceHtml } from "#src/html/reduce/reduceHtml.ts";
import { visible } from "#src/html/visible.ts";
import { inFull } from "#test/support/full.ts";
import { processorMs } from "#test/support/processorTime.ts";
import { anyHtml, logo, pictures, subsetHtml } from "../reduce/generated.ts";

describe("the plain text of a letter", () => {
  const shown: [name: string, html: string, text: string][] = [
    [
      "what is struck through",
      "<p>We will <s>not</s> and <del>never </del>pay</p>",
      "We will ~~not~~ and ~~never~~ pay",
    ],
    ["what is underlined or inserted", "<u>a b</u>, <ins>c</ins>", "{+a b+}, {+c+}"],
    ["raised and lowered words", "10<sup>00</sup> H<sub>2</sub>O x<sup>th</sup>", "10^00 H_2O x^th"],
    [
      "raised and lowered text in brackets",
      "a<sup>b c</sup> 1<sup>2</sup>3 <sub>4</sub> x<sup>(y)</sup>",
      "a^(b c) 1^(2)3 _(4) x^((y\\))",
    ],
    ["marks in each other", "<s>a<sup>1<u>2</u></sup></s>x<sup>y<sup>2</sup></sup>", "~~a^(1){+^2+}~~x^(y^2)"],
    ["marks once, be they set twice", "<s><del>a</del></s><u><ins>b</ins></u>", "~~a~~{+b+}"],
    ["marks line by line", "<s><p>a<br>b</p><ul><li>c</li></ul></s>", "~~a~~\n~~b~~\n\n * ~~c~~"],
    ["signs that are no marks", "~~not~~ ~5 {+a+} <b>~</b>~ ~~~", "\\~~not\\~~ ~5 \\{+a\\+} \\~~ ~~~"],
    ["signs beside marks", "a~<s>~b</s>\\<s>c</s> <s> ~d\\ </s>", "a\\~~~\\~b~~\\\\~~c~~ ~~\\~d\\\\~~"],
    [
      "numbers from their start, and in each other",
      '<ol start="-1"><li>a<ol><li>b</li></ol></li><li></li><li>c</li></ol>',
      "-1. a\n      1. b\n 0.\n 1. c",
    ],
    ["a list that begins an item", "<ol><li><ul><li>a</li></ul></li></ol>", "1.  * a"],
    ["paragraphs of an item", "<ol><li><p>a</p><p>b</p></li><li><p>c</p></li></ol>", "1. a\n\n    b\n\n 2. c"],
    [
      "quotations behind their sign",
      "<blockquote><p>a</p><blockquote>b</blockquote></blockquote>c",
      "> a\n>\n> > b\n\nc",
    ],
    ["signs of quotation", "<q>a <q>b</q></q>", "“a ‘b’”"],
    [
      "rows and cells",
      "<table><tr><td><p>a</p></td><td></td><td>b</td></tr><tr><th>c</th></tr></table>",
      "a |  | b\nc",
    ],
    [
      "links and their targets",
      'See <a href="https://x.example">here</a>, <a href="mailto:a@x.example">a@x.example</a>',
      "See here [https://x.example], a@x.example",
    ],
    ["pictures", `<img src="cid:${logo}" alt="Logo"><img src="cid:${logo}">`, "[image: Logo][image]"],
    ["blanks as browsers do", "a  <b> b</b>\n<i></i> c&nbsp; d <p> e </p>", "a b c\u00a0 d\n\ne"],
    ["preformatted text as it is", "<pre>\n  a\n\n b</pre>c", "a\n\n b\n\nc"],
    ["empty lines", "<div>a</div><div><br></div><div>b<br><br>c</div>", "a\n\nb\n\nc"],
    [
      "terms, headings and rules",
      "<h1>a</h1><dl><dt>b</dt><dd>c</dd></dl><hr>d",
      `a\n\nb\nc\n\n${"-".repeat(40)}\n\nd`,
    ],
  ];
  for (const [name, html, text] of shown)
    it(`textOfBody shows ${name}`, () => {
      expect(textOfBody(html)).to.equal(text);
      expect(compareReadings(html, text)).to.equal(null);
    });

  it("textOfBody cuts nothing from a long body", () => {
    const deep = `${"<div>".repeat(100)}deep${"</div>".repeat(100)}`;
    const long = `${"<p>word</p>".repeat(40_000)}${deep}`;
    expect(textOfBody(long))
      .to.match(/deep$/)
      .and.to.have.length(40_000 * 6 + 4);
  });
});

describe("the page's HTML of a letter", () => {
  const page = (html: string): string => pageHtml(readLetter(html));

  it("pageHtml keeps elements, directions, list numbers and spans, and removes styles", () => {
    expect(
      page(
        '<p dir="rtl" lang="he" style="color:red">a <s>b</s></p><ol start="3"><li>c</li></ol><table><tr><td colspan="2">d</td></tr></table><pre>\n\ne</pre><hr>',
      ),
    ).to.equal(
      '<p dir="rtl" lang="he">a <s>b</s></p><ol start="3"><li>c</li></ol><table><tr><td colspan="2">d</td></tr></table><pre>\n\ne</pre><hr>',
    );
  });

  it("pageHtml writes out a link's target and a picture's text, without a link or an image that loads", () => {
    expect(page(`<a href="https://x.example/?a&amp;b">to</a> <img src="cid:${logo}" alt="a > b">`)).to.equal(
      '<span class="link" data-href="https://x.example/?a&amp;b">to</span> <span class="image">[image: a &gt; b]</span>',
    );
  });

  it("pageHtml shows the pictures that the mail carries, on a light and on a dark ground", () => {
    const shown = pageHtml(readLetter(`<img src="cid:${logo}" alt="Logo">`), { pictures: new Map([[logo, "data:x"]]) });
    expect(shown).to.equal(
      '<span class="image">[image: Logo]</span><br><img class="light" src="data:x" alt=""> <img class="dark" src="data:x" alt="">',
    );
  });

  it("pageHtml folds only the given quotation, and shows invisible characters as codes", () => {
    const letter = readLetter("<blockquote>a&#x202e;</blockquote><blockquote>b</blockquote>");
    const [folded] = elementsIn(letter, "blockquote");
    expect(pageHtml(letter, { folded })).to.equal(
      "<details><summary>Show the quoted text</summary><blockquote>a[U+202E]</blockquote></details><blockquote>b</blockquote>",
    );
  });

  it("pageHtml makes only elements and attributes that it knows, for any HTML", () => {
    fc.assert(
      fc.property(anyHtml, (html) => {
        const rest = page(html).replace(
          /<\/?[a-z][a-z0-9]*(?: (?:dir|lang|start|colspan|rowspan|class|data-href)="[^"<>]*")*>/g,
          "",
        );
        expect(rest).not.to.match(/[<>]/);
        expect(page(html)).not.to.match(/<(?:script|style|iframe|svg|input|form|textarea|a|img)\b/);
      }),
      { numRuns: inFull ? 500 : 80 },
    );
  });
});

describe("the readings of one letter", () => {
  const reduced = (html: string): string | undefined => {
    const result = reduceHtml(html, pictures);
    return "refused" in result ? undefined : result.html;
  };
  /** Returns the letters and digits in their order, without list numbers. */
  const letters = (text: string): string =>
    text.replace(/^(?:[> ]|(?:-?\d+\.|\*)(?: |$))*/gm, "").replace(/[^\p{L}\p{N}]/gu, "");

  it("the page and the plain text of one letter have the same letters and digits in the same order", () => {
    fc.assert(
      fc.property(fc.oneof(subsetHtml, anyHtml), (given) => {
        const html = reduced(given);
        if (html === undefined) return;
        const letter = readLetter(html);
        const text = plainText(letter, { show: visible, link: () => ({}) });
        const shown = pageHtml(letter).replace(
          /<(?:br|hr|\/?(?:p|div|li|h\d|td|th|tr|dt|dd|blockquote|pre|ul|ol|table)\b)[^>]*>/g,
          "\n",
        );
        const words = shown.replace(/<[^>]*>/g, "").replace(/&(lt|gt|amp|quot|#39);/g, " ");
        expect(letters(text)).to.equal(letters(words));
      }),
      { numRuns: inFull ? 600 : 100 },
    );
  });

  it("removing all styles from reduced HTML changes neither its page nor its text", () => {
    fc.assert(
      fc.property(anyHtml, (given) => {
        const html = reduced(given);
        if (html === undefined) return;
        const bare = html.replace(/<[a-z](?:"[^"]*"|[^">])*>/g, (tag) => tag.replace(/\s+style="[^"]*"/g, ""));
        expect(pageHtml(readLetter(bare))).to.equal(pageHtml(readLetter(html)));
        expect(textOfBody(bare)).to.equal(textOfBody(html));
      }),
      { numRuns: inFull ? 600 : 100 },
    );
  });

  it("a letter is reduced, read and compared in time proportional to its length, for hostile HTML too", () => {
    const size = (inFull ? 256 : 64) * 1024;
    const filled = (piece: string): string => piece.repeat(Math.floor(size / piece.length));
    for (const html of [
      filled("<s>a</s>b"),
      filled("<sup>a </sup>b<u> c</u>"),
      filled("<ol><li>a</li></ol>"),
      `${"<ul><li>".repeat(49)}${filled("a<br>")}${"</li></ul>".repeat(49)}`,
      `${"<blockquote>".repeat(99)}${filled("a<br>")}${"</blockquote>".repeat(99)}`,
      filled("~"),
      filled("\\"),
      `<s>a</s>${filled("\\~")}`,
      `<sup>${filled(") ")}</sup>`,
      filled("<q>a</q>"),
      filled('<a href="https://x.example">a</a> '),
    ]) {
      const took = processorMs(() => {
        const kept = reduced(html) as string;
        const text = textOfBody(kept);
        pageHtml(readLetter(kept));
        compareReadings(kept, text.slice(0, 256 * 1024));
      });
      expect(took, html.slice(0, 40)).to.be.lessThan(15_000);
    }
  });
});
