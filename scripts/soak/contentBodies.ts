import PostalMime from "postal-mime";
import { corpus, hasCorpus } from "#test/mail/in/mails.ts";
import { createRandom, type Random } from "../support/random.ts";

/** The sha256 of a picture that bodies refer to as `cid:logo@x`. */
export const logo = "a1".repeat(32);

/**
 * Generates a body like one by an agent or an attacker. Every text in it is a distinct word, so that none can be mistaken for another.
 */
export function generatedBody(seed: number): string {
  const random = createRandom(seed);
  const body = Array.from({ length: 2 + random.below(3) }, () => piece(random, 3)).join(random.pick(["", "\n"]));
  if (random.chance(0.2))
    return `<!DOCTYPE html><html dir="rtl"><head><title>${random.word()}</title><style>p::after{content:"${random.word()}"} .x{display:none}</style></head><body bgcolor="${colour(random)}" text="${colour(random)}">${body}</body></html>`;
  return body;
}

function piece(random: Random, depth: number): string {
  if (depth === 0 || random.chance(0.25)) return text(random);
  return random.pick(random.chance(0.6) ? honest : hostile)(random, () =>
    Array.from({ length: 1 + random.below(2) }, () => piece(random, depth - 1)).join(""),
  );
}

type Maker = (random: Random, inner: () => string) => string;

const text = (random: Random): string =>
  random.pick([
    `${random.word()} `,
    `${random.word()}&nbsp;${random.word()} `,
    ` ${random.word()} &lt;${random.word()}&gt; `,
    `\u202e${random.word()}\u200b `,
    `&#x200b;${random.word()} & ${random.word()}; `,
    `<img src="${random.pick(["cid:logo@x", "https://t.example/p.gif", "data:image/png;base64,x"])}" alt="${random.word()}" title="${random.word()}">`,
  ]);

const colour = (random: Random): string =>
  random.pick([
    "#fff",
    "white",
    "#000000",
    "black",
    "#fefefe",
    "rgb(0, 0, 1)",
    "navy",
    "red",
    "#ccc",
    "transparent",
    "yellow",
  ]);

const style = (random: Random): string =>
  random.pick([
    `color:${colour(random)}`,
    `background:${colour(random)};color:${colour(random)}`,
    `background-color:${colour(random)} !important`,
    `font-size:${random.pick(["0", "1px", "6pt", ".5em", "70%", "smaller", "20px", "3em", "14px"])};line-height:${random.pick(["0", "1", "1.4", "8px"])}`,
    "display:none",
    "mso-hide:all;max-height:0;overflow:hidden",
    "position:absolute;left:-9999px",
    "text-indent:-999px;opacity:0",
    `content:"${random.word()}";list-style-type:"${random.word()}"`,
    "margin:0 auto;width:600px;padding:1em",
  ]);

const honest: Maker[] = [
  (_, inner) => `<p>${inner()}</p>`,
  (random, inner) => `<div style="${style(random)}" title="${random.word()}">${inner()}</div>`,
  (random, inner) => `<span style="${style(random)}">${inner()}</span>`,
  (random, inner) => `<${random.pick(["ol start=3", "ul", "ol"])}><li>${inner()}<li>${inner()}</ol>`,
  (random, inner) =>
    `<table border=1 cellpadding=4 summary="${random.word()}"><caption>${inner()}</caption><tr bgcolor="${colour(random)}"><td>${inner()}<th>${inner()}</table>`,
  (random, inner) =>
    `<table><tr><td bgcolor="${colour(random)}"><h1 style="color:${colour(random)}">${inner()}</h1><a href="https://x.example" style="color:${colour(random)}">${random.word()}</a></table>`,
  (random, inner) =>
    `<div style="background-color:${colour(random)}"><p style="color:${colour(random)}">${random.word()} <i style="background:${colour(random)}">${inner()}</i></p></div>`,
  (random, inner) => `<font color="${colour(random)}" size="${random.below(9)}">${inner()}</font><br>`,
  (random, inner) => `<a href="https://x.example/${random.word()}" title="${random.word()}">${inner()}</a>`,
  (random, inner) => `<h${1 + random.below(6)}>${inner()}</h1>`,
  (_, inner) => `<blockquote><q>${inner()}</q></blockquote><hr>`,
  (random, inner) => `<${random.pick(["b", "i", "small", "sub", "sup", "del", "mark", "code"])}>${inner()}</b>`,
  (_, inner) => `<dl><dt>${inner()}<dd>${inner()}</dl><pre>${inner()}</pre>`,
  (random, inner) =>
    `<${random.pick(["section", "article", "center", "address", "details open", "fieldset", "label", "form"])}>${inner()}</section>`,
];

const hostile: Maker[] = [
  (random, inner) =>
    `<${random.pick(["textarea", "title", "xmp", "noembed", "noframes", "iframe", "style", "script"])}>${inner()}</${random.pick(["textarea", "title", "xmp", "noembed", "noframes", "iframe", "style", "script"])}>`,
  (random, inner) =>
    `<select><option label="${random.word()}">${inner()}</option></select><datalist><option value="${random.word()}"></datalist>`,
  (random) =>
    `<input value="${random.word()}" placeholder="${random.word()}"><input type=submit value=${random.word()}><button>${random.word()}</button>`,
  (random) => `<!--[if mso]><p>${random.word()}</p><![endif]--><!-- ${random.word()} -->`,
  (random, inner) => `<![if !mso]>${inner()}<![endif]><!--[if !mso]><!-->${random.word()}<!--<![endif]-->`,
  (random) => `<!--[if gte mso 9]><xml>${random.word()}</xml><![endif]-->`,
  (random) =>
    `<object data=x>${random.word()}</object><video>${random.word()}</video><canvas>${random.word()}</canvas>`,
  (random) =>
    `<svg><text>${random.word()}</text><foreignObject><p>${random.word()}</p></foreignObject><desc>${random.word()}</svg>`,
  (random) => `<math><mtext>${random.word()}</mtext><annotation>${random.word()}</annotation></math>`,
  (random) =>
    `<template>${random.word()}</template><noscript>${random.word()}</noscript><dialog>${random.word()}</dialog>`,
  (random, inner) => `<p hidden>${inner()}</p><details><summary>${random.word()}</summary>${inner()}</details>`,
  (random, inner) => `<a href="java&#9;script:${random.word()}">${inner()}</a><a href="#${random.word()}">${inner()}`,
  (random, inner) => `<table>${text(random)}<tr>${inner()}<td>${inner()}</tr>${text(random)}</table>`,
  (random, inner) => `<p><table><div>${inner()}</p></div><select>${random.word()}</table>`,
  (random) => `<p title='<b>${random.word()}'>${random.word()}<${random.word()} x="${random.word()}>`,
  (random) => `<![CDATA[${random.word()}]]><?xml ${random.word()}?></${random.word()}><!${random.word()}>`,
  (random) =>
    `&<x>lt;b>${random.word()}<!---->&lt<y>;${random.word()}<!--${random.pick(["-->", "--!>", ">", "->", "--"])}${random.word()}-->`,
  (random) =>
    `<meter value=1>${random.word()}</meter><progress>${random.word()}</progress><output>${random.word()}</output><ruby>${random.word()}<rt>${random.word()}</ruby>`,
  (_, inner) => `<b><div><i>${inner()}</b>${inner()}</div></i>`,
];

const archives = ["mime", "automatic", "list-mail", "replies"];

/** Returns the HTML parts of real mail, of some archives or of all; none if that mail is not on this machine. */
export async function realBodies(from: readonly string[] = archives): Promise<{ name: string; html: string }[]> {
  const found: { name: string; html: string }[] = [];
  for (const { name, raw } of from.filter(hasCorpus).flatMap(corpus)) {
    if (!/<\w|text\/html|base64/i.test(raw.toString("latin1"))) continue;
    const { html } = await PostalMime.parse(raw).catch(() => ({ html: undefined }));
    if (html) found.push({ name, html });
  }
  return found;
}
