import { expect } from "chai";
import fc from "fast-check";
import { cutText, cutToBytes, shortenText } from "#streams/cutText.ts";

const segmenter = new Intl.Segmenter("en", { granularity: "grapheme" });
const charactersOf = (text: string): string[] => [...segmenter.segment(text)].map(({ segment }) => segment);

describe("cutting a text", () => {
  const cases: [what: string, text: string, max: number, shown: string][] = [
    ["a text that fits", "a𝒜", 3, "a𝒜"],
    ["a letter of two units at the limit", `${"a".repeat(79)}𝒜b`, 80, "a".repeat(79)],
    ["a letter with its accent apart", "cafe\u0301!", 4, "caf"],
    ["a family joined to one picture", "ab👨‍👩‍👧‍👦c", 12, "ab"],
    ["a family that just fits", "ab👨‍👩‍👧‍👦c", 13, "ab👨‍👩‍👧‍👦"],
    ["the second of two flags", "🇩🇪🇫🇷🇮🇹", 6, "🇩🇪"],
    ["a hand with its colour", "ok👍🏽", 4, "ok"],
    ["a number in its key cap", "press 1️⃣", 7, "press "],
    ["a conjunct of Devanagari", "aक्षि", 3, "a"],
    ["a syllable of Hangul in parts", "a\u1100\u1161\u11a8", 3, "a"],
    ["CR and LF", "ab\r\nc", 3, "ab"],
    ["a text of which nothing may stay", "a", 0, ""],
    ["a character that is longer than the limit", `e${"\u0301".repeat(9)}`, 4, `e${"\u0301".repeat(3)}`],
    ["such a character with a half of a letter at the limit", "👨‍👩‍👧‍👦", 4, "👨‍"],
  ];
  for (const [what, text, max, shown] of cases)
    it(`cutText ends between two characters: ${what}`, () => expect(cutText(text, max)).to.equal(shown));

  const anyText = fc.string({ unit: "grapheme", maxLength: 40 });

  it("cutText returns as many whole characters as fit, of any text", () => {
    fc.assert(
      fc.property(anyText, fc.nat(60), (text, max) => {
        const shown = cutText(text, max);
        const [next = ""] = charactersOf(text.slice(shown.length));
        expect(text.startsWith(shown) && shown.length <= max).to.equal(true);
        if (shown === "" || shown === text) return;
        const isLongFirst = charactersOf(text)[0]!.length > max;
        if (!isLongFirst) expect(charactersOf(text)).to.include.ordered.members(charactersOf(shown));
        expect(shown.length + next.length, "another one would have fitted").to.be.greaterThan(max);
      }),
    );
  });

  it("cutToBytes counts UTF-8, and cuts where cutText does", () => {
    fc.assert(
      fc.property(anyText, fc.nat(80), (text, max) => {
        const shown = cutToBytes(text, max);
        expect(text.startsWith(shown) && shown.isWellFormed()).to.equal(true);
        expect(Buffer.byteLength(shown)).to.be.at.most(max);
        if (Buffer.byteLength(text) <= max) expect(shown).to.equal(text);
      }),
    );
    expect(cutToBytes("añ👨‍👩‍👧‍👦!", 27)).to.equal("añ");
    expect(cutToBytes("añ👨‍👩‍👧‍👦!", 28)).to.equal("añ👨‍👩‍👧‍👦");
  });

  it("shortenText says that there was more", () => {
    expect([shortenText("abc", 3), shortenText("abcd", 3), shortenText("a👍🏽b", 5)]).to.deep.equal([
      "abc",
      "ab…",
      "a…",
    ]);
  });
});
