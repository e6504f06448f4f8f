import { expect } from "chai";
import { newerWord, staleDraft } from "#streams/draft/staleness.ts";
import { isMachines, isNews, isWord, isWordSql } from "#streams/inbox/words.ts";

describe("a draft goes stale", () => {
  const word = { messageId: "newer", number: 3 };

  it("by a word that was filed after the message it answers, and by no other", () => {
    expect(newerWord({ newestWord: word }, { basedOnNumber: 2 })).to.equal(word);
    expect(newerWord({ newestWord: word }, { basedOnNumber: 0 }), "a draft that answers none").to.equal(word);
    expect(newerWord({ newestWord: word }, { basedOnNumber: 3 })).to.equal(null);
    expect(newerWord({ newestWord: null }, { basedOnNumber: 0 })).to.equal(null);
  });

  it("and says which message it was", () => {
    expect(staleDraft("newer")).to.deep.include({ code: "stale_draft", details: { new_message_id: "newer" } });
  });
});

describe("somebody's word", () => {
  it("is a person's mail, also through a list; an automatic reply and a bounce are a machine's", () => {
    expect(["person", "list", "auto_reply", "bounce"].map(isWord)).to.deep.equal([true, true, false, false]);
    expect(["person", "list", "auto_reply", "bounce"].map(isMachines)).to.deep.equal([false, false, true, true]);
    expect([isWord(null), isMachines(null)], "a mail of ours").to.deep.equal([false, false]);
  });

  it("is the same in SQL", () => {
    expect(isWordSql("m.classification")).to.equal("m.classification in ('person', 'list')");
  });

  it("is news where its sender is not blocked", () => {
    expect(isNews({ classification: "list", fromBlocked: false })).to.equal(true);
    expect(isNews({ classification: "person", fromBlocked: true })).to.equal(false);
    expect(isNews({ classification: "bounce", fromBlocked: false })).to.equal(false);
  });
});
