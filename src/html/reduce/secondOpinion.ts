import sanitizeHtml from "sanitize-html";
import { globalAttributes, keptAttributes, keptElements } from "./names.ts";
import { isWithinSubset } from "./withinSubset.ts";

/** The reduced form breaks its own rules: a bug of ours, so it must not be sent. */
export class NotWithinSubset extends Error {}

/** Checks the reducer's output with two other readers. Throws NotWithinSubset if one of them would remove something. */
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
