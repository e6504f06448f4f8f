import type { Browser } from "playwright-core";

/**
 * A piece of what a reader sees, in order: the marker of a list item, or text with its marks. Marks are `s`, `u` and `q`, then `^` and
 * `_` from the outermost to the innermost; `rtl` is the reading direction, if known.
 */
export type SeenPiece = { marker: string } | { text: string; marks: string; rtl?: boolean };

/** `overlaid`: texts that overlap each other. */
export type LetterReading = { seen: SeenPiece[]; overlaid: string[] };

type WalkedLetter = { seen: (SeenPiece | null)[]; overlaid: string[] };

/** Reads letters as Chromium shows them: marks by the computed styles, markers of lists from its accessibility tree. */
export async function readLetters(browser: Browser, letters: readonly string[], style = ""): Promise<LetterReading[]> {
  const page = await browser.newPage();
  try {
    const articles = letters
      .map(
        (html) => `<article style="contain:layout">${html.replace(/ src="cid:[^"]*"/g, ` src="${picture}"`)}</article>`,
      )
      .join("\n");
    await page.setContent(`<!doctype html><meta charset="utf-8"><style>${style}</style><body>${articles}</body>`);
    const walked = (await page.evaluate(walk)) as WalkedLetter[];
    const markers = await markersOf(page);
    return walked.map(({ seen, overlaid }) => ({
      seen: seen.map((one) => one ?? { marker: markers.shift() ?? "(none)" }),
      overlaid,
    }));
  } finally {
    await page.close();
  }
}

/** A picture of one pixel. */
const picture = "data:image/gif;base64,R0lGODlhAQABAAAAACH5BAEKAAEALAAAAAABAAEAAAICTAEAOw==";

type AxNode = { nodeId: string; role?: { value: unknown }; name?: { value: unknown }; childIds?: string[] };

/** Returns every marker of a list item, in document order. */
async function markersOf(page: Awaited<ReturnType<Browser["newPage"]>>): Promise<string[]> {
  const session = await page.context().newCDPSession(page);
  const { nodes } = (await session.send("Accessibility.getFullAXTree")) as { nodes: AxNode[] };
  const byId = new Map(nodes.map((node) => [node.nodeId, node]));
  const markers: string[] = [];
  const visit = (node: AxNode | undefined): void => {
    if (node?.role?.value === "ListMarker") markers.push(String(node.name?.value ?? "").trim());
    else for (const id of node?.childIds ?? []) visit(byId.get(id));
  };
  visit(nodes[0]);
  return markers.map((marker) => (/\d/.test(marker) ? marker : "*"));
}

// Source text of a function that runs in the browser.
const walk = String.raw`(() => {
  const marksOf = (node, article) => {
    let lines = "", heights = "";
    for (let element = node.parentElement; element !== article; element = element.parentElement) {
      const { textDecorationLine, verticalAlign } = getComputedStyle(element);
      if (textDecorationLine.includes("line-through")) lines += "s";
      if (textDecorationLine.includes("underline") && !element.matches("a, .link")) lines += "u";
      if (element.localName === "q") lines += "q";
      if (verticalAlign === "super" || verticalAlign === "sub") heights = (verticalAlign === "super" ? "^" : "_") + heights;
    }
    return ["s", "u", "q"].filter((mark) => lines.includes(mark)).join("") + heights;
  };
  const letters = (text) => /[\p{L}\p{N}]/u.test(text);
  return [...document.querySelectorAll("article")].map((article) => {
    const seen = [], boxes = [], overlaid = [];
    const walker = document.createTreeWalker(article, 1 | 4);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      if (node.nodeType === 1) {
        if (node.localName === "li") seen.push(null);
        if (node.localName === "img") seen.push({ text: node.alt, marks: marksOf(node, article), rtl: getComputedStyle(node.parentElement).direction === "rtl" });
        continue;
      }
      if (!letters(node.data)) continue;
      const parent = node.parentElement;
      const style = getComputedStyle(parent);
      const range = document.createRange();
      range.selectNodeContents(node);
      const rects = [...range.getClientRects()].filter(({ width, height }) => width > 0 && height > 0);
      if (rects.length === 0 || style.visibility !== "visible") overlaid.push("not shown: " + node.data);
      const text = parent.matches(".image") ? node.data.replace(/^\[image(?:: )?/, "").replace(/\]$/, "") : node.data;
      const cased = style.textTransform === "uppercase" ? text.toUpperCase() : text;
      seen.push({ text: cased, marks: marksOf(node, article), rtl: style.direction === "rtl" });
      // The boxes of large letters reach a little over their line.
      for (const rect of rects) {
        for (const [other, data] of boxes) {
          const width = Math.min(rect.right, other.right) - Math.max(rect.left, other.left);
          const height = Math.min(rect.bottom, other.bottom) - Math.max(rect.top, other.top);
          if (width > 2 && height > 0.5 * Math.min(rect.height, other.height)) overlaid.push("on each other: " + data + " / " + node.data);
        }
      }
      boxes.push(...rects.map((rect) => [rect, node.data]));
    }
    return { seen, overlaid };
  });
})()`;

/** Reads a plain text by its signs alone, using only what the documentation says about them. Quotations may span several lines. */
export function readSigns(text: string): SeenPiece[] {
  const quotes = { open: 0 };
  return text.split("\n").flatMap((line) => {
    const [start = "", markers = ""] = /^[> ]*((?:[> ]*(?:-?\d+\.|\*)(?: |$))*)/.exec(line) ?? [];
    const found = [...markers.matchAll(/-?\d+\.|\*/g)].map(([marker]): SeenPiece => ({ marker }));
    return [...found, ...readLine(line.slice(start.length), quotes)];
  });
}

function readLine(line: string, quotes: { open: number }): SeenPiece[] {
  const seen: SeenPiece[] = [];
  const on = { s: false, u: false };
  const heights: string[] = [];
  const show = (text: string, own = ""): void => {
    const marks = `${on.s ? "s" : ""}${on.u ? "u" : ""}${quotes.open > 0 ? "q" : ""}${heights.join("")}${own}`;
    seen.push({ text, marks });
  };
  const signs =
    / ?\[(?:https?|tel|mailto):[^\]]*\]|\[image: |\\([\\~{+)])|~{3,}|~~|\{\+|\+\}|([\^_])\(|\)|([\^_])(\p{N}+|\p{L}+)|[“”‘’]|[\p{L}\p{N}]+/gu;
  for (const [sign, escaped, opened, mark, word] of line.matchAll(signs)) {
    if (escaped !== undefined) show(escaped);
    else if (sign === "~~") on.s = !on.s;
    else if (sign === "{+" || sign === "+}") on.u = sign === "{+";
    else if (opened !== undefined) heights.push(opened);
    else if (sign === ")") heights.pop();
    else if (mark !== undefined) show(word ?? "", mark);
    else if ("“‘".includes(sign)) quotes.open += 1;
    else if ("”’".includes(sign)) quotes.open -= 1;
    else if (/^[\p{L}\p{N}]/u.test(sign)) show(sign);
  }
  return seen;
}
