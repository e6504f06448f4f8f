import fc from "fast-check";

/** Generators of HTML for tests: pieces of real and of hostile HTML, and HTML that has nothing to reduce. */

/** The SHA-256 of a picture. */
export const logo = "a1".repeat(32);
export const pictures: ReadonlyMap<string, string> = new Map([
  ["cid:logo@x", logo],
  [`cid:${logo}`, logo],
]);

const names =
  "p div span br lin\u212a mar\u212a KBD hr h1 h2 h5 blockquote pre q ul ol li dl dt dd table caption colgroup col thead tbody tr th td a b i sub small img font center section form label body html o:p tt strike input".split(
    " ",
  );
const dropping = "head title style script textarea select option svg template noscript xmp".split(" ");
const declarations =
  "color:red|color:#fff|background:black|background-color:#123|font-size:7px|font-size:.5em|font-size:30px|line-height:1|line-height:9px|width:50%|margin:0 auto|padding:1em|border:1px solid red|border-top:0|position:absolute|background:url(x)|COLOR:Blue|font-family:'A B',c|color:white!important|vertical-align:top|vertical-align:super|vertical-align:sub!important|text-decoration:line-through|text-decoration:underline dotted|text-decoration:none|text-decoration-line:LINE-THROUGH|list-style-type:none| |/*|x:(|margin:AUTO|margin:0 AUTO|margin:Auto 1PX|width:050%|width:.5%|width:00%|width:100.5%|width:AUTO|max-width:050%|max-width:.50%|max-width:Auto|height:AUTO|height:007.50Px|list-style-type:lower-gree\u212a|list-style-type:LOWER-GREEK|color:blac\u212a|color:BLACK|bac\u212aground:red|border:01px SOLID Red|border:NONE|border-top:.5pt Da\u017fhed #FFF|font-size:012PT|font-size:MEDIUM|font-size:.9REM|line-height:01.50|line-height:NORMAL|font-weight:BOLD|font-family:\u212aelvin,\u0130|text-align:\u017ftart|text-align:CENTER|text-decoration:Underline OVERLINE|vertical-align:TOP|padding:00|padding:００px|border-radius:.5E\u212a".split(
    "|",
  );
const attribute = fc.oneof(
  fc.array(fc.constantFrom(...declarations), { maxLength: 4 }).map((all) => `style="${all.join(";")}"`),
  fc.constantFrom(
    ...[
      'class="x"',
      'href="https://x.example/?a&amp;b"',
      "href=java&#9;script:x",
      'href="https&colon;//x.example"',
      'href="#x"',
      'src="cid:logo@x"',
      `src="cid:${logo}"`,
      "src=//x",
      'alt="a > b"',
      "alt='x\"<'",
      "width=100",
      'width="050%"',
      "width=00%",
      'width="100%"',
      "dir=LTR",
      "align=CENTER",
      "color=BLAC\u212a",
      'face="\u212a a"',
      'height="5"',
      "bgcolor=black",
      'bgcolor="#fff"',
      "color=white",
      "size=1",
      "size=+4",
      "align=center",
      "valign=top",
      "border",
      "border=2",
      "cellpadding=5",
      "cellspacing=0",
      "dir=RTL",
      'dir="rtl"',
      'lang="he"',
      'colspan="2"',
      'start="3"',
      "/",
    ],
  ),
);
const tag = fc
  .tuple(
    fc.oneof({ weight: 9, arbitrary: fc.constantFrom(...names) }, fc.constantFrom(...dropping)),
    fc.array(attribute, { maxLength: 3 }),
  )
  .map(([name, all]) => `<${[name, ...all].join(" ")}>`);
const piece = fc.oneof(
  { weight: 4, arbitrary: tag },
  { weight: 4, arbitrary: fc.constantFrom(...names, ...dropping).map((name) => `</${name}>`) },
  {
    weight: 4,
    arbitrary: fc.constantFrom(
      ...[
        "word",
        "Zwei",
        "&",
        "&lt",
        "lt;",
        ";",
        "&nbsp;",
        "&#32;",
        " ",
        "\n",
        "<",
        "</",
        "<!-- a -->",
        "<!--[if mso]>",
        "<![endif]-->",
        "<![CDATA[",
        "]]>",
      ],
      ...[">", '"', "#60;", "<!doctype html>", "&#x202e;", "\u200b", "&NotEqualTilde;", "<![if !mso]>", "<![endif]>"],
    ),
  },
);

/** Tags, broken and whole, with text and character references in any order. */
export const anyHtml = fc.array(piece, { maxLength: 40, size: "max" }).map((pieces) => pieces.join(""));

const text = fc.constantFrom(
  "a",
  "Zwei ",
  " ",
  "\n",
  "&nbsp;",
  "&#8212;",
  "&amp;",
  "1 > 0",
  "é",
  "שלום",
  "👍",
  "x&y",
  "\u200b",
);
const dressed = fc.constantFrom(
  ...[
    "",
    "",
    "",
    ' dir="rtl"',
    ' lang="de-AT"',
    ' style="color: #333"',
    '  style="font-family:&quot;A B&quot;,serif;"',
  ],
  ...[' style="text-align:center" dir="auto"', '\n lang="sv"'],
);

type Inner = { inline: string; block: string };
const { block } = fc.letrec<Inner>((tie) => ({
  inline: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    { weight: 4, arbitrary: text },
    fc.constantFrom(
      "<br>",
      "<br/>",
      "<br />",
      `<img src="cid:${logo}" alt="a &gt; &nbsp;b">`,
      '<a href="https://x.example/?a=1&b=2">x</a>',
    ),
    fc
      .tuple(
        fc.constantFrom(..."b strong i em u s sub sup small del ins mark span code kbd q".split(" ")),
        dressed,
        tie("inline"),
      )
      .map(([name, attributes, inner]) =>
        name === "mark" || name === "small" || name.startsWith("su")
          ? `<${name}>${name}</${name}>`
          : `<${name}${attributes}>${inner}</${name}>`,
      ),
  ),
  block: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    { weight: 3, arbitrary: text },
    fc
      .tuple(fc.constantFrom("p", "h2", "pre", "dt"), dressed, fc.array(tie("inline"), { maxLength: 4 }))
      .map(([name, attributes, inner]) =>
        name === "dt"
          ? `<dl>\n<dt${attributes}>${inner.join("")}</dt></dl>`
          : `<${name}${attributes}>${inner.join("")}</${name}>`,
      ),
    fc
      .tuple(fc.constantFrom("div", "blockquote"), dressed, fc.array(tie("block"), { maxLength: 3 }))
      .map(([name, attributes, inner]) => `<${name}${attributes}>${inner.join("")}</${name}>`),
    fc
      .tuple(fc.constantFrom("ul", "ol", 'ol start="4"'), fc.array(tie("block"), { maxLength: 3 }))
      .map(([name, items]) => `<${name}>${items.map((item) => `<li>${item}</li>\n`).join("")}</${name.slice(0, 2)}>`),
    fc
      .array(tie("block"), { maxLength: 3 })
      .map((all) => `<table>\n<tr>${all.map((one) => `<td colspan="2">${one}</td>`).join(" ")}</tr></table>`),
    fc.constant('<hr style="width:50%"/>'),
    fc.constant(
      '<div style="background-color:#1a1a2e"><h2 style="color:#fff">a</h2><p style="background:white">b</p></div>',
    ),
  ),
}));

/** HTML that a reduction leaves as it is. */
export const subsetHtml = fc.array(block, { maxLength: 6 }).map((all) => all.join(""));

const colours = "white #fff #eee yellow #ccc #888 red #0b57b0 navy #1a1a2e #000 black".split(" ");
const colour = fc.constantFrom(...colours);
const painted = fc.oneof(
  { weight: 2, arbitrary: fc.constant("") },
  colour.map((one) => ` style="color:${one}"`),
  colour.map((one) => ` style="background-color:${one}"`),
  colour.map((one) => ` bgcolor="${one}"`),
  fc.tuple(colour, colour).map(([text, ground]) => ` style="color:${text};background:${ground}"`),
  fc.tuple(colour, colour).map(([text, ground]) => ` bgcolor=${ground} style="color:${text}!important;color:red"`),
);
const { coloured } = fc.letrec<{ coloured: string }>((tie) => ({
  coloured: fc.oneof(
    { depthSize: "medium", withCrossShrink: true },
    fc.constantFrom("a", "b ", " ", "&nbsp;", "&#x200b;", '<img src="cid:logo@x" alt="c">', '<img src=x alt="d">'),
    fc
      .tuple(
        fc.constantFrom(
          ...'div p span font h1 b mark small section a-href="https://x.example" ul><li table><tr><td table><caption'.split(
            " ",
          ),
        ),
        painted,
        painted,
        fc.array(tie("coloured"), { minLength: 1, maxLength: 3 }),
      )
      .map(([name, outer, inner, content]) => {
        const [first = "", ...rest] = name.replace("-", " ").split(">");
        const begin = [`<${first}${outer}>`, ...rest.map((one) => `${one}${inner}>`)].join("");
        const ends = [first.split(" ")[0] ?? "", ...rest.map((one) => one.slice(1))].map((one) => `</${one}>`);
        return begin + content.join("") + ends.reverse().join("");
      }),
  ),
}));

/** Text, pictures, links and lists in colours on grounds within each other. */
export const colouredHtml = fc.array(coloured, { minLength: 1, maxLength: 3 }).map((all) => all.join(""));
