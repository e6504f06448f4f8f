import sanitizeHtml from "sanitize-html";
import { visible } from "./visible.ts";

/** A fragment that is safe to show, or why it is not shown. */
export type Sanitised = { html: string } | { refused: "too_large" | "too_deep" };

/** Within these limits both parser and reader stay fast: time grows with the square of the depth. */
export const maxHtmlBytes = 1024 * 1024;
export const maxHtmlDepth = 512;

/**
 * Reduces a stranger's HTML to text, structure and tables, with nothing that loads, runs or links anywhere. Styles are removed too, so
 * text hidden by them is shown. A link becomes `<span class="link" data-href="…">`, whose target the stylesheet writes out; an image
 * `<span class="image">` with its alternative text.
 */
export function sanitise(html: string): Sanitised {
  if (Buffer.byteLength(html) > maxHtmlBytes) return { refused: "too_large" };
  try {
    return { html: visible(sanitizeHtml(html, { ...allowed, ...depthGuard() })) };
  } catch (error) {
    if (error instanceof TooDeep) return { refused: "too_deep" };
    throw error;
  }
}

const structure =
  "p br hr div span blockquote pre h1 h2 h3 h4 h5 h6 ul ol li dl dt dd table caption thead tbody tfoot tr th td";
const phrases = "b strong i em u s del ins sub sup small code kbd q cite abbr mark";

const allowed: sanitizeHtml.IOptions = {
  allowedTags: `${structure} ${phrases}`.split(" "),
  allowedAttributes: {
    "*": ["dir", "lang"],
    td: ["colspan", "rowspan"],
    th: ["colspan", "rowspan"],
    ol: ["start"],
    span: ["class", "data-href"],
  },
  disallowedTagsMode: "discard",
  transformTags: {
    a: (_, { href, dir, lang }) => ({
      tagName: "span",
      attribs: { ...direction(dir, lang), ...(href ? { class: "link", "data-href": href.trim() } : {}) },
    }),
    img: (_, { alt }) => ({
      tagName: "span",
      attribs: { class: "image" },
      text: alt ? `[image: ${alt}]` : "[image]",
    }),
    span: (_, { dir, lang }) => ({ tagName: "span", attribs: direction(dir, lang) }),
    td: cell,
    th: cell,
    ol: numbered,
  },
};

function cell(tagName: string, { colspan, rowspan, dir, lang }: sanitizeHtml.Attributes): sanitizeHtml.Tag {
  const spans = Object.entries({ colspan, rowspan }).filter(([, value]) => /^\d{1,2}$/.test(value ?? ""));
  return { tagName, attribs: { ...direction(dir, lang), ...(Object.fromEntries(spans) as sanitizeHtml.Attributes) } };
}

/** Keeps the start number of a list, which is part of its meaning. */
function numbered(tagName: string, { start, dir, lang }: sanitizeHtml.Attributes): sanitizeHtml.Tag {
  return {
    tagName,
    attribs: { ...direction(dir, lang), ...(/^-?\d{1,6}$/.test(start ?? "") && start ? { start } : {}) },
  };
}

function direction(dir: string | undefined, lang: string | undefined): sanitizeHtml.Attributes {
  const sane = /^(ltr|rtl|auto)$/i.test(dir ?? "");
  return { ...(sane && dir ? { dir } : {}), ...(lang ? { lang } : {}) };
}

class TooDeep extends Error {}

/** Stops the parser itself before it becomes slow. */
function depthGuard(): Pick<sanitizeHtml.IOptions, "onOpenTag" | "onCloseTag"> {
  let depth = 0;
  return {
    onOpenTag: () => {
      depth += 1;
      if (depth > maxHtmlDepth) throw new TooDeep();
    },
    onCloseTag: () => {
      depth -= 1;
    },
  };
}
