import { expect } from "chai";
import { fold, Rejected } from "#streams/decider.ts";
import { entriesOf } from "#streams/idMap.ts";
import { type Absorbed, splitForAbsorption } from "#streams/thread/absorption.ts";
import { type ThreadCommand, threadDecider } from "#streams/thread/decider.ts";
import type { ThreadEvent } from "#streams/thread/events.ts";
import type { Thread } from "#streams/thread/thread.ts";
import {
  base,
  claim,
  claimed,
  claimOf,
  file,
  noted,
  opened,
  received,
  review,
  status,
} from "#test/support/examples/threads.ts";
import { sized } from "#test/support/full.ts";
import { given } from "#test/support/given.ts";

const thread = (...events: ThreadEvent[]) => given(threadDecider, ...events);

describe("the absorption of a thread", () => {
  it("a thread that absorbs another takes over its newest mail, drafts and claims, once", () => {
    const other = {
      absorbedId: "b",
      number: 5,
      newestNumber: 4,
      newestWord: { messageId: "message 4", number: 4 },
      participants: ["bob@x.example"],
      drafts: { other: { status: "pending" as const, revision: 1 } },
      claims: [claimOf("a1")],
      needsReview: true,
      unauthenticated: [4],
      machineAnswers: {},
      answers: [{ draftId: "other", after: 4 }],
      part: { n: 1, of: 1 },
    };
    const absorb: ThreadCommand = { type: "AbsorbThread", ...other };
    const absorbed: ThreadEvent = { type: "ThreadAbsorbed", data: other };
    thread(...base)
      .when(absorb)
      .then(absorbed, review("the merged thread needed review"), status("draft_pending", "merged"));
    const approved = { ...other, drafts: { other: { status: "approved" as const, revision: 2 } }, needsReview: false };
    thread(...base)
      .when({ type: "AbsorbThread", ...approved })
      .thenTypes("ThreadAbsorbed");
    // A draft that is being sent waits for nobody, whichever thread has its claim.
    const claimedThere = { ...other, claims: [{ ...claimOf("a1"), draftId: "other" }], needsReview: false };
    const claimedHere: ThreadEvent = { type: "SendClaimed", data: { ...claimedThere.claims[0]!, replaces: null } };
    thread(...base)
      .when({ type: "AbsorbThread", ...claimedThere })
      .thenTypes("ThreadAbsorbed");
    thread(...base, claimedHere)
      .when({ type: "AbsorbThread", ...other, needsReview: false })
      .thenTypes("ThreadAbsorbed");
    // A number that was filed on either thread is not filed again.
    const older: ThreadEvent = { type: "ThreadAbsorbed", data: { ...other, newestNumber: 2 } };
    for (const events of [[absorbed], [received(4), older]])
      thread(...base, ...events)
        .when(file(4))
        .then();
    thread(...base, absorbed)
      .when(absorb)
      .then();
    thread(...base, absorbed)
      .when(claim("a2", 3, "a1"))
      .thenRejected("stale_draft");
    thread(...base, absorbed)
      .when(claim("a2", 4))
      .thenRejected("send_in_progress");
  });

  it("a merged thread hands its survivor all that it knows in one event, if one event holds it", () => {
    const numbers = Array.from({ length: 60 }, (_, n) => 3 + 7 * n);
    const history = [opened, ...numbers.map((number) => received(number)), review("x"), noted("pending", 1)];
    const frozen: ThreadEvent = { type: "ThreadFrozen", data: { survivorId: "survivor", number: 500 } };
    const [told, ...others] = splitForAbsorption("b", fold(threadDecider, [...history, claimed("a1"), frozen]));
    expect(others).to.deep.equal([]);
    expect(told).to.deep.equal({
      ...{ absorbedId: "b", number: 500, newestNumber: 416, newestWord: { messageId: "message 416", number: 416 } },
      ...{ participants: ["ann@customer.example"], drafts: { draft: { status: "pending", revision: 1 } } },
      ...{ claims: [claimOf("a1")], needsReview: true, unauthenticated: numbers, machineAnswers: {} },
      answers: [{ draftId: "draft", after: 416 }],
      part: { n: 1, of: 1 },
    });
  });

  it("a survivor takes over the newer state of a draft, and changes nothing that it was not given", () => {
    const told = { absorbedId: "b", number: 5, newestNumber: 4, newestWord: null, needsReview: false, claims: [] };
    const rest = { unauthenticated: [], machineAnswers: {}, answers: [], part: { n: 1, of: 1 } };
    const drafts = { draft: { status: "closed" as const, revision: 6 } };
    const absorbed: ThreadEvent = {
      type: "ThreadAbsorbed",
      data: { ...told, ...rest, participants: ["Bob@x.example"], drafts },
    };
    const state = fold(threadDecider, [...base, noted("closed", 4), absorbed]);
    expect(state.closedDrafts).to.deep.equal([{ draftId: "draft", status: "closed", revision: 6 }]);
    expect(state.participants).to.deep.equal(["ann@customer.example", "bob@x.example"]);
    expect(entriesOf(state.unauthenticated).map(([number]) => number)).to.deep.equal(["3"]);
  });

  describe("an absorption that is larger than one event", () => {
    // Long ids, so that few make more than one event.
    const ids = Array.from({ length: sized(1_600, 10_000) }, (_, index) => `${"draft".repeat(50)}-${index + 1e6}`);
    const some = ids.slice(0, 220);
    let frozen: Thread;
    let parts: Absorbed[];
    let told: ThreadEvent[];
    const history: ThreadEvent[] = [
      ...base,
      ...some.map((draftId): ThreadEvent => noted("closed", 4, `${draftId}-closed`)),
      ...ids.map((draftId): ThreadEvent => noted("pending", 0, draftId)),
      ...some.map(
        (draftId): ThreadEvent => ({
          type: "SendClaimed",
          data: { ...claimOf("a"), draftId, machineAddresses: ["robot@x.example"], replaces: null },
        }),
      ),
      received(7),
      { type: "ThreadFrozen", data: { survivorId: "survivor", number: 8 } },
    ];
    beforeEach(() => {
      frozen = fold(threadDecider, history);
      parts = splitForAbsorption("b", frozen);
      told = parts.map((data) => ({ type: "ThreadAbsorbed", data }));
    });
    const tell = (n: number): ThreadCommand => ({ type: "AbsorbThread", ...parts[n - 1]! });

    it("a large absorption is split into parts that each fit; the first part already has the newest customer mail", () => {
      expect(parts.map(({ part }) => part)).to.deep.equal(
        parts.map((_, index) => ({ n: index + 1, of: parts.length })),
      );
      expect(parts).to.have.length.above(1);
      for (const part of parts) expect(Buffer.byteLength(JSON.stringify(part))).to.be.at.most(400_000);
      const survivor = fold(threadDecider, [...base, noted("pending", 0), ...told]);
      expect(entriesOf(survivor.drafts).map(([id]) => id)).to.deep.equal(["draft", ...ids]);
      expect(survivor.pendingDrafts).to.equal(ids.length + 1);
      expect(entriesOf(survivor.claims)).to.deep.equal(entriesOf(frozen.claims));
      expect(survivor.closedDrafts).to.deep.equal(frozen.closedDrafts);
      expect(entriesOf(survivor.machineAnswers)).to.deep.equal(entriesOf(frozen.machineAnswers));
      expect(entriesOf(survivor.unauthenticated).map(([number]) => number)).to.deep.equal(["3", "7"]);
      expect(fold(threadDecider, [...base, told[0]!]).newestWord?.number).to.equal(7);
      thread(...base, ...told)
        .when(tell(1))
        .then();
    });

    it("a thread refuses claims, and to be merged itself, until the last part of an absorption is stored", () => {
      const begun = [...base, ...told.slice(0, -1)];
      thread(...begun)
        .when(claim("a9", 7))
        .thenRejected("merge_under_way");
      expect(() => threadDecider.decide(claim("a9", 7), fold(threadDecider, begun)))
        .to.throw(Rejected)
        .with.property("details")
        .that.deep.equals({ absorbedId: "b" });
      thread(...begun)
        .when({ type: "FreezeThread", survivorId: "c", number: 9 })
        .thenRejected("merge_under_way");
      thread(...base, ...told)
        .when(claim("a9", 7))
        .then(claimed("a9"));
    });

    it("a thread takes each part of an absorption once and in order; another division of it begins again", () => {
      thread(...base, told[0]!)
        .when(tell(1))
        .then();
      thread(...base)
        .when(tell(2))
        .then();
      thread(...base, status("draft_pending"), told[0]!)
        .when(tell(2))
        .thenTypes("ThreadAbsorbed");
      const otherwise = { ...parts[0]!, part: { n: 1, of: 7 } };
      thread(...base, told[0]!)
        .when({ type: "AbsorbThread", ...otherwise })
        .thenTypes("ThreadAbsorbed", "ThreadStatusChanged");
      thread(...base, { type: "ThreadAbsorbed", data: otherwise })
        .when(tell(2))
        .then();
    });

    it("a survivor remembers closed drafts of both threads", () => {
      const own = some.map((draftId): ThreadEvent => noted("closed", 4, `${draftId}-own`));
      const { closedDrafts } = fold(threadDecider, [...base, ...own, ...told]);
      expect(closedDrafts).to.have.length(200);
      expect(closedDrafts.filter(({ draftId }) => draftId.endsWith("-own"))).to.have.length(100);
      expect(closedDrafts.at(-1)).to.deep.equal(frozen.closedDrafts.at(-1));
    });
  });
});
