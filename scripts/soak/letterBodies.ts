import { createRandom, type Random } from "../support/random.ts";
import { logo } from "./contentBodies.ts";

/** Generates a letter whose styles and elements carry meaning beyond its words. All words are distinct. */
export function generatedLetter(seed: number): string {
  const random = createRandom(seed);
  return Array.from({ length: 1 + random.below(3) }, () => block(random, random.chance(0.1) ? 3 : 2)).join(
    random.pick(["", "\n"]),
  );
}

type Maker = (random: Random, depth: number) => string;

const many =
  (make: Maker, most: number): Maker =>
  (random, depth) =>
    Array.from({ length: 1 + random.below(most) }, () => make(random, depth)).join("");

const words: Maker = (random) =>
  random.pick([
    `${random.word()} `,
    ` ${random.word()} ${random.word()}`,
    random.word(),
    `${random.below(2_000)}`,
    `~~${random.word()}~~ `,
    ` {+${random.word()}+}`,
    ` ~${random.word()}\\`,
    `&nbsp;${random.word()}\n `,
    ` (${random.word()}) `,
    "<br>",
    `<img src="cid:${logo}" alt="${random.word()}">`,
  ]);

const inline: Maker = (random, depth) => {
  if (depth === 0 || random.chance(0.4)) return words(random, depth);
  const inner = many(inline, 3)(random, depth - 1);
  const name = random.pick("b i u s del ins sup sub strike small mark code q span span span font em".split(" "));
  return random.pick([
    `<${name}>${inner}</${name}>`,
    `<${name} style="${styles(random)}">${inner}</${name}>`,
    `<span dir="${random.pick(["rtl", "ltr", "auto"])}" style="${styles(random)}">${inner}</span>`,
    `<a href="https://x.example/${random.word()}" style="${styles(random)}">${inner}</a>`,
  ]);
};

const block: Maker = (random, depth) => {
  if (depth === 0) return `<p>${many(inline, 4)(random, 2)}</p>`;
  const lines = many(inline, 4);
  const inner = many(block, 2);
  const dressed = (name: string, content: string): string =>
    random.chance(0.5) ? `<${name}>${content}</${name}>` : `<${name} style="${styles(random)}">${content}</${name}>`;
  const list = random.pick([
    "ul",
    "ol",
    `ol start="${random.below(30) - 3}"`,
    'ol type="a" reversed',
    `ol style="${styles(random)}"`,
    `ul style="${styles(random)}"`,
  ]);
  const item = (): string =>
    random.pick([
      `<li>${lines(random, 2)}</li>`,
      `<li value="7" style="${styles(random)}">${lines(random, 2)}</li>`,
      `<li>${inner(random, depth - 1)}</li>`,
      "<li></li>",
    ]);
  const cell = (): string =>
    dressed(random.pick(["td", "th"]), random.chance(0.5) ? lines(random, 2) : inner(random, depth - 1));
  return random.pick<() => string>([
    () => dressed(random.pick(["p", "h2", "pre"]), lines(random, 3)),
    () => dressed(random.pick(["div", "blockquote"]), inner(random, depth - 1)),
    () => `<${list}>${item()}${item()}${item()}</${list.split(" ")[0]}>`,
    () => `<table border="1">${dressed("tr", cell() + cell())}${dressed("tr", cell() + cell() + cell())}</table>`,
    () => `<${random.pick(["s", "u", "sup", "b"])}>${inner(random, depth - 1)}`,
    () => `<dl><dt>${lines(random, 2)}<dd>${lines(random, 2)}</dl><hr>`,
    () => lines(random, 3),
  ])();
};

const styles = (random: Random): string =>
  Array.from({ length: 1 + random.below(3) }, () => random.pick(declarations)).join(";");

const declarations = [
  ..."text-decoration:line-through|text-decoration:underline|text-decoration:none|text-decoration:overline underline dotted red".split(
    "|",
  ),
  ..."text-decoration:line-through!important|text-decoration-line:line-through|TEXT-DECORATION: Underline Line-Through".split(
    "|",
  ),
  ..."vertical-align:super|vertical-align:sub|vertical-align:baseline|vertical-align:top|vertical-align:8px".split("|"),
  ..."list-style-type:none|list-style:decimal|list-style-type:upper-roman|list-style-position:inside|counter-reset:x 9".split(
    "|",
  ),
  ..."text-transform:uppercase|font-variant:small-caps|letter-spacing:9px|word-spacing:-9px|white-space:nowrap|direction:rtl".split(
    "|",
  ),
  ..."padding:20px|padding-left:0|margin:0|margin-left:30px|border:3px solid #000|border-top:9px solid white|height:0|height:4px".split(
    "|",
  ),
  ..."width:1px|max-width:1px|width:50%|line-height:.8|line-height:1|font-size:8px|font-size:40px|font-size:70%|line-height:12px".split(
    "|",
  ),
  ..."color:#fff;background:#000|color:yellow|background:#eee|color:#c00|font-weight:bold|font-style:italic|text-align:right".split(
    "|",
  ),
  ..."float:left|position:relative;top:-9px|margin-top:-20px|display:inline-block|transform:scaleX(-1)|unicode-bidi:bidi-override".split(
    "|",
  ),
];
