import { expect } from "chai";
import { newerHumanMessage, staleDraft } from "#streams/draft/staleness.ts";

describe("the staleness of a draft", () => {
  const word = { messageId: "newer", number: 3 };

  it("only a customer's mail that was filed after the message that a draft answers makes it stale", () => {
    expect(newerHumanMessage({ newestWord: word }, { basedOnNumber: 2 })).to.equal(word);
    expect(newerHumanMessage({ newestWord: word }, { basedOnNumber: 0 }), "a draft that answers none").to.equal(word);
    expect(newerHumanMessage({ newestWord: word }, { basedOnNumber: 3 })).to.equal(null);
    expect(newerHumanMessage({ newestWord: null }, { basedOnNumber: 0 })).to.equal(null);
  });

  it("a stale draft names the newer message", () => {
    expect(staleDraft("newer")).to.deep.include({ code: "stale_draft", details: { new_message_id: "newer" } });
  });
});
