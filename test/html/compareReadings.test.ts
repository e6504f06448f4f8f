import { expect } from "chai";
import fc from "fast-check";
import { compareReadings, type Difference } from "#src/html/compare/compareReadings.ts";
import { textOfBody } from "#src/html/letter/plainText.ts";
import { reduceHtml } from "#src/html/reduce/reduceHtml.ts";
import { inFull } from "#test/support/full.ts";
import { processorMs } from "#test/support/processorTime.ts";
import { pictures, subsetHtml } from "./reduce/generated.ts";

const nothing: Difference = { onlyHtml: [], onlyText: [], linksOnlyHtml: [], linksOnlyText: [] };

describe("compareReadings", () => {
  const same: [name: string, html: string, text: string][] = [
    ["layout", "<p>Dear Ann,</p><p>it is <b>sent</b>.<br>Bye</p>", "Dear Ann,\n\nit is sent.\nBye"],
    ["a numbered list", "<ol><li>Apples</li><li>Pears</li></ol>", "1. Apples\n2. Pears"],
    ["a numbered list with brackets", '<ol start="3"><li>Apples</li></ol>', "3) Apples"],
    ["a list", "<ul><li>Apples</li><li>Pears</li></ul>", "- Apples\n- Pears"],
    ["bullets", "<ul><li>Apples</li><li>Pears</li></ul>", "• Apples\n* Pears"],
    ["a bare link", '<a href="http://www.example.com">www.example.com</a>', "www.example.com"],
    ["a bare link with its scheme", '<a href="http://www.example.com/">www.example.com</a>', "http://www.example.com"],
    ["a host", '<p>See <a href="https://example.com">our shop</a></p>', "See our shop (example.com)"],
    ["a target in brackets", '<p>See <a href="https://x.example/a">here</a>.</p>', "See here [https://x.example/a]."],
    [
      "a target in Markdown",
      '<p>See <a href="https://x.example/a_(b)">here</a>.</p>',
      "See [here](https://x.example/a_(b)).",
    ],
    ["an address", '<p>Write to <a href="mailto:a@x.example?subject=Hi">us</a>.</p>', "Write to us (a@x.example)."],
    ["an address as text", '<p><a href="mailto:A@x.example">a@x.example</a></p>', "a@x.example"],
    ["a number to call", '<p>Call <a href="tel:+46123456">+46 12 34 56</a></p>', "Call +46 12 34 56"],
    ["a number behind a word", '<p>Call <a href="tel:+46123456">us</a></p>', "Call us: +46 12 34 56"],
    ["emphasis", "<p>It is <b>very</b> <i>late</i></p>", "It is **very** _late_"],
    ["headings", "<h2>News</h2><hr><p>a</p>", "## NEWS\n-----\na"],
    ["quotes", "<blockquote><p>as you said</p><p>before</p></blockquote>", "> as you said\n>\n> before"],
    ["forms of letters", "<p>ﬁne STRASSE 10</p>", "fine Straße １０"],
    ["curly and straight", "<p>don’t say “no” – …</p>", 'don\'t say "no" - ...'],
    ["blanks without a break", "<p>10&nbsp;EUR</p>", "10 EUR"],
    [
      "a table",
      "<table><tr><th>Book</th><th>Price</th></tr><tr><td>Atlas</td><td>0 EUR</td></tr></table>",
      "Book | Price\n-----|-----\nAtlas | 0 EUR",
    ],
    ["a picture", '<img src="cid:x" alt="Our logo"><p>Hi</p>', "Hi"],
    ["a picture by its words", '<img src="cid:x" alt="Our logo"><p>Hi</p>', "[Our logo]\nHi"],
    ["some of two pictures", '<p><img src="cid:x" alt="a b"> a <img src="cid:x" alt="b a"></p>', "a b a"],
    [
      "a picture that names its place",
      '<img src="cid:x" alt="x at https://x.example/a"><p>a</p>',
      "[x at https://x.example/a] a",
    ],
    ["a number before its words", '<p><a href="tel:+46-123-456">call us</a> now</p>', "(+46 123.456) call us now"],
    ["characters without a width", "<p>a\u200b<b>\u200b<i>\u200b\u200b</i></b></p>", "a\u200b\u200b\u200b\u200b"],
    ["joiners and soft hyphens", "<p>some&shy;thing</p>", "something"],
    ["a quotation", "<p>He said <q>no</q></p>", 'He said "no"'],
    [
      "marks as signs",
      "<p>We will <s>not</s> pay 10<sup>00</sup>, <u>soon</u></p>",
      "We will ~~not~~ pay 10^00, {+soon+}",
    ],
    [
      "marks around a link",
      '<p><u>see <a href="https://x.example/?a=1">x</a></u></p>',
      "{+see x [https://x.example/?a=1]+}",
    ],
    ["a raised digit", "<p>10<sup>2</sup> H<sub>2</sub>O</p>", "10² H₂O"],
    ["signs that are no marks", "<p>snake_case and 2^10</p>", "snake_case and 2^10"],
    ["a struck picture", '<p><s>a <img src="cid:x" alt="Logo"></s></p>', "~~a [image: Logo]~~"],
    ["right to left", '<p dir="rtl">שלום <b>עולם</b></p>', "שלום עולם"],
  ];
  for (const [name, html, text] of same)
    it(`compareReadings finds no difference between HTML and text for ${name}`, () =>
      expect(compareReadings(html, text)).to.equal(null));

  const different: [name: string, html: string, text: string, difference: Partial<Difference>][] = [
    ["currencies", "<p>It costs $100</p>", "It costs €100", { onlyHtml: ["$"], onlyText: ["€"] }],
    ["separators", "<p>1,000 pieces</p>", "1.000 pieces", { onlyHtml: ["1,000"], onlyText: ["1.000"] }],
    ["a minus", "<p>-5 degrees</p>", "5 degrees", { onlyHtml: ["-"] }],
    ["a percent sign", "<p>5% off</p>", "5 off", { onlyHtml: ["%"] }],
    [
      "a struck word",
      "<p>We will <s>not</s> pay</p>",
      "We will not pay",
      { onlyHtml: ["not (struck through)"], onlyText: ["not"] },
    ],
    [
      "a word that only the text strikes",
      "<p>We will not pay</p>",
      "We will ~~not~~ pay",
      { onlyHtml: ["not"], onlyText: ["not (struck through)"] },
    ],
    ["a raised number", "<p>10<sup>00</sup> EUR</p>", "1000 EUR", { onlyHtml: ["10 00 (raised)"], onlyText: ["1000"] }],
    [
      "an underlined and a lowered word",
      "<p><u>a</u> x<sub>b c</sub></p>",
      "a x b c",
      { onlyHtml: ["a (underlined)", "b c (lowered)"], onlyText: ["a", "b c"] },
    ],
    ["signs of quotation", "<p>He said <q>no</q></p>", "He said no", { onlyHtml: ['"', '"'] }],
    [
      "signs that the HTML shows as they are",
      "<p>~~not~~</p>",
      "~~not~~",
      { onlyHtml: ["not"], onlyText: ["not (struck through)"] },
    ],
    ["a word", "<p>we will pay</p>", "we will not pay", { onlyText: ["not"] }],
    ["list numbers", "<ol><li>a</li></ol>", "2. a", { onlyHtml: ["1"], onlyText: ["2"] }],
    [
      "a hidden target",
      '<p>see <a href="https://evil.example">here</a></p>',
      "see here",
      { linksOnlyHtml: ["https://evil.example"] },
    ],
    [
      "a false target",
      '<a href="https://evil.example">https://bank.example</a>',
      "https://bank.example",
      { linksOnlyHtml: ["https://evil.example"] },
    ],
    ["a target in the text", "<p>see</p>", "see https://evil.example/x.", { linksOnlyText: ["evil.example/x"] }],
    [
      "addresses",
      '<a href="mailto:a@x.example">write</a>',
      "write to b@x.example",
      { onlyText: ["to"], linksOnlyHtml: ["mailto:a@x.example"], linksOnlyText: ["mailto:b@x.example"] },
    ],
    [
      "a host in the words",
      "<p>pay at evil.example</p>",
      "pay at good.example",
      { onlyHtml: ["evil"], onlyText: ["good"] },
    ],
    ["pictographs", "<p>✅ paid</p>", "❌ paid", { onlyHtml: ["✅"], onlyText: ["❌"] }],
    [
      "words with the digits of a number to call",
      '<p>Hello, <a href="tel:12345">call us</a></p>',
      "Hello, call us. Please wire everything to Mallory, account 12345",
      { onlyText: ["Please wire everything to Mallory account 12345"] },
    ],
    [
      "words beside a number to call without digits",
      '<p>Hello <a href="tel:-">call us</a></p>',
      "Hello call us tel:- Please wire everything to Mallory",
      { onlyText: ["Please wire everything to Mallory"] },
    ],
    [
      "a number to call at another place",
      '<p>We pay it.</p><p><a href="tel:500">Call us</a></p>',
      "We pay 500 it.\n\nCall us",
      { onlyText: ["500"] },
    ],
    [
      "a picture's words at another place",
      `<p>We will pay <img src="cid:x" alt="not"></p>`,
      "We will not pay",
      { onlyText: ["not"] },
    ],
    [
      "some of a picture's words",
      `<p>We will <img src="cid:x" alt="not ever"> pay</p>`,
      "We will not pay",
      { onlyText: ["not"] },
    ],
    [
      "a picture's words twice",
      `<p>a <img src="cid:x" alt="Logo"> b</p>`,
      "a Logo Logo b",
      { onlyText: ["Logo Logo"] },
    ],
    [
      "paths in capitals",
      '<a href="https://x.example/A">x</a>',
      "x https://x.example/a",
      { linksOnlyHtml: ["https://x.example/A"], linksOnlyText: ["x.example/a"] },
    ],
  ];
  for (const [name, html, text, difference] of different)
    it(`compareReadings finds the difference in ${name}`, () =>
      expect(compareReadings(html, text)).to.deep.equal({ ...nothing, ...difference }));

  it("compareReadings returns a short list in bounded time for long and hostile input", () => {
    const words = (prefix: string) => Array.from({ length: 40_000 }, (_, n) => `${prefix}${n}`).join(" ");
    let long = {} as Difference;
    const tookMs = processorMs(() => {
      long = compareReadings(`<p>${words("a")}</p>`, words("b")) as Difference;
    });
    expect(tookMs).to.be.lessThan(15_000);
    const { onlyHtml, onlyText } = long;
    expect([...onlyHtml, ...onlyText].map((run) => run.length)).to.satisfy((all: number[]) =>
      all.every((n) => n <= 120),
    );
    const links = Array.from(
      { length: 500 },
      (_, n) => `<a href="https://x.example/${"y".repeat(300)}${n}">a</a>`,
    ).join("");
    const found = compareReadings(links, "") as Difference;
    expect(found.linksOnlyHtml).to.have.length(6);
    for (const hostile of ["a.", "a@", "http://", "-", "1,", "**", "tel:1"]) {
      const compare = () => void compareReadings(`<p>${hostile.repeat(100_000)}</p>`, hostile.repeat(100_000).slice(1));
      expect(processorMs(compare), hostile).to.be.lessThan(15_000);
    }
  });

  it("compareReadings finds no difference between reduced HTML and the text made from it", () => {
    fc.assert(
      fc.property(subsetHtml, (html) => {
        // The link's target would cut a word in two that continues after the link.
        const spaced = html.replaceAll("</a>", "</a> ");
        const reduced = reduceHtml(spaced, pictures);
        if (!("refused" in reduced)) expect(compareReadings(reduced.html, textOfBody(reduced.html))).to.equal(null);
      }),
      { numRuns: inFull ? 300 : 50 },
    );
  });
});
