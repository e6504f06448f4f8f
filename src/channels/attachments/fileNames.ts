import { hasUnseen } from "#src/html/visible.ts";

/** Extensions of a file name as programs see them, in lower case, without dots: the last one, and the one before it. */
export type FileExtensions = { last: string; before: string };

/** Characters that look like a dot count as one; invisible characters, and any after the extension, are ignored. */
export function endingsOf(filename: string): FileExtensions {
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

/** Explains, in a sentence, how a name misleads about the file; undefined if it does not. */
export function trickIn(filename: string): string | undefined {
  if (hasUnseen(filename) || /[\u200e\u200f\u061c]/.test(filename)) {
    return "Its name has invisible characters, or characters that change the order of letters.";
  }
  if (/\s{4,}\.?\S*$/u.test(filename) || /[.\s]$/u.test(filename))
    return "Its name hides its ending behind spaces or dots.";
  return /[\u2024\uff0e\ufe52\u3002]/.test(filename) ? "Its name has characters that only look like a dot." : undefined;
}
