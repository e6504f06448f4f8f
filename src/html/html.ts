import { visible } from "./visible.ts";

/** Finished HTML: made by the `html` template, or vouched for by `trusted`. */
export class Markup {
  readonly markup: string;
  constructor(markup: string) {
    this.markup = markup;
  }
  toString(): string {
    return this.markup;
  }
}

export type MarkupValue = string | number | Markup | null | undefined | false | readonly MarkupValue[];

/**
 * Template that escapes every value, in text and in quoted attributes, unless it is Markup already. null, undefined and false render as
 * nothing.
 */
export function html(strings: TemplateStringsArray, ...values: MarkupValue[]): Markup {
  return new Markup(strings.reduce((made, string, index) => made + rendered(values[index - 1]) + string));
}

/** Marks a string as HTML that did not come from the template: a stylesheet of ours. */
export const trusted = (markup: string): Markup => new Markup(markup);

/** Escapes text for an element or a quoted attribute, and makes invisible characters visible. */
export function escaped(text: string): string {
  return visible(text).replace(/[&<>"']/g, (character) => entities[character] ?? "");
}

const entities: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };

function rendered(value: MarkupValue): string {
  if (value === null || value === undefined || value === false) return "";
  if (value instanceof Markup) return value.markup;
  if (typeof value === "object") return value.map(rendered).join("");
  return escaped(String(value));
}
