/**
 * Decodes text in characters that no program displays but a language model reads: the tag characters that repeat ASCII, and selectors
 * that encode a byte each. Flags of regions are not such text. Undefined if there is none.
 */
export function unseenLetters(text: string): string | undefined {
  const [tags] = text.replace(flag, "").match(tagRun) ?? [];
  if (tags) return [...tags].map((one) => String.fromCharCode(one.codePointAt(0)! - 0xe0000)).join("");
  const [selectors] = text.match(selectorRun) ?? [];
  return selectors && Buffer.from([...selectors].map((one) => byteOf(one.codePointAt(0)!))).toString("utf8");
}

const flag = /\u{1F3F4}[\u{E0030}-\u{E0039}\u{E0061}-\u{E007A}]{2,6}\u{E007F}/gu;
const tagRun = /[\u{E0020}-\u{E007E}]{4,2000}/u;
const selectorRun = /[\u{FE00}-\u{FE0F}\u{E0100}-\u{E01EF}]{4,2000}/u;

const byteOf = (codePoint: number): number => (codePoint < 0xe0100 ? codePoint - 0xfe00 : codePoint - 0xe0100 + 16);
