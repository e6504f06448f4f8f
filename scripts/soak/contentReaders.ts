import { convert } from "html-to-text";
import type { Browser } from "playwright-core";

/** The texts that one reader shows of a mail: pieces of text that have to be on the approval page. */
export type ReaderTexts = { reader: string; texts: string[] };

/** Reads with programs that convert HTML to text, including one that opens Outlook's conditional comments. */
export function plainReaders(html: string): ReaderTexts[] {
  const opened = html.replace(/<!(?:--)?\[(?:if|endif)[^>]*>(?:<!-->)?|<!\[endif\]-->|<!--|-->/gi, " ");
  return [
    { reader: "html-to-text", texts: wordsOf(convert(html, options)) },
    {
      reader: "Outlook",
      texts: [...wordsOf(convert(opened, options)), ...wordsOf(opened.replace(/<[^>]*>|&#?\w+;?/g, " "))],
    },
  ];
}

const options = {
  wordwrap: false as const,
  selectors: [
    { selector: "a", options: { ignoreHref: true } },
    { selector: "img", format: "inline" },
    ...["h1", "h2", "h3", "h4", "h5", "h6"].map((selector) => ({ selector, options: { uppercase: false } })),
  ],
};

/** Extracts the generated words, and longer words of real mail, but not a reader's own bullets and rules. */
const wordsOf = (text: string): string[] => text.match(/[\p{L}\p{N}]{3,}/gu) ?? [];

/** Texts that Chromium shows of a mail. `hidden`: text that styles hide, by its place; `faint`: text that its colour or size hides. */
export type BrowserTexts = { styled: string[]; bare: string[]; hidden: string[]; faint: string[] };

/** Reads many mails at once, each in a separate frame. */
export async function readInBrowser(browser: Browser, mails: string[]): Promise<BrowserTexts[]> {
  const page = await browser.newPage();
  try {
    return (await page.evaluate(`(${reading})(${JSON.stringify(mails).replaceAll("<", "\\u003c")})`)) as BrowserTexts[];
  } finally {
    await page.close();
  }
}

// Source text of a function that runs in the browser.
const reading = String.raw`async (mails) => {
  const frames = mails.map((html) => {
    const frame = document.createElement("iframe");
    frame.sandbox = "allow-same-origin";
    frame.style = "width:800px;height:600px";
    frame.srcdoc = html;
    return frame;
  });
  await Promise.all(frames.map((frame) => new Promise((done) => { frame.onload = done; document.body.append(frame); })));
  const rgb = (text) => (text.match(/[\d.]+/g) ?? []).map(Number);
  const light = (parts) => parts.slice(0, 3).map((p) => p / 255).map((p) => p <= 0.04045 ? p / 12.92 : ((p + 0.055) / 1.055) ** 2.4).reduce((sum, p, i) => sum + p * [0.2126, 0.7152, 0.0722][i], 0);
  const contrast = (a, b) => { const [x, y] = [light(a), light(b)].sort((p, q) => p - q); return (y + 0.05) / (x + 0.05); };
  return frames.map((frame) => {
    const doc = frame.contentDocument;
    const seen = { styled: doc.body.innerText.split(/[\n\t]+/), bare: [], hidden: [], faint: [] };
    for (const element of doc.documentElement.querySelectorAll("*")) {
      for (const name of ["alt", "title", "placeholder", "value", "label", "summary", "content", "aria-label"])
        if (element.hasAttribute(name) && element.localName !== "meta") seen.bare.push(element.getAttribute(name));
      for (const place of ["::before", "::after", "::marker"]) {
        const content = frame.contentWindow.getComputedStyle(element, place).content;
        if (/^".*"$/.test(content)) seen.styled.push(content.slice(1, -1));
      }
      const marker = frame.contentWindow.getComputedStyle(element).listStyleType;
      if (/^"/.test(marker)) seen.styled.push(marker.slice(1, -1));
      if (element.localName === "template") seen.bare.push(element.content.textContent);
    }
    const walker = doc.createTreeWalker(doc.documentElement, 4 | 128);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      if (node.data.trim() === "") continue;
      seen.bare.push(node.data);
      if (node.nodeType !== 3) continue;
      const parent = node.parentElement;
      const style = frame.contentWindow.getComputedStyle(parent);
      const range = doc.createRange();
      range.selectNode(node);
      const box = range.getBoundingClientRect();
      const empty = box.width === 0 && /[\p{L}\p{N}]/u.test(node.data);
      if (empty || style.visibility !== "visible" || Number(style.opacity) < 1) seen.hidden.push(node.data);
      // No inline ground is drawn behind a block in it, and no table's behind its caption.
      let block = false, caption = false, ground = parent;
      for (; ground; ground = ground.parentElement) {
        const { display, backgroundColor } = frame.contentWindow.getComputedStyle(ground);
        const drawn = !(block && display === "inline") && !(caption && display === "table");
        if (drawn && rgb(backgroundColor)[3] !== 0) break;
        if (display !== "inline") block = true;
        if (display === "table" || display === "table-caption") caption = display === "table-caption";
      }
      const back = ground ? rgb(frame.contentWindow.getComputedStyle(ground).backgroundColor) : [255, 255, 255];
      if (contrast(rgb(style.color), back) < 1.99 || parseFloat(style.fontSize) < 7.9) seen.faint.push(node.data);
    }
    return seen;
  });
}`;
