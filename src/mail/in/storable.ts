import { cutText } from "#streams/cutText.ts";

const controls = /\p{Cc}+/gu;
const c1Controls = /[\u0080-\u009f]/g;
const windows1252 =
  "\u20ac\ufffd\u201a\u0192\u201e\u2026\u2020\u2021\u02c6\u2030\u0160\u2039\u0152\ufffd\u017d\ufffd" +
  "\ufffd\u2018\u2019\u201c\u201d\u2022\u2013\u2014\u02dc\u2122\u0161\u203a\u0153\ufffd\u017e\u0178";

/**
 * Makes text that JSON and PostgreSQL can hold: NUL and halves of surrogate pairs become U+FFFD. C1 control characters, which no mail
 * uses as such, become the Windows characters of the same code: dashes and quotation marks. Node 20 decodes windows-1252 as if it were
 * Latin-1, and some senders declare it so.
 */
export const storable = (text: string): string =>
  Buffer.from(text.replaceAll("\0", "\ufffd"))
    .toString()
    .replace(c1Controls, (control) => windows1252[control.charCodeAt(0) - 0x80]!);

/** Like `storable`, on one line, without control characters, cut to `maxLength` UTF-16 units. */
export const storableLine = (text: string, maxLength: number): string =>
  cutText(
    storable(cutText(text, maxLength * 2))
      .replace(controls, " ")
      .trim(),
    maxLength,
  );
