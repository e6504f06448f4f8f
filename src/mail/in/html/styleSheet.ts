import type { MailElement } from "./quotations.ts";

/** UTF-16 units and selectors that are read of all style sheets of a mail. */
const maxLength = 128 * 1024;
const maxSelectors = 2_000;
/** Classes that are read of one element. */
const maxClasses = 20;

/** The declarations of a mail's style sheets by the last part of their selectors. */
export type StyleSheet = {
  /** Adds the text of a style element. */
  add(css: string): void;
  /** Declarations that may be for this element: what its selectors say of the elements around it is not judged. */
  declarationsFor(element: Pick<MailElement, "name" | "attributes">): string;
};

/** A comment of CSS. */
export const cssComment = /\/\*[^*]*(?:\*(?!\/)[^*]*)*\*\//g;
const unread = new RegExp(`${cssComment.source}|<!--|-->`, "g");

/** A class or an id, perhaps with its element; an element alone only where nothing is said of what is around it. */
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
      // Rules of a medium are for small screens and for printers.
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
