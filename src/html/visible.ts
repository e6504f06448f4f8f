import { cutText } from "#streams/cutText.ts";

/**
 * Makes a stranger's text safe to display: characters that are invisible, or would reorder the letters around them, are written out as
 * `[U+202E]`. Letters, line breaks and tabs stay; joiners stay, because scripts and emoji need them.
 */
export function visible(text: string): string {
  return text
    .replace(/\r\n?|[\u2028\u2029]/g, "\n")
    .replace(unseen, (found, run: string | undefined) => (run ? named(run) : found));
}

/**
 * Like `visible`, for a value of one line (a name, an address, a subject, a file name): no line breaks, and no direction marks either.
 */
export function visibleLine(text: string): string {
  return visible(text)
    .replace(/[\u200e\u200f\u061c]/g, named)
    .replace(/\s+/g, " ")
    .trim();
}

/** Like `visibleLine`, with at most `max` characters, for places where a long value would push our own words out of sight. */
export function shortLine(text: string, max: number): string {
  // Only the beginning of a long text is read; a run of blanks, which are shown as one, may have to be skipped.
  const start = cutText(text.trimStart(), 16 * max);
  const line = visibleLine(start);
  const characters = [...line];
  if (characters.length <= max && start.length >= text.trim().length) return line;
  return `${cutText(line, characters.slice(0, max - 1).join("").length)}…`;
}

/** True if the text contains characters that a reader cannot see. */
export function hasUnseen(text: string): boolean {
  return visible(text) !== text.replace(/\r\n?|[\u2028\u2029]/g, "\n");
}

// The first alternative is the flag of a country's part (England, Scotland): the one honest use of tag characters. The second takes a run
// of one character, so that a thousand of them make one mark.
const unseen =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: finding them is what it is for
  /\u{1F3F4}[\u{E0030}-\u{E0039}\u{E0061}-\u{E007A}]{2,6}\u{E007F}|(([\u0000-\u0008\u000b-\u001f\u007f-\u009f\u115f\u1160\u180e\u200b\u202a-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\u{E0000}-\u{E007F}]|\p{Cs})\2*)/gu;

function named(run: string): string {
  const [first = ""] = run;
  const count = run.length / first.length;
  const name = `U+${first.codePointAt(0)?.toString(16).toUpperCase().padStart(4, "0")}`;
  return count > 1 ? `[${name} ×${count}]` : `[${name}]`;
}
