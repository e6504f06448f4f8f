import { cutText } from "#streams/cutText.ts";

/** Maximum number of UTF-16 units of a text that are searched: of a longer text its beginning and its end. */
const lookedAt = 64 * 1024;
const lookedAtEnd = 16 * 1024;

/** A longer sentence is searched in pieces, to bound the input of each pattern. */
const maxSentence = 600;

/**
 * Splits a stranger's text into sentences for matching: line breaks within a paragraph and quotation marks become blanks, letters that
 * look alike are unified, invisible characters are removed.
 */
export function sentencesOf(text: string): string[] {
  return paragraphsOf(bounded(text)).flatMap((paragraph) =>
    paragraph
      .split(/(?<=[.!?;:])\s+|\s*[•·|]\s+/u)
      .flatMap(pieces)
      .filter((sentence) => sentence.length > 5),
  );
}

const bounded = (text: string): string =>
  text.length <= lookedAt
    ? text
    : `${cutText(text, lookedAt - lookedAtEnd)}\n\n${text.slice(cutText(text, text.length - lookedAtEnd).length)}`;

const paragraphsOf = (text: string): string[] =>
  text
    .normalize("NFKC")
    .replace(/[\p{Cf}\p{Default_Ignorable_Code_Point}]/gu, "")
    .replace(/[’‘ʼ]/g, "'")
    .replace(/\r\n?|[\u2028\u2029]/g, "\n")
    .replace(/^[ \t]*(?:[>|][ \t]?){1,20}/gm, "")
    .split(/\n[ \t]*\n/)
    .map((paragraph) => paragraph.replace(/\s+/g, " ").trim());

/** Pieces overlap, so that a match at a seam is whole in one of them. */
function pieces(sentence: string): string[] {
  const found: string[] = [];
  let rest = sentence;
  do {
    found.push(cutText(rest, maxSentence));
    rest = rest.slice(cutText(rest, maxSentence - overlap).length);
  } while (rest.length > overlap);
  return found;
}

const overlap = 150;
