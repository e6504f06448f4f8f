import { hasUnseen } from "#src/html/visible.ts";

/** The endings of a file name as programs that open it see them, in lower case, without dots: the last one, and the one before it. */
export type Endings = { last: string; before: string };

/** What looks like a dot counts as one, and what is not seen, or is behind the ending, does not hide it. */
export function endingsOf(filename: string): Endings {
  const name = filename
    .normalize("NFKC")
    .replace(/[\p{Cf}\p{Cc}]/gu, "")
    .replace(/(?<![.\s])[.\s]+$/u, "");
  const [last = "", before = ""] = name
    .split(".")
    .slice(1)
    .reverse()
    .map((ending) => ending.trim().toLowerCase());
  return { last, before };
}

/** Why a name shows something else than it is, in a sentence; undefined if it does not. */
export function trickIn(filename: string): string | undefined {
  if (hasUnseen(filename) || /[\u200e\u200f\u061c]/.test(filename)) {
    return "Its name has invisible characters, or characters that change the order of letters.";
  }
  if (/\s{4,}\.?\S*$/u.test(filename) || /[.\s]$/u.test(filename))
    return "Its name hides its ending behind spaces or dots.";
  return /[\u2024\uff0e\ufe52\u3002]/.test(filename) ? "Its name has characters that only look like a dot." : undefined;
}
