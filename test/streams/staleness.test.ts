import { expect } from "chai";
import { newerHumanMessage, staleDraft } from "#streams/draft/staleness.ts";
import { isFromMachine, isFromPerson, isFromPersonSql, triggersRules } from "#streams/inbox/humanMail.ts";

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

describe("mail that counts as the customer having written", () => {
  it("a person's mail counts as the customer's, also through a list; automatic replies and bounces do not", () => {
    expect(["person", "list", "auto_reply", "bounce"].map(isFromPerson)).to.deep.equal([true, true, false, false]);
    expect(["person", "list", "auto_reply", "bounce"].map(isFromMachine)).to.deep.equal([false, false, true, true]);
    expect([isFromPerson(null), isFromMachine(null)], "a mail of ours").to.deep.equal([false, false]);
  });

  it("the SQL condition for the customer's mail names the same classifications", () => {
    expect(isFromPersonSql("m.classification")).to.equal("m.classification in ('person', 'list')");
  });

  it("a customer's mail is news unless its sender is blocked", () => {
    expect(triggersRules({ classification: "list", fromBlocked: false })).to.equal(true);
    expect(triggersRules({ classification: "person", fromBlocked: true })).to.equal(false);
    expect(triggersRules({ classification: "bounce", fromBlocked: false })).to.equal(false);
  });
});
