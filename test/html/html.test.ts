import { expect } from "chai";
import fc from "fast-check";
import { html, trusted } from "#src/html/html.ts";
import { htmlOfText } from "#src/html/htmlOfText.ts";
import { reduceHtml } from "#src/html/reduce/reduceHtml.ts";
import { sanitise } from "#src/html/sanitise.ts";
import { readableTime } from "#src/html/times.ts";
import { hasUnseen, shortLine, visible, visibleLine } from "#src/html/visible.ts";
import { inFull } from "#test/support/full.ts";

describe("visible", () => {
  const cases: [string, string, string][] = [
    ["shows a direction mark as a code", "a\u202egpj.exe", "a[U+202E]gpj.exe"],
    ["shows isolates as codes", "\u2066x\u2069", "[U+2066]x[U+2069]"],
    ["shows NUL and other control characters as codes", "a\u0000b\u001b[31m\u0085", "a[U+0000]b[U+001B][31m[U+0085]"],
    ["makes one code of many equal characters", "a\u200b\u200b\u200b\ufeffb", "a[U+200B ×3][U+FEFF]b"],
    ["shows tag characters as codes", "\u{E0041}\u{E0042}", "[U+E0041][U+E0042]"],
    ["shows an unpaired surrogate as a code", "a\ud800b", "a[U+D800]b"],
    ["turns every kind of line end into a line feed", "a\r\nb\rc\u2028d\te", "a\nb\nc\nd\te"],
  ];
  for (const [name, text, shown] of cases) it(`visible ${name}`, () => expect(visible(text)).to.equal(shown));

  it("visible leaves honest text in any script unchanged", () => {
    for (const text of ["Žluťoučký kůň", "שלום עולם", "نامه‌ای", "👩‍👩‍👧 🏴󠁧󠁢󠁥󠁮󠁧󠁿", "क्‍ष", "a \u200fb"]) {
      expect(visible(text)).to.equal(text);
      expect(hasUnseen(text)).to.equal(false);
    }
  });

  it("visibleLine makes a value one line and shows its direction marks; shortLine cuts between characters", () => {
    expect(visibleLine(" a\r\nBcc: b\u200f ")).to.equal("a Bcc: b[U+200F]");
    expect(shortLine("👩👩👩👩", 3)).to.equal("👩👩…");
    expect(["long enough", "b"].map(visibleLine)).to.deep.equal(["long enough", "b"]);
  });

  it("visible leaves no unseen character in any text, and a second call changes nothing", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        const shown = visible(text);
        expect(shown).not.to.match(/[^\P{Cc}\t\n]|[\u202a-\u202e\u2066-\u2069\u200b\ufeff]/u);
        expect(visible(shown)).to.equal(shown);
      }),
    );
  });
});

describe("the html template", () => {
  it("the html template escapes every value in text and in attributes, except markup of its own", () => {
    const made = html`<p title="${`"'<>&`}">${["<b>", html`<i>${"&"}</i>`, trusted("<hr>"), null, false, undefined, 0]}</p>`;
    expect(made.markup).to.equal('<p title="&quot;&#39;&lt;&gt;&amp;">&lt;b&gt;<i>&amp;</i><hr>0</p>');
  });

  it("no value given to the html template can open a tag or end its attribute", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        const { markup } = html`<p title="${text}">${text}</p>`;
        expect(markup).to.match(/^<p title="[^"<>]*">[^<>]*<\/p>$/);
      }),
    );
  });
});

describe("sanitise", () => {
  const clean = (given: string): string => {
    const result = sanitise(given);
    return "html" in result ? result.html : result.refused;
  };

  it("sanitise keeps text, structure and tables", () => {
    const kept =
      '<h2>A</h2><p dir="rtl">b <b>c</b></p><ul><li>d</li></ul><table><tr><td colspan="2">e</td></tr></table>';
    expect(clean(kept)).to.equal(kept);
  });

  it("sanitise writes out a link's target and an image's text and loads neither", () => {
    expect(
      clean(
        '<a href="https://x.example/?a&amp;b" onclick="y">to <b>x</b></a> <img src="https://x.example/i" alt="a > b">!',
      ),
    ).to.equal(
      '<span class="link" data-href="https://x.example/?a&amp;b">to <b>x</b></span> <span class="image">[image: a &gt; b]</span>!',
    );
  });

  it("sanitise shows text that styles or attributes would hide", () => {
    expect(
      clean(
        '<p style="display:none" class="link" data-href="x" hidden>pay</p><span class="image" data-href="y">z</span>',
      ),
    ).to.equal("<p>pay</p><span>z</span>");
  });

  it("sanitise shows direction marks as codes, however they are spelled", () => {
    expect(clean("<p>a&#x202e;b\u202e</p>")).to.equal("<p>a[U+202E]b[U+202E]</p>");
    expect(clean('<a href="https://x.example/&#8238;">a</a>')).to.include("[U+202E]");
  });

  for (const [name, given] of Object.entries({
    script: "<script>alert(1)</script><SCRIPT/x>alert(2)</SCRIPT>",
    handlers: "<p onclick=alert(1) ONMOUSEOVER='alert(1)'>x</p><svg/onload=alert(1)>",
    frames:
      '<iframe src="https://evil.example"></iframe><iframe srcdoc="<script>alert(1)</script>"></iframe><object data=x></object><embed src=x>',
    forms: '<form action="https://evil.example"><input name=a><button>b</button></form>',
    loads:
      '<link rel=stylesheet href=//evil.example><style>@import "//evil.example"</style><body background=//evil.example><video poster=//evil.example><picture><source srcset=//evil.example></picture><td background=//evil.example>',
    leads:
      '<meta http-equiv=refresh content="0;url=//evil.example"><base href=//evil.example><area href=//evil.example>',
    parsers:
      "<math><mtext><table><mglyph><style><!--</style><img title='--&gt;&lt;img src=1 onerror=alert(1)&gt;'></table></mtext></math><noscript><p title='</noscript><img src=x onerror=alert(1)>'></noscript><xmp><script>alert(1)</script></xmp><![CDATA[<script>]]>",
  })) {
    it(`sanitise removes everything that runs, loads or navigates: ${name}`, () => {
      const tags = [...clean(given).matchAll(/<[^>]*>/g)].map(([tag]) => tag).join("");
      expect(tags).not.to.match(
        /script|style|iframe|object|embed|form|input|link rel|svg|math|meta|base|video|source|area|src|action|background|\son\w+|evil|href=/i,
      );
    });
  }

  it("sanitise makes only tags and attributes that it knows, for any input", () => {
    const pieces = fc.constantFrom(
      "<",
      ">",
      "</",
      "/>",
      '"',
      "'",
      "=",
      " ",
      "&lt;",
      "&#x3c;",
      "<!--",
      "-->",
      "a",
      "p",
      "td",
      "img",
      "svg",
      "style",
      "script",
      "title",
      "textarea",
      "href",
      "onerror",
      "x",
      "\u0000",
      "\u202e",
    );
    fc.assert(
      fc.property(
        fc.array(pieces, { maxLength: 60 }).map((parts) => parts.join("")),
        (given) => {
          const rest = clean(given).replace(
            /<\/?[a-z][a-z0-9]*(?: (?:dir|lang|colspan|rowspan|class|data-href)(?:="[^"<>]*")?)*(?: \/)?>/g,
            "",
          );
          expect(rest).not.to.match(/[<>]/);
        },
      ),
      { numRuns: inFull ? 500 : 83 },
    );
  });

  it("sanitise refuses HTML that is nested too deeply or too large before it parses it", () => {
    expect(sanitise("<div>".repeat(200_000))).to.deep.equal({ refused: "too_deep" });
    expect(sanitise(`${"<b>".repeat(512)}x`)).to.have.property("html");
    expect(sanitise("<b>".repeat(513))).to.deep.equal({ refused: "too_deep" });
    expect(sanitise("é".repeat(524_289))).to.deep.equal({ refused: "too_large" });
    expect(sanitise("é".repeat(524_288))).to.have.property("html");
  });
});

describe("readableTime", () => {
  it("readableTime writes a time in UTC and returns text that is no time unchanged", () => {
    expect(readableTime("2026-11-21T00:05:00+01:00")).to.equal("20 Nov 2026, 23:05 UTC");
    expect(readableTime("soon")).to.equal("soon");
  });
});

describe("HTML made of a signature's text", () => {
  it("htmlOfText makes HTML from plain text that reduceHtml leaves unchanged", () => {
    expect(htmlOfText("Ann & <Co>\r\nLondon\n\n\nx  y\n")).to.equal("<p>Ann &amp; &lt;Co&gt;<br>London</p><p>x  y</p>");
    expect(htmlOfText(" \n")).to.equal("");
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        const html = htmlOfText(text);
        expect(reduceHtml(html, new Map())).to.include({ html }).and.to.deep.include({ removed: [] });
      }),
    );
  });
});
