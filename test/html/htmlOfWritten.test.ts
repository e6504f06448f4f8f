import { expect } from "chai";
import fc from "fast-check";
import { compareReadings } from "#src/html/compare/compareReadings.ts";
import { htmlOfWritten } from "#src/html/htmlOfWritten.ts";
import { reduceHtml } from "#src/html/reduce/reduceHtml.ts";

const reduced = (html: string): string => {
  const { html: kept } = reduceHtml(html, new Map()) as { html: string };
  return kept;
};

describe("htmlOfWritten", () => {
  it("htmlOfWritten makes paragraphs, line breaks and links, and escapes all other characters", () => {
    expect(htmlOfWritten("Hello <Ann> & Co,\r\nit is here.\r\n\r\n \nBye\n")).to.equal(
      "<p>Hello &lt;Ann&gt; &amp; Co,<br>it is here.</p><p>Bye</p>",
    );
    expect(htmlOfWritten("See https://a.example/x?y=1&z=2. Or (www.b.example), or ask me@c.example!")).to.equal(
      '<p>See <a href="https://a.example/x?y=1&amp;z=2">https://a.example/x?y=1&amp;z=2</a>. Or (<a href="https://www.b.example">www.b.example</a>), or ask <a href="mailto:me@c.example">me@c.example</a>!</p>',
    );
    expect(htmlOfWritten(" \n\n ")).to.equal("");
  });

  it("htmlOfWritten makes no link from a scheme without an address, and its text says the same", () => {
    for (const [written, html] of [
      ["{+ https:// +}", "<p><u> https:// </u></p>"],
      ["~~ https:// ~~", "<p><s> https:// </s></p>"],
      ["https://.", "<p>https://.</p>"],
    ] as const) {
      expect(htmlOfWritten(written)).to.equal(html);
      expect(compareReadings(html, written), written).to.equal(null);
    }
  });

  it("a telephone number at the end of underlined text reads the same in both forms", () => {
    const html = htmlOfWritten("{+ Call tel:+49123 +}");
    expect(html).to.equal("<p><u> Call tel:+49123 </u></p>");
    expect(compareReadings(html, "{+ Call tel:+49123 +}")).to.equal(null);
  });

  it("htmlOfWritten turns signs into struck and underlined words, and keeps escaped and single signs as text", () => {
    expect(htmlOfWritten("We will ~~not\never~~ pay {+www.a.example+}")).to.equal(
      '<p>We will <s>not<br>ever</s> pay <u><a href="https://www.a.example">www.a.example</a></u></p>',
    );
    expect(htmlOfWritten("\\~~a\\~~ b~~ {+c ~~~ snake_case 2^10 \\\\x\\d (e)")).to.equal(
      "<p>~~a~~ b~~ {+c ~~~ snake_case 2^10 \\\\x\\d (e)</p>",
    );
  });

  it("the HTML made by htmlOfWritten is left unchanged by reduceHtml and says the same as its text", () => {
    const word = fc.constantFrom(
      ...[
        "Hello",
        "Straße",
        "€ 3.50",
        "<b>",
        "&amp;",
        '"quoted"',
        "it's",
        "- ",
        "> ",
        "1. ",
        "* ",
        "**bold**",
        "~~",
        "{+",
        "+}",
        "\\~~",
        "H_2",
        "2^10",
        "naïve",
      ],
      ...[
        "https://a.example/x",
        "http://b.example/?a=1&b=<2>",
        "(www.c.example)",
        "me@d.example,",
        "tel:+49123",
        "d.example",
      ],
      ...[
        "\n",
        "\r\n",
        "\n\n",
        "  ",
        "\t",
        "…",
        "日本語",
        "javascript:alert(1)",
        "https://",
        "https://.",
        "@",
        "'>",
        "a@b@c.example",
      ],
    );
    const text = fc.array(word, { maxLength: 20 }).map((words) => words.join(" "));
    fc.assert(
      fc.property(text, (written) => {
        const html = htmlOfWritten(written);
        expect(reduced(html)).to.equal(html);
        expect(compareReadings(html, written)).to.equal(null);
      }),
      { numRuns: 300 },
    );
  });
});
