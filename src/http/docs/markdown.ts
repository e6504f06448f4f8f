import { Marked, Renderer } from "marked";
import { escaped, html, type Markup, trusted } from "#src/html/html.ts";
import { pageOf } from "./documents.ts";

/** Returns one of the project's pages as HTML. HTML in its text is escaped, and links lead only to the web, to a path or to an anchor. */
export function renderMarkdown(page: string): Markup {
  const slug = slugger();
  const marked = new Marked({
    // Leaves tags and bare addresses as text: an address is a link only where it is written as one.
    tokenizer: { tag: () => undefined, url: () => undefined },
    renderer: {
      html: ({ text }) => (text.startsWith("<!--") ? "" : escaped(text)),
      heading({ tokens, depth }) {
        const id = slug(this.parser.parseInline(tokens, this.parser.textRenderer));
        return html`<h${depth} id="${id}">${trusted(this.parser.parseInline(tokens))}</h${depth}>\n`.markup;
      },
      link({ href, tokens }) {
        const label = this.parser.parseInline(tokens);
        const target = pageOf(href);
        return isLink.test(target) ? html`<a href="${target}">${trusted(label)}</a>`.markup : label;
      },
      // Focusable, so that a wide block can be scrolled by the keyboard.
      code({ text, lang }) {
        return html`<pre tabindex="0"><code${lang && html` class="language-${lang}"`}>${text}\n</code></pre>\n`.markup;
      },
      table(token) {
        return `<div class="table" tabindex="0">${Renderer.prototype.table.call(this, token)}</div>\n`;
      },
    },
  });
  return trusted(marked.parse(page, { async: false }));
}

const isLink = /^(https?:\/\/|\/(?!\/)|#)/;

/** Makes the anchor of a heading as GitHub does: a second heading of the same name gets a number. */
function slugger(): (heading: string) => string {
  const seen = new Map<string, number>();
  return (heading) => {
    const name = heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, "")
      .replaceAll(" ", "-");
    const count = seen.get(name) ?? 0;
    seen.set(name, count + 1);
    return count === 0 ? name : `${name}-${count}`;
  };
}
