import { expect } from "chai";
import { letterOf } from "#src/channels/letter.ts";
import { content } from "./email/examples.ts";

describe("letterOf", () => {
  const large = {
    ...content,
    body_html: `<p>${"Hello ".repeat(2_000)}</p>`,
    body_text: "Hello",
    signature_html: "<p>Anna</p>",
    signature_text: "Anna",
  };

  it("a large letter is rendered once and kept, however often its page is opened", () => {
    const first = letterOf(large, { textDerived: true });
    const toAnother = { ...large, to: ["other@x.example"] };
    expect(letterOf(toAnother, { textDerived: true })).to.equal(first);
    const other = letterOf({ ...large, body_html: null, body_text: "x".repeat(10_000) }, { textDerived: true });
    expect([other.html, other.text.slice(0, 1)]).to.deep.equal([null, "x"]);
    expect(letterOf(large, { textDerived: true })).to.equal(first);
  });

  it("a kept letter is not returned for a draft with other text, HTML or signature", () => {
    const first = letterOf(large, { textDerived: true });
    const changes = {
      body_html: `${large.body_html}<p>Pay 900 EUR</p>`,
      body_text: "Pay 900 EUR",
      signature_html: "<p>Pay 900 EUR</p>",
      signature_text: "Pay 900 EUR",
    };
    for (const [part, changed] of Object.entries(changes)) {
      const letter = letterOf({ ...large, [part]: changed }, { textDerived: true });
      expect(JSON.stringify(letter), part).to.include("Pay 900 EUR");
      expect(JSON.stringify(first), part).not.to.include("Pay 900 EUR");
    }
    const compared = { ...large, body_text: "Pay 900 EUR" };
    expect(letterOf(compared, { textDerived: true }).difference).to.equal(null);
    expect(letterOf(compared, { textDerived: false }).difference).not.to.equal(null);
  });
});
