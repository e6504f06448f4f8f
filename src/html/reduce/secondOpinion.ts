import sanitizeHtml from "sanitize-html";
import { globalAttributes, keptAttributes, keptElements } from "./names.ts";
import { isWithinSubset } from "./withinSubset.ts";

/** The reduced form is not what it has to be: a bug of ours, and nothing that may leave. */
export class NotWithinSubset extends Error {}

/** Two more readers look at what the reducer made. Throws NotWithinSubset if one of them would take something away. */
export function assertAgreed(html: string): void {
  if (!isWithinSubset(html)) throw new NotWithinSubset("the reduced form is outside its grammar");
  const strict = sanitizeHtml(html, { ...asItIs, ...withinTheList });
  if (strict !== sanitizeHtml(html, asItIs) || count(strict) !== count(html))
    throw new NotWithinSubset("a sanitiser would change the reduced form");
}

const count = (html: string): number => html.split("<").length;

const asItIs: sanitizeHtml.IOptions = {
  allowedTags: false,
  allowedAttributes: false,
  allowVulnerableTags: true,
  allowedSchemesAppliedToAttributes: [],
  parseStyleAttributes: false,
  nonTextTags: [],
  selfClosing: ["img", "br", "hr", "col"],
};

const withinTheList: sanitizeHtml.IOptions = {
  allowedTags: [...keptElements],
  allowedAttributes: {
    "*": [...globalAttributes],
    ...Object.fromEntries([...keptAttributes].map(([name, attributes]) => [name, [...attributes]])),
  },
  allowedSchemes: ["http", "https", "mailto", "tel"],
  allowedSchemesByTag: { img: ["cid"] },
  allowedSchemesAppliedToAttributes: ["href", "src"],
  allowProtocolRelative: false,
};
