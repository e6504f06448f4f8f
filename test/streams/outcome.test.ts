import { readFileSync } from "node:fs";
import { expect } from "chai";
import { fold } from "#streams/decider.ts";
import { draftDecider } from "#streams/draft/decider.ts";
import type { DraftEvent } from "#streams/draft/events.ts";
import { isEnd, outcomeAfter, outcomeOf } from "#streams/draft/outcome.ts";
import * as examples from "#test/support/examples/drafts.ts";

const { submitted, edited, approved, rejected, queued, requeued, markedStale, sent, failed } = examples;

const histories: DraftEvent[][] = [
  [submitted()],
  [submitted({ autoApproved: true })],
  [submitted(), edited(2), approved(2), queued(2), requeued, sent("attempt 2")],
  [submitted(), approved(1), queued(1), failed()],
  [submitted(), approved(1), markedStale, rejected(1)],
  [submitted(), approved(1), { type: "DraftReturnedToPending", data: { because: "x" } }],
];

describe("the outcome of a draft that its thread records", () => {
  it("a draft's outcome is the same from its events as from the state that they lead to", () => {
    for (const history of histories) {
      for (const [index, event] of history.entries()) {
        const told = outcomeAfter(event);
        const state = fold(draftDecider, history.slice(0, index + 1));
        if (told !== null) expect(outcomeOf(state), event.type).to.equal(told);
      }
      const last = history.map(outcomeAfter).findLast((told) => told !== null);
      const state = fold(draftDecider, history);
      if (state.status !== "sent") expect(outcomeOf(state)).to.equal(last);
    }
  });

  it("a draft is at its end once it is sent, rejected, stale or failed", () => {
    const statuses = ["pending", "approved", "sending", "sent", "rejected", "stale", "failed"] as const;
    expect(statuses.filter(isEnd)).to.deep.equal(["sent", "rejected", "stale", "failed"]);
  });

  it("a draft's claimed send and sent mail are no outcome, because the thread's own events record them", () => {
    expect([outcomeOf({ status: "sending" }), outcomeOf({ status: "sent" })]).to.deep.equal([null, null]);
    expect([approved(1), queued(1), sent()].map(outcomeAfter)).to.deep.equal([null, null, null]);
  });

  it("a draft that its submission approves has the outcome approved, and was never pending", () => {
    expect(outcomeAfter(submitted({ approvedAtOnce: true }))).to.equal("approved");
    expect(outcomeAfter(submitted({ autoApproved: true }))).to.equal("approved");
  });

  it("every draft event there is has its outcome decided", () => {
    const samples = JSON.parse(readFileSync(new URL("../../streams/draft/samples.json", import.meta.url), "utf8"));
    for (const sample of samples) expect(() => outcomeAfter(sample), sample.type).not.to.throw();
  });
});
