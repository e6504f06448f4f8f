import { expect } from "chai";
import { type EarlierText, earlierText } from "#src/channels/card/earlierTexts.ts";
import { foldQuotations, foldQuote } from "#src/channels/card/quotes.ts";

const ours = "Dear Ada,\n\nshall we cancel your order 4711?\nIt costs nothing.\n\nLena";
const quoted = (text: string): string => text.replace(/^/gm, "> ").replace(/^> $/gm, ">");
const attribution = "On Mon, Nov 23, 2026 at 10:12 AM Support <support@agents.example> wrote:";

const fold = (text: string | null, earlier: readonly string[]) => foldQuotations(text, earlier.map(earlierText));

describe("foldQuotations", () => {
  it("a quotation of an earlier message is folded with the line that introduces it", () => {
    const text = `Yes, please.\n\n${attribution}\n\n${quoted(ours)}`;
    expect(fold(text, ["Something else", ours])).to.deep.equal({
      newText: "Yes, please.",
      quotedText: `${attribution}\n\n${quoted(ours)}`,
    });
  });

  it("a quotation is folded although its lines are broken differently or it quotes an older message itself", () => {
    const broken = quoted(ours.replace("your order", "your\norder"));
    const older = "> > My lamp is broken.";
    const text = `Yes.\n\n${attribution}\n${broken}\n>\n> On 22/11/2026 09:00, Ada wrote:\n${older}`;
    const { newText, quotedText } = fold(text, [ours, "My lamp is broken."]);
    expect(newText).to.equal("Yes.");
    expect(quotedText).to.include(older);
  });

  it("an earlier message below a block of header fields is folded", () => {
    const header = "From: Support <s@x.example>\nSent: Monday, November 23, 2026 10:12\nTo: Ada\nSubject: Order";
    const { newText, quotedText } = fold(`Yes.\n\n${header}\n\n${ours}`, [ours]);
    expect([newText, quotedText]).to.deep.equal(["Yes.", `${header}\n\n${ours}`]);
  });

  for (const [name, quotation] of [
    ["is in no earlier message", quoted("We promise a full refund.")],
    ["has a sentence more than the earlier message", quoted(`${ours}\n\nAnd a full refund.`)],
    ["changes a word of the earlier message", quoted(ours.replace("nothing", "something"))],
  ] as const) {
    it(`a quotation that ${name} is not folded`, () => {
      const text = `As you said.\n\n${attribution}\n\n${quotation}`;
      expect(fold(text, [ours])).to.deep.equal({ newText: text, quotedText: "" });
    });
  }

  it("all of 60 quotations are folded, in the order of the earlier message or not", () => {
    const lines = Array.from({ length: 60 }, (_, index) => `This is line number ${index}.`);
    const answered = (all: readonly string[]) => all.map((line) => `> ${line}\n\nYes.`).join("\n\n");
    for (const order of [lines, lines.toReversed()])
      expect(fold(answered(order), ["Something else", lines.join("\n\n")]).newText).to.equal(
        lines.map(() => "Yes.").join("\n\n"),
      );
  });

  it("nothing is folded in a text above 64 KB or 4,000 lines", () => {
    for (const long of ["x".repeat(64 * 1024), "x\n".repeat(4_000)].map((text) => `${text}\n\n> Old.`))
      expect(fold(long, ["Old."])).to.deep.equal({ newText: long, quotedText: "" });
    expect(fold(`${"x\n".repeat(3_900)}\n\n> Old.`, ["Old."]).quotedText).to.equal("> Old.");
  });

  it("answers between two quotations and a signature are not folded", () => {
    const text = `${attribution}\n> shall we cancel your order 4711?\nYes.\n\n> It costs nothing.\nGood.\n\n-- \nAda Lund\n+49 30 123456`;
    const { newText } = fold(text, [ours]);
    expect(newText).to.equal("Yes.\n\nGood.\n\n-- \nAda Lund\n+49 30 123456");
  });

  it("nothing is folded in a text that quotes nothing or is nothing but a quotation", () => {
    const flowed = "this is about order 1029. Please \ntell me what comes next. \n\nThanks \n";
    expect(fold(flowed, [flowed]).quotedText).to.equal("");
    expect(fold(quoted(ours), [ours])).to.deep.equal({ newText: quoted(ours), quotedText: "" });
    expect(fold(null, [ours])).to.deep.equal({ newText: "", quotedText: "" });
  });
});

describe("the search for a quotation", () => {
  /** Returns earlier texts, and a set that gets the index of each one that is read. */
  function readTexts(texts: readonly string[]) {
    const read = new Set<number>();
    const earlier = texts.map((text, index): EarlierText => {
      const { words } = earlierText(text);
      return {
        get words() {
          read.add(index);
          return words;
        },
      };
    });
    return { earlier, read };
  }

  it("the search for quotations ends after four texts of the greatest length and leaves the rest unfolded", () => {
    const { earlier, read } = readTexts([...Array.from({ length: 30 }, () => "x y ".repeat(16_384)), "a b"]);
    const text = `${"Yes.\n\n> a b\n\n".repeat(900)}No.`;
    expect(foldQuotations(text, earlier)).to.deep.equal({ newText: text, quotedText: "" });
    expect([...read]).to.deep.equal([0, 1, 2, 3]);
  });

  it("the search for a quotation ends early in a text that repeats the start of the quotation", () => {
    const { earlier, read } = readTexts(["a ".repeat(32_000), `b ${"a ".repeat(1_000)}c`]);
    const text = `Yes.\n\n> ${"a ".repeat(1_000)}c`;
    expect(foldQuotations(text, earlier)).to.deep.equal({ newText: text, quotedText: "" });
    expect([...read]).to.deep.equal([0]);
  });

  it("the search for a quotation reads only the newest message where that contains all of it", () => {
    const { earlier, read } = readTexts([`Me too.\n\n${quoted(ours)}`, ours]);
    expect(foldQuotations(`Yes.\n\n${quoted(ours)}`, earlier).newText).to.equal("Yes.");
    expect([...read]).to.deep.equal([0]);
  });

  it("foldQuote folds nothing in a letter above 64 KB", () => {
    const letter = `${"x".repeat(64 * 1024)}\n\n${quoted(ours)}`;
    const answers = { newText: ours, quotedText: "" };
    expect(foldQuote(letter, { signature: "", answers })).to.deep.equal({ text: letter, folded: "" });
    expect(foldQuote(`Yes.\n\n${quoted(ours)}`, { signature: "", answers }).text).to.equal("Yes.");
  });
});
