import { expect } from "chai";
import fc from "fast-check";
import type { Reduced } from "#src/html/reduce/reduced.ts";
import { picturesNamed, reduceHtml } from "#src/html/reduce/reduceHtml.ts";
import { assertAgreed, NotWithinSubset } from "#src/html/reduce/secondOpinion.ts";
import { type OpenTag, readTokens } from "#src/html/reduce/tokens.ts";
import { isWithinSubset } from "#src/html/reduce/withinSubset.ts";
import { inFull } from "#test/support/full.ts";
import { processorMs } from "#test/support/processorTime.ts";
import { anyHtml, colouredHtml, logo, pictures, subsetHtml } from "./generated.ts";
import { hiddenTexts } from "./hiddenText.ts";

const reduced = (html: string): Reduced => {
  const result = reduceHtml(html, pictures, bugsShow);
  if ("refused" in result) throw new Error(result.refused);
  return result;
};
/** A second check that throws a plain error, so that the body without styles cannot hide a fault of the reducer. */
const bugsShow = (html: string): void => {
  try {
    assertAgreed(html);
  } catch (error) {
    throw new Error(`disagreement: ${html}`, { cause: error });
  }
};
const made = (html: string): string => reduced(html).html;
const removed = (html: string): string[] => reduced(html).removed.map(({ what, count }) => `${what} ${count}`);

describe("reduceHtml", () => {
  describe("elements and comments that some mail programs show and the page does not", () => {
    const gone: [html: string, what: string][] = [
      ["<textarea>secret</textarea>", "element:textarea 1"],
      ["<select><option>secret<option>more</select>", "element:select 1"],
      ["<option>secret</option>", "element:option 1"],
      ['<input value="secret" placeholder="secret">', "element:input 1"],
      ["<button>secret</button>", "element:button 1"],
      ["<!-- secret -->", "comment 1"],
      ["<!--[if mso]>secret<![endif]-->", "comment 1"],
      ["<style>p::after{content:'secret'}</style>", "element:style 1"],
      ["<template>secret</template>", "element:template 1"],
      ["<iframe srcdoc='secret'>secret</iframe>", "element:iframe 1"],
      ["<object data=x>secret</object>", "element:object 1"],
      ["<svg><text>secret</text><style>secret</style></svg>", "element:svg 1"],
      ["<math><mtext>secret</mtext></math>", "element:math 1"],
      ["<noembed>secret</noembed>", "element:noembed 1"],
      ["<xmp><b>secret</b></xmp>", "element:xmp 1"],
      ["<video poster=x>secret</video>", "element:video 1"],
      ["<canvas>secret</canvas>", "element:canvas 1"],
      ["<![CDATA[secret]]>", "comment 1"],
      ["<?secret ?>", "comment 1"],
      ["<head><title>secret</title></head>", "element:head 1"],
    ];
    for (const [html, what] of gone) {
      it(`reduceHtml removes ${html} with its content and names it`, () => {
        expect(made(`<p>a</p>${html}<p>b</p>`)).to.equal("<p>a</p><p>b</p>");
        expect(removed(`<p>a</p>${html}<p>b</p>`)).to.deep.equal([what]);
      });
    }
    it("reduceHtml removes everything after an element of hidden content that is never closed", () => {
      for (const name of ["textarea", "select", "plaintext", "svg", "object", "style"])
        expect(made(`<p>a</p><${name}>secret`), name).to.equal("<p>a</p>");
    });
    it("reduceHtml keeps the content between the parts of an open conditional comment", () => {
      expect(made("<![if !mso]><p>a</p><![endif]>")).to.equal("<p>a</p>");
      expect(made("<!--[if !mso]><!--><p>a</p><!--<![endif]-->")).to.equal("<p>a</p>");
    });
  });

  it("reduceHtml removes attributes that a mail program may show or act on, and counts them", () => {
    expect(removed('<p title="x" class="y" id=z onclick=a() aria-label="b" title="again">t</p>')).to.deep.equal([
      "attribute:aria-label 1",
      "attribute:class 1",
      "attribute:id 1",
      "attribute:onclick 1",
      "attribute:title 2",
    ]);
  });

  it("reduceHtml keeps words apart where it removes a block element between them", () => {
    expect(made("a<section>b</section>c")).to.equal("a<br>b<br>c");
    expect(made("<article><header>a</header>\n<b>b</b></article>")).to.equal("a\n<br><b>b</b>");
    expect(made("<section><p>a</p></section><footer>b</footer>")).to.equal("<p>a</p>b");
    expect(made("<td>a</td><td>b</td>")).to.equal("a<br>b");
    expect(made("a</p>b")).to.equal("a<br>b");
    expect(made("one<select><option>x</select>two")).to.equal("one two");
    expect(made("wo<o:p></o:p>rd wo<wbr>rd")).to.equal("word word");
  });

  it("reduceHtml never joins two texts into a character reference that neither had", () => {
    expect(made("&<x>lt;b>")).to.equal("&amp;lt;b>");
    expect(made("&lt<x>;")).to.equal("&lt;;");
    expect(made("&<!-- -->#60;")).to.equal("&amp;#60;");
  });

  it("reduceHtml keeps links to the web, to a mail address and to a number, judged by their decoded target", () => {
    for (const href of [
      "https://x.example/?a=1&b=2",
      "HTTP://x.example",
      "mailto:a@x.example?subject=Hi there",
      "tel:+46123",
    ])
      expect(made(`<a href="${href}">t</a>`)).to.equal(`<a href="${href}">t</a>`);
    const gone: [href: string, what: string][] = [
      ["java&#9;script:alert(1)", "link:javascript 1"],
      ["&#1;javascript:x", "link:javascript 1"],
      ["java\nscript:x", "link:javascript 1"],
      ["#top", "link:fragment 1"],
      ["/path", "link:relative 1"],
      ["//x.example", "link:relative 1"],
      ["data:text/html,x", "link:data 1"],
      ["https://x.example/\\@y.example", "link:https 1"],
      ["https://x.example/&lt;b&gt;", "link:https 1"],
      ["https://x.example/&#10;y", "link:https 1"],
      ["https:x.example", "link:https 1"],
      [`${"x".repeat(100)}:y`, "link:other 1"],
    ];
    for (const [href, what] of gone) {
      expect(made(`<a href="${href}">t</a>`), href).to.equal("t");
      expect(removed(`<a href="${href}">t</a>`), href).to.deep.equal([what]);
    }
    expect(made('<a href="https://x.example">a<a href="https://y.example">b</a></a>')).to.equal(
      '<a href="https://x.example">ab</a>',
    );
    expect(made('<a href="https&colon;//x.example">t</a>')).to.equal('<a href="https://x.example">t</a>');
  });

  it("reduceHtml names pictures by their SHA-256 and keeps the alternative text of pictures it cannot bind", () => {
    const result = reduced(
      '<img src="cid:logo@x" alt="Logo" width=120><img src="https://t.example/p" alt="a < b">c<img src=data:x>',
    );
    expect(result.html).to.equal(`<img src="cid:${logo}" alt="Logo" style="width:120px"> a &lt; b c`);
    expect(result.pictures).to.deep.equal([logo]);
    expect(result.removed).to.deep.equal([
      { what: "element:img", count: 1 },
      { what: "image:remote", count: 1 },
    ]);
    expect(made(`<img src="cid:${"b".repeat(64)}">`)).to.equal("");
    expect(
      picturesNamed('<img src="data:a,&amp;"><img src=x><svg><img src=z></svg><img src=x><!--<img src=y>-->'),
    ).to.deep.equal(["data:a,&", "x"]);
  });

  it("reduceHtml reports whether anything readable is left", () => {
    for (const html of [
      "",
      " \n&nbsp;",
      "<p>&#x200b;\u2060</p>",
      "<hr><br>",
      "<style>x</style>",
      "&#x3164;",
      `<img src="cid:logo@x" alt=" ">`,
    ])
      expect(reduced(html).readable, html).to.equal(false);
    for (const html of ["a", "<p>1</p>", "👍", '<img src="cid:logo@x" alt="Logo">', '<img src="https://x" alt="Logo">'])
      expect(reduced(html).readable, html).to.equal(true);
  });

  describe("colours and sizes, judged by what surrounds them", () => {
    const cases: [html: string, after: string][] = [
      ['<p style="color:#fff">a</p>', "<p>a</p>"],
      ['<p style="color:#ffe">a</p>', "<p>a</p>"],
      ['<p style="background-color:#000;color:#fff">a</p>', '<p style="background-color:#000;color:#fff">a</p>'],
      ['<div style="background:#000">a</div>', "<div>a</div>"],
      [
        '<div style="color:navy"><span style="background:#004">a</span></div>',
        '<div style="color:navy"><span>a</span></div>',
      ],
      ['<a href="https://x.example" style="background:blue">a</a>', '<a href="https://x.example">a</a>'],
      ['<mark style="color:yellow">a</mark>', "<mark>a</mark>"],
      ['<p style="font-size:7px">a</p>', "<p>a</p>"],
      ['<p style="font-size:41px">a</p>', "<p>a</p>"],
      [
        '<div style="font-size:.7em"><p style="font-size:.7em">a</p></div>',
        '<div style="font-size:.7em"><p>a</p></div>',
      ],
      ['<p style="font-size:8px"><small>a</small></p>', '<p style="font-size:8px">a</p>'],
      [
        '<div style="font-size:10px;line-height:10px"><p style="font-size:40px">a</p></div>',
        '<div style="font-size:10px;line-height:10px"><p>a</p></div>',
      ],
      ['<p style="font-size:20px;line-height:10px">a</p>', '<p style="font-size:20px">a</p>'],
      ['<p style="font-size:9px"><code>a</code></p>', '<p style="font-size:9px">a</p>'],
      ['<pre><span style="font-size:.6em">a</span></pre>', "<pre><span>a</span></pre>"],
      ['<p style="color:transparent">a</p>', "<p>a</p>"],
      ['<p style="color:rgba(0,0,0,.1)">a</p>', "<p>a</p>"],
      ['<p style="color:#0000">a</p>', "<p>a</p>"],
    ];
    for (const [html, after] of cases)
      it(`reduceHtml judges colours and sizes by what surrounds them: ${html}`, () =>
        expect(made(html)).to.equal(after));
    it("reduceHtml keeps white text on a dark ground where the surrounding text is readable too", () => {
      const html = '<div style="color:#ccc;background:#333"><p style="color:#fff">a</p></div>';
      expect(made(html)).to.equal(html);
    });
  });

  describe("style declarations", () => {
    const goes =
      "display:none;visibility:hidden;opacity:0;position:absolute;overflow:hidden;text-indent:-99px;margin:-1px;margin:601px;width:101%;height:50%;font-size:0;line-height:0;line-height:.1;background:url(x);background:red url(x);color:red/**/;color:\\72 ed;width:calc(1px);border:1px solid rgba(0,0,0,0);list-style-type:'x';font-family:Wingdings;vertical-align:-99px;content:'x';color:var(--x);border:solid;color:inherit;text-align:expression(x);@import:x;float:left;mso-hide:all;text-decoration:blink;text-decoration:none;text-decoration:overline;list-style-type:square;list-style:none;vertical-align:middle;vertical-align:super;height:0;height:20px;text-transform:uppercase;font-variant:small-caps;letter-spacing:1px;word-spacing:9px;white-space:pre;font:0/0 a";
    for (const declaration of goes.split(";"))
      it(`reduceHtml removes the declaration ${declaration}`, () =>
        expect(made(`<p style="${declaration}">a</p>`)).to.equal("<p>a</p>"));
    const stays =
      "color:red|COLOR: Red|background-color:rgb(1, 2,3);color:white|font-family:'Segoe UI',\"A-b\",sans-serif|font-size:11.0pt|font-size:1.2rem|font-weight:600|line-height:150%|line-height:20px|margin:0 auto|margin-left:40px|padding:1em 2pt|border:1px solid #ccc|border-top:none|border-radius:4px|width:100%|max-width:600px|height:auto|border-collapse:collapse|font-family:ＭＳ ゴシック";
    for (const declaration of stays.split("|").filter((one) => !one.includes("color:white")))
      it(`reduceHtml keeps the declaration ${declaration}`, () => {
        const html = `<p style="${declaration.replaceAll('"', "&quot;")}">a</p>`;
        expect(made(html)).to.equal(html);
        expect(removed(html)).to.deep.equal([]);
      });
    it("reduceHtml keeps the declaration that takes effect of two for the same property, without !important", () => {
      expect(made('<p style="color:red;color:blue">a</p>')).to.equal('<p style="color:blue">a</p>');
      expect(made('<p style="color:red !important;color:blue">a</p>')).to.equal('<p style="color:red">a</p>');
      expect(made('<p style="width:100%;width:calc(1px)">a</p>')).to.equal('<p style="width:100%">a</p>');
      expect(removed('<p style="color:red !important">a</p>')).to.deep.equal([]);
    });
    it("reduceHtml reads past semicolons within quotes and parentheses of a style", () => {
      expect(made(`<p style="background:url(';color:red;');content:';color:red;';color:green">a</p>`)).to.equal(
        '<p style="color:green">a</p>',
      );
    });
  });

  it("reduceHtml refuses HTML nested deeper than 100 elements, and HTML that would become larger than 512 KB", () => {
    const nested = (depth: number) => `${"<div>".repeat(depth)}x${"</div>".repeat(depth)}`;
    expect(made(nested(100))).to.equal(nested(100));
    for (const html of [nested(101), "<b>".repeat(200_000), `<svg>${"<g>".repeat(100)}`, "<x>".repeat(101)])
      expect(reduceHtml(html, pictures)).to.deep.equal({ refused: "too_deep" });
    expect(reduceHtml(`<table cellpadding=5 border=1>${"<td>".repeat(60_000)}`, pictures)).to.deep.equal({
      refused: "too_large",
    });
    expect(made("é".repeat(262_144))).to.have.length(262_144);
    expect(reduceHtml("é".repeat(262_145), pictures)).to.deep.equal({ refused: "too_large" });
  });

  it("reduceHtml names a bounded number of removed kinds, each in a bounded length, and counts all of them", () => {
    const attributes = Array.from({ length: 10_000 }, (_, n) => `a${n}=""`).join(" ");
    const { removed } = reduced(`<p ${attributes} ${"y".repeat(500)}>x</p><${"z".repeat(500)}>`);
    expect(removed.length).to.be.lessThan(70);
    expect(Math.max(...removed.map(({ what }) => what.length))).to.be.lessThan(60);
    expect(removed.reduce((sum, { count }) => sum + count, 0)).to.equal(10_002);
    expect(removed.map(({ what }) => what)).to.deep.equal(removed.map(({ what }) => what).sort());
  });

  it("reduceHtml takes time proportional to the length, for hostile HTML too", () => {
    const hostile = [
      "<",
      "&",
      "</p>",
      "<p>",
      "a<!--",
      "<b></b>",
      "&<x></x>",
      "<img>",
      "<td>",
      '<a href="',
      "<p style='(",
      "<svg><g>",
    ];
    for (const piece of [
      ...hostile,
      `<p ${"a ".repeat(1000)}>`,
      `<p style="${"color:red;".repeat(100)}">`,
      `${'<b style="background:#000">'.repeat(90)}a${"</b>".repeat(90)}`,
      `${"<b>".repeat(50)}</i></i></i>${"</b>".repeat(50)}`,
    ]) {
      const html = piece.repeat(Math.floor(((inFull ? 256 : 96) * 1024) / piece.length));
      expect(
        processorMs(() => void reduceHtml(html, pictures)),
        piece,
      ).to.be.lessThan(10_000);
    }
  });

  it("reduceHtml leaves HTML within the subset unchanged, byte for byte", () => {
    fc.assert(
      fc.property(subsetHtml, (html) => {
        expect(reduced(html)).to.include({ html });
        expect(removed(html)).to.deep.equal([]);
        expect(isWithinSubset(html)).to.equal(true);
      }),
      { numRuns: inFull ? 300 : 50 },
    );
  });

  it("reduceHtml changes nothing at a second run and hides no text, for any HTML", () => {
    fc.assert(
      fc.property(anyHtml, (html) => {
        const first = reduceHtml(html, pictures, bugsShow);
        if ("refused" in first) return;
        expect(isWithinSubset(first.html)).to.equal(true);
        expect(reduceHtml(first.html, pictures)).to.deep.equal({ ...first, removed: [] });
        expect(hiddenTexts(first.html)).to.deep.equal([]);
      }),
      { numRuns: inFull ? 600 : 100 },
    );
  });

  it("reduceHtml leaves no spelling that the strict grammar of the subset refuses", () => {
    const agreed: [html: string, after: string][] = [
      ...["margin:AUTO", "margin:0 AUTO", "width:050%", "width:.5%", "width:00%", "max-width:050%", "color:BLACK"].map(
        (style): [string, string] => [`<p style="${style}">a</p>`, `<p style="${style}">a</p>`],
      ),
      ['<hr width="050%">', '<hr style="width:050%">'],
      ['<p style="width:100.5%">a</p>', "<p>a</p>"],
      ['<p style="list-style-type:lower-gree\u212a">a</p>', "<p>a</p>"],
      ['<p style="color:blac\u212a">a</p>', "<p>a</p>"],
      ["<mar\u212a>a</mar\u212a>", "a"],
    ];
    for (const [html, after] of agreed) expect(reduceHtml(html, pictures, bugsShow), html).to.include({ html: after });
  });

  describe("reduceHtml where the second check refuses its result", () => {
    const refusing = (pattern: RegExp) => (html: string) => {
      if (pattern.test(html)) throw new NotWithinSubset();
    };

    /** Reads the tags alone, because text may look like an attribute. */
    const hasRefusedAttribute = (html: string): boolean => {
      const names: string[] = [];
      const nothing = () => {};
      const open = ({ attributes }: OpenTag) => void names.push(...attributes.map(({ name }) => name));
      readTokens(html, { open, close: nothing, text: nothing, comment: nothing, doctype: nothing });
      return ["style", "lang", "start", "rowspan"].some((name) => names.includes(name));
    };

    it("reduceHtml removes all styles and most attributes where the second check refuses its result", () => {
      const html =
        '<html dir="rtl" lang="he"><body bgcolor=black><center><p style="color:red" lang="de" dir=\'ltr\'>a</p></center><table border=1><td colspan="2" rowspan="2" align=right>b</table><a href="https://x.example">c</a><img src="cid:logo@x" alt="d" width=5></body>';
      const result = reduceHtml(html, pictures, refusing(/ style=/));
      if ("refused" in result) throw new Error(result.refused);
      expect(result.html).to.equal(
        `<div dir="rtl"><div><p dir="ltr">a</p></div><table><tr><td colspan="2">b</td></tr></table><a href="https://x.example">c</a><img src="cid:${logo}" alt="d"></div>`,
      );
      expect(result.pictures).to.deep.equal([logo]);
      expect(result.readable).to.equal(true);
      expect(result.removed.map(({ what }) => what)).to.include.members(["attribute:style", "attribute:rowspan"]);
    });

    it("a body without styles, made because the second check refused it, is not changed by a second reduction", () => {
      fc.assert(
        fc.property(anyHtml, (html) => {
          const refused = (made: string) => {
            if (hasRefusedAttribute(made)) throw new NotWithinSubset();
          };
          const first = reduceHtml(html, pictures, refused);
          if ("refused" in first) return;
          expect(isWithinSubset(first.html)).to.equal(true);
          expect(hasRefusedAttribute(first.html)).to.equal(false);
          expect(reduceHtml(first.html, pictures)).to.deep.equal({ ...first, removed: [] });
        }),
        { numRuns: inFull ? 300 : 50 },
      );
    });

    it("reduceHtml throws where the second check refuses the body without styles too", () => {
      expect(() => reduceHtml("<p>a</p>", pictures, refusing(/a/))).to.throw(NotWithinSubset);
    });
  });

  it("reduceHtml hides no text by colours and changes nothing at a second run, for any nesting of grounds", () => {
    fc.assert(
      fc.property(colouredHtml, (html) => {
        const first = reduced(html);
        expect(hiddenTexts(first.html)).to.deep.equal([]);
        expect(reduceHtml(first.html, pictures)).to.deep.equal({ ...first, removed: [] });
      }),
      { numRuns: inFull ? 600 : 100 },
    );
  });
});

describe("isWithinSubset", () => {
  const outside = [
    "<P>a</P>",
    "<p>a",
    "a</p>",
    "<p>a</b></p>",
    '<p class="x">a</p>',
    "<p dir='rtl'>a</p>",
    "<p dir=rtl>a</p>",
    "<textarea>a</textarea>",
    "<!-- a -->",
    "a < b",
    "<p><div>a</div></p>",
    "<p><b><p>a</p></b></p>",
    "<h1><h2>a</h2></h1>",
    "<li>a</li>",
    "<table>a</table>",
    "<table><td>a</td></table>",
    "<tr><td>a</td></tr>",
    '<a href="javascript:x">a</a>',
    '<a href="java&#9;script:x">a</a>',
    "<a>a</a>",
    "<img>",
    '<img src="https://x">',
    '<p style="">a</p>',
    '<p style="display:none">a</p>',
    '<p style="background:url(x)">a</p>',
    '<p style="color:red;color:blue">a</p>',
    '<p style="margin:-1px">a</p>',
    '<p style="font-size:0">a</p>',
    '<p style="color:red!important">a</p>',
    '<p dir="ltr" dir="rtl">a</p>',
    "<p/>",
    "<section>a</section>",
    `${"<b>".repeat(101)}${"</b>".repeat(101)}`,
    '<a href="https://x.example"><b><a href="https://y.example">a</a></b></a>',
  ];
  for (const html of outside)
    it(`isWithinSubset refuses ${html.slice(0, 60)}`, () => expect(isWithinSubset(html)).to.equal(false));

  it("reduced HTML has no list markers that spell words and no declaration with a blank unknown to CSS", () => {
    const reduced = (html: string) => reduceHtml(html, new Map()) as Reduced;
    const spelled = '<ol start="9874" style="list-style-type:lower-alpha"><li>accept</li></ol>';
    expect(reduced(spelled).html).to.equal('<ol start="9874"><li>accept</li></ol>');
    for (const blank of ["\u00a0", "\u3000", "\u2028", "\v"]) {
      const hiding = reduced(`<p style="background-color:${blank}black;color:white">x</p>`);
      expect(hiding.html, JSON.stringify(blank)).to.equal("<p>x</p>");
    }
  });
});
