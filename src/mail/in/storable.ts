const controls = /\p{Cc}+/gu;

/** Text that JSON and PostgreSQL can hold: NUL and halves of surrogate pairs become U+FFFD. */
export const storable = (text: string): string => Buffer.from(text.replaceAll("\0", "\ufffd")).toString();

/** The same on one line, without control characters, of at most `maxLength` UTF-16 units. */
export const storableLine = (text: string, maxLength: number): string =>
  storable(
    text
      .slice(0, maxLength * 2)
      .replace(controls, " ")
      .trim()
      .slice(0, maxLength),
  );
