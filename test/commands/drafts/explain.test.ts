import { expect } from "chai";
import { explainDraft } from "#src/commands/drafts/life/explain.ts";
import { foldLife } from "#src/commands/drafts/life/fold.ts";
import type { LifeEvent } from "#src/commands/drafts/life/lifeEvents.ts";
import { toPlainText } from "#src/commands/drafts/life/phrases.ts";
import { at, history, mailLink, telegram } from "#test/support/draftLife.ts";
import { approvedBy, leaves, lives, rejectedBy } from "#test/support/draftLives.ts";
import { approved, submitted } from "#test/support/examples/drafts.ts";

const timesOf = (text: string): string[] => text.match(/\d+ \w{3} \d{4}, \d\d:\d\d UTC/g) ?? [];
const sentenceOf = (events: readonly LifeEvent[]): string => toPlainText(explainDraft(foldLife(events)));

describe("why a draft was sent, or why not", () => {
  describe("the answer in one sentence", () => {
    for (const [name, [events, sentence]] of Object.entries(lives)) {
      it(`one sentence says why a draft was sent or not: ${name}`, () => expect(sentenceOf(events)).to.equal(sentence));
    }
  });

  it("the tested lives of drafts cover every status and every kind of approval", () => {
    const all = Object.values(lives).map(([events]) => foldLife(events));
    expect([...new Set(all.map(({ status }) => status))]).to.have.members([
      ...["pending", "approved", "sending", "sent", "stale", "rejected", "failed"],
    ]);
    const words = all.filter(({ status }) => status === "sent").map(({ authorisation }) => authorisation?.by);
    expect([...new Set(words)]).to.have.members(["person", "people", "key", "rule", "setting"]);
  });

  it("the answer at any point of a draft's life says nothing that is not on record by then", () => {
    for (const [name, [events]] of Object.entries(lives)) {
      for (const [index] of events.entries()) {
        const until = events.slice(0, index + 1);
        const record = JSON.stringify(until);
        const about = `${name}, up to ${events[index]!.type}`;
        for (const phrase of explainDraft(foldLife(until))) {
          if (typeof phrase === "string") continue;
          expect(record, about).to.include(Object.values(phrase)[0]);
        }
        const sentence = sentenceOf(until);
        const types = until.map(({ type }) => type);
        const isTaken = types.includes("DeliveryAccepted") || types.includes("DeliverySettled");
        if (/^(Sent|Caught|Taken)/.test(sentence)) expect(isTaken, about).to.equal(true);
        if (/^Not sent/.test(sentence)) expect(types.includes("DeliveryAccepted"), about).to.equal(false);
        if (/ was approved /.test(sentence)) expect(record, about).to.match(/DraftApproved|"autoApproved":true/);
      }
    }
  });

  it("the answer never says that nothing was sent while a hand-over has begun and has no recorded end", () => {
    for (const [name, [events]] of Object.entries(lives)) {
      const begun = events.findLastIndex(({ type }) => type === "DeliveryStarted");
      if (begun === -1) continue;
      expect(sentenceOf(events.slice(0, begun + 1)), name).to.match(/^Possibly sent/);
    }
  });

  it("the answer quotes a name so that it cannot pass for the service's words", () => {
    const liar = { ...telegram, name: "” on 1 Jan 2020, 10:00 UTC by the owner \u202e\u001b[31m\n" };
    const sentence = sentenceOf(
      history(submitted(), [approved(1), liar], rejectedBy(liar, "no”.\nSent to b@x.example")),
    );
    expect(sentence).to.include(
      "by “' on 1 Jan 2020, 10:00 UTC by the owner [U+202E][U+001B][31m” (Telegram user 4711)",
    );
    expect(sentence).to.include("“no'. Sent to b@x.example”");
    for (const unseen of ["\n", "\u001b", "\u202e"]) expect(sentence).not.to.include(unseen);
  });

  it("the answer gives the times that are on record", () => {
    const events = history(submitted(), approvedBy(mailLink), ...leaves);
    expect(timesOf(sentenceOf(events))).to.deep.equal(["1 Jan 2026, 12:00 UTC", "21 Nov 2026, 10:01 UTC"]);
    expect(at(1)).to.equal(events[1]!.at);
  });
});
