import { expect } from "chai";
import { foldQuotations } from "#src/channels/card/quotes.ts";

const ours = "Dear Ada,\n\nshall we cancel your order 4711?\nIt costs nothing.\n\nLena";
const quoted = (text: string): string => text.replace(/^/gm, "> ").replace(/^> $/gm, ">");
const attribution = "On Mon, Nov 23, 2026 at 10:12 AM Support <support@agents.example> wrote:";

describe("what the card folds of a message", () => {
  it("is a quotation of an earlier message, with the line that introduces it", () => {
    const text = `Yes, please.\n\n${attribution}\n\n${quoted(ours)}`;
    expect(foldQuotations(text, ["Something else", ours])).to.deep.equal({
      newText: "Yes, please.",
      quotedText: `${attribution}\n\n${quoted(ours)}`,
    });
  });

  it("is the same where it was broken into other lines, and where it quotes an older message itself", () => {
    const broken = quoted(ours.replace("your order", "your\norder"));
    const older = "> > My lamp is broken.";
    const text = `Yes.\n\n${attribution}\n${broken}\n>\n> On 22/11/2026 09:00, Ada wrote:\n${older}`;
    const { newText, quotedText } = foldQuotations(text, [ours, "My lamp is broken."]);
    expect(newText).to.equal("Yes.");
    expect(quotedText).to.include(older);
  });

  it("is an earlier message below a block of header fields", () => {
    const header = "From: Support <s@x.example>\nSent: Monday, November 23, 2026 10:12\nTo: Ada\nSubject: Order";
    const { newText, quotedText } = foldQuotations(`Yes.\n\n${header}\n\n${ours}`, [ours]);
    expect([newText, quotedText]).to.deep.equal(["Yes.", `${header}\n\n${ours}`]);
  });

  for (const [name, quotation] of [
    ["is in no earlier message", quoted("We promise a full refund.")],
    ["has a sentence more than the earlier message", quoted(`${ours}\n\nAnd a full refund.`)],
    ["changes a word of the earlier message", quoted(ours.replace("nothing", "something"))],
  ] as const) {
    it(`is no quotation that ${name}`, () => {
      const text = `As you said.\n\n${attribution}\n\n${quotation}`;
      expect(foldQuotations(text, [ours])).to.deep.equal({ newText: text, quotedText: "" });
    });
  }

  it("is no more than 50 quotations, and nothing of a text above 64 KB: many messages are folded for one page", () => {
    const answers = (count: number) =>
      Array.from({ length: count }, (_, index) => `> Old.\n\nNew ${index}.`).join("\n\n");
    expect(foldQuotations(answers(60), ["Old."]).newText.match(/> Old\./g)).to.have.length(10);
    const long = `${"x".repeat(64 * 1024)}\n\n> Old.`;
    expect(foldQuotations(long, ["Old."])).to.deep.equal({ newText: long, quotedText: "" });
  });

  it("is no answer between two quotations, nor a signature", () => {
    const text = `${attribution}\n> shall we cancel your order 4711?\nYes.\n\n> It costs nothing.\nGood.\n\n-- \nAda Lund\n+49 30 123456`;
    const { newText } = foldQuotations(text, [ours]);
    expect(newText).to.equal("Yes.\n\nGood.\n\n-- \nAda Lund\n+49 30 123456");
  });

  it("is nothing of a mail that quotes nothing, whatever its lines end with, nor all of one", () => {
    const flowed = "this is about order 1029. Please \ntell me what comes next. \n\nThanks \n";
    expect(foldQuotations(flowed, [flowed]).quotedText).to.equal("");
    expect(foldQuotations(quoted(ours), [ours])).to.deep.equal({ newText: quoted(ours), quotedText: "" });
    expect(foldQuotations(null, [ours])).to.deep.equal({ newText: "", quotedText: "" });
  });
});
