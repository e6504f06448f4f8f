import type { MailElement } from "./quotations.ts";

/** Maximum number of UTF-16 units, and of selectors, that are read from all style sheets of a mail together. */
const maxLength = 128 * 1024;
const maxSelectors = 2_000;
/** Maximum number of classes that are read from one element. */
const maxClasses = 20;

/** The declarations of a mail's style sheets by the last part of their selectors. */
export type StyleSheet = {
  /** Adds the text of a style element. */
  add(css: string): void;
  /** Returns declarations that may apply to this element: conditions of their selectors on surrounding elements are ignored. */
  declarationsFor(element: Pick<MailElement, "name" | "attributes">): string;
};

/** Matches a CSS comment. */
export const cssComment = /\/\*[^*]*(?:\*(?!\/)[^*]*)*\*\//g;
const unread = new RegExp(`${cssComment.source}|<!--|-->`, "g");

/** Matches a class or an id, perhaps with its element; a bare element only in a selector without surrounding elements. */
const lastPart = /(?:^|[\s>+~])([a-z0-9]*[.#][\w-]+)$|^([a-z0-9]+)$/i;
const atRule = /@[^;{}]{0,1000}(?:;|\{(?:[^{}]*\{[^{}]*\})*[^{}]*\})/g;
const rule = /([^{}]+)\{([^{}]*)\}/g;

export function createStyleSheet(): StyleSheet {
  const declarations = new Map<string, string>();
  let left = maxLength;
  return {
    add(css) {
      const text = css.slice(0, left).replace(unread, "");
      left -= Math.min(left, css.length);
      // Media rules are for small screens and printers.
      for (const [, selectors = "", declared = ""] of text.replace(atRule, "").matchAll(rule)) {
        for (const selector of selectors.split(",")) {
          const [, ofClass, ofElement] = lastPart.exec(selector.trim().slice(-200)) ?? [];
          const key = ofClass ?? ofElement?.toLowerCase();
          if (key !== undefined && declarations.size < maxSelectors)
            declarations.set(key, `${declarations.get(key) ?? ""};${declared}`.slice(-1_000));
        }
      }
    },
    declarationsFor({ name, attributes }) {
      if (declarations.size === 0) return "";
      const classes = (attributes.get("class") ?? "").split(/\s+/, maxClasses).map((each) => `.${each}`);
      const keys = [...classes, `#${attributes.get("id") ?? ""}`];
      return [name, ...keys, ...keys.map((key) => name + key)].map((key) => declarations.get(key) ?? "").join(";");
    },
  };
}
