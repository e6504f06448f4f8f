import { expect } from "chai";
import fc from "fast-check";
import { mostParts, parseQuery } from "#projections/search/parseQuery.ts";
import { foldText, searchVector, wordsOf } from "#projections/search/words.ts";

describe("the words of a search", () => {
  it("search words are without case, accents and forms of letters", () => {
    for (const [typed, folded] of [
      ["MÜLLER", "muller"],
      ["Cafe\u0301", "cafe"],
      ["café", "cafe"],
      ["Straße", "strasse"],
      ["Łódź", "lodz"],
      ["Søren Æbelø", "soren aebelo"],
      ["ＦＵＬＬ", "full"],
      ["İstanbul", "istanbul"],
      ["№ 5 ™ 𝐇𝐢", "no 5 tm hi"],
    ] as const)
      expect(foldText(typed), typed).to.equal(folded);
  });

  it("search words are split at all but letters and digits, and at every sign in scripts without spaces", () => {
    expect(wordsOf("Ann@customer.example: INV-2024/07, don't!")).to.deep.equal(
      ["ann", "customer", "example", "inv", "2024", "07", "don", "t"], // prettier-ignore
    );
    expect(wordsOf("東京タワー tower")).to.deep.equal(["東", "京", "タ", "ワ", "ー", "tower"]);
    expect(wordsOf("😀 &|!():*'\\ \0\ud800 𖿢")).to.deep.equal([]);
  });

  it("a long search word is cut between two characters, never within one", () => {
    expect(wordsOf(`${"x".repeat(59)}𐐨𐐨 ${"𐐨".repeat(40)}`)).to.deep.equal(["x".repeat(59), "𐐨".repeat(30)]);
  });

  it("search words are parsed as parts, phrases and exclusions", () => {
    expect(parseQuery('late -refund "not Delivered" ann@x.example')).to.deep.equal({
      having: [
        { words: [{ word: "late", match: "part" }] },
        {
          words: [
            { word: "not", match: "whole" },
            { word: "delivered", match: "whole" },
          ],
        },
        {
          words: [
            { word: "ann", match: "suffix" },
            { word: "x", match: "whole" },
            { word: "example", match: "prefix" },
          ],
        },
      ],
      without: [{ words: [{ word: "refund", match: "whole" }] }],
    });
    expect(parseQuery('"')).to.deep.equal({ having: [], without: [] });
    expect(parseQuery('-"')).to.deep.equal({ having: [], without: [] });
  });

  it("the first few words of a search match parts of words, the others whole words", () => {
    const typed = Array.from({ length: 300 }, (_, index) => `abc${index}`);
    const { having } = parseQuery(typed.join(" "));
    const matches = having.flatMap(({ words }) => words.map(({ match }) => match));
    expect(matches).to.deep.equal(typed.map((_, index) => (index < mostParts ? "part" : "whole")));
    const joined = parseQuery(typed.map((word) => `${word}.x`).join(" ")).having.flatMap(({ words }) => words);
    expect(joined.filter(({ match }) => match !== "whole")).to.have.length(mostParts);
  });

  it("search words are read from any text, within the limits of a vector", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 300 }), (text) => {
        const { having, without } = parseQuery(text);
        for (const { words } of [...having, ...without])
          for (const { word } of words) expect(word).to.match(/^[\p{L}\p{N}]+$/u);
        for (const word of searchVector([text, text], text).words) expect(word).to.match(/^@?[\p{L}\p{N}]+$/u);
      }),
    );
    const long = searchVector(["a ".repeat(50_000), `${"b".repeat(5_000)} c`], "Ann ann@x.example");
    expect(long.words).to.deep.equal(["@ann", "@x", "@example", "a"]);
  });
});
