import { expect } from "chai";
import { fold } from "#streams/decider.ts";
import { filingDecider } from "#streams/filing/decider.ts";
import type { FilingDecision, FilingEvent } from "#streams/filing/events.ts";
import { filingDecision as decision } from "#test/support/examples/filingDecision.ts";
import { sized } from "#test/support/full.ts";
import { given } from "#test/support/given.ts";

const decided = (number: number, different: Partial<FilingDecision> = {}): FilingEvent => ({
  type: "FilingDecided",
  data: decision(number, different),
});
const filed = (number: number, inboxRevision = number - 1): FilingEvent => ({
  type: "MailFiled",
  data: { number, inboxRevision },
});
const heldBy = { disposition: "held_over_quota" } as const;
/** Each held mail has two events, so marker n is at revision 2n - 2. */
const held = (...numbers: number[]): FilingEvent[] =>
  numbers.flatMap((number) => [decided(number, heldBy), filed(number)]);
const releasing = (number: number, marker: number, revision = 2 * marker - 2): FilingDecision =>
  decision(number, { releases: { number: marker, revision } });
const released = (number: number, marker: number, revision?: number): FilingEvent[] => [
  { type: "FilingDecided", data: releasing(number, marker, revision) },
  filed(number, marker - 1),
];

describe("held mail in the filing stream", () => {
  const release = (after: number, ...decisions: FilingDecision[]) =>
    ({ type: "DecideRelease", decisions, after }) as const;

  it("held mail is released in its order, each once", () => {
    const three = held(1, 2, 3);
    const both = release(0, releasing(4, 1, 0), releasing(5, 2, 2));
    given(filingDecider, ...three)
      .when(both)
      .then(...[releasing(4, 1, 0), releasing(5, 2, 2)].map((data): FilingEvent => ({ type: "FilingDecided", data })));
    const after = [...three, ...released(4, 1, 0), ...released(5, 2, 2)];
    given(filingDecider, ...after)
      .when(release(2, releasing(6, 3, 4)))
      .thenTypes("FilingDecided");
    // Read before the two were released, by another one who releases.
    given(filingDecider, ...after)
      .when(release(0, releasing(6, 1, 0)))
      .then();
    given(filingDecider, ...after)
      .when(release(2, releasing(6, 2, 2)))
      .then();
    given(filingDecider, ...three)
      .when(release(0, releasing(4, 2, 2), releasing(5, 1, 0)))
      .then();
    given(filingDecider, ...three)
      .when(release(0, releasing(4, 1, 0), releasing(5, 1, 0)))
      .then();
    given(filingDecider, ...three)
      .when(release(0, decision(4)))
      .then();
  });

  it("held mail is not released where none is held, nor before every decided mail is on its thread", () => {
    given(filingDecider, decided(1), filed(1))
      .when(release(0, releasing(2, 1)))
      .then();
    given(filingDecider, ...held(1), ...released(2, 1, 0))
      .when(release(1, releasing(3, 2)))
      .then();
    given(filingDecider, ...held(1), decided(2))
      .when(release(0, releasing(3, 1, 0)))
      .then();
    given(filingDecider, ...held(1), decided(2), filed(2))
      .when(release(0, releasing(2, 1, 0)))
      .then();
  });

  it("the search for held mail begins at the end of the line", () => {
    const line = (...events: FilingEvent[]) => fold(filingDecider, events).held;
    expect(line(decided(1), filed(1), ...held(2, 3))).to.deep.equal({ count: 2, releasedUpTo: 0, from: 2 });
    expect(line(...held(1, 2, 3), ...released(4, 1, 0))).to.deep.equal({ count: 2, releasedUpTo: 1, from: 1 });
    const empty = [...held(1), ...released(2, 1, 0)];
    expect(line(...empty, decided(3, heldBy))).to.deep.equal({ count: 1, releasedUpTo: 1, from: 4 });
  });

  it("the filing state is no larger with much held mail, and survives JSON", () => {
    const numbers = Array.from({ length: sized(500, 100_000) }, (_, n) => n + 1);
    const state = fold(filingDecider, held(...numbers));
    expect(state.held.count).to.equal(numbers.length);
    expect(JSON.stringify(state).length).to.be.below(300);
    expect(JSON.parse(JSON.stringify(state))).to.deep.equal(state);
  });
});

describe("a mail that cannot be recorded", () => {
  const quarantine = (number: number, threadId: string | null = null) =>
    ({ type: "QuarantineMail", number, reason: "too large", threadId }) as const;
  const quarantined = (number: number, threadId: string | null = null): FilingEvent => ({
    type: "MailQuarantined",
    data: { number, deliveryId: `d${number}`, reason: "too large", threadId },
  });
  const pending = (...events: FilingEvent[]) => fold(filingDecider, events).pending;

  it("a mail that cannot be recorded is quarantined in place, then apart, each once, while its decision is pending", () => {
    given(filingDecider, decided(1)).when(quarantine(1)).then(quarantined(1));
    given(filingDecider, decided(1), quarantined(1)).when(quarantine(1)).then();
    given(filingDecider, decided(1), quarantined(1)).when(quarantine(1, "own")).then(quarantined(1, "own"));
    given(filingDecider, decided(1), quarantined(1), quarantined(1, "own")).when(quarantine(1, "other")).then();
    given(filingDecider, decided(1), filed(1)).when(quarantine(1)).then();
  });

  it("a mail quarantined in place keeps its thread and merges; one quarantined apart has neither", () => {
    const joining = decided(2, { absorbs: ["u"] });
    expect(pending(decided(1), joining, quarantined(2))).to.deep.equal([
      decision(1),
      { ...decision(2, { absorbs: ["u"], disposition: "quarantined", reason: "too large" }), quarantined: "in place" },
    ]);
    const [apart] = pending(joining, quarantined(2), quarantined(2, "own"));
    expect(apart).to.include({ threadId: "own", opensThread: true, quarantined: "apart" });
    expect(apart?.absorbs).to.deep.equal([]);
  });

  it("a held mail that is quarantined stays held", () => {
    const events = [decided(1, heldBy), quarantined(1)];
    expect(pending(...events)[0]).to.include({ disposition: "held_over_quota", quarantined: "in place" });
    expect(fold(filingDecider, events).held.count).to.equal(1);
  });

  it("a mail whose decision cannot be recorded is decided together with its quarantine", () => {
    const smallest = { type: "DecideFiling" as const, decisions: [decision(1)], quarantine: "too large" };
    given(filingDecider).when(smallest).then(decided(1), quarantined(1));
    given(filingDecider, decided(1)).when(smallest).then();
  });
});

describe("the expiry of kept mail", () => {
  const expiry = (number: number) => ({ number, deliveryIds: [`d${number}`], afterDays: 30 });
  const heldExpiry = (number: number, markerRevision = 2 * number - 2) => ({ ...expiry(number), markerRevision });
  const heldExpired = (number: number, markerRevision?: number): FilingEvent => ({
    type: "HeldMailExpired",
    data: heldExpiry(number, markerRevision),
  });
  const quarantineExpired = (number: number): FilingEvent => ({
    type: "QuarantinedMailExpired",
    data: expiry(number),
  });
  const expireHeld = (after: number, ...mails: ReturnType<typeof heldExpiry>[]) =>
    ({ type: "ExpireHeld", mails, after }) as const;
  const expireQuarantined = (...numbers: number[]) =>
    ({ type: "ExpireQuarantined", mails: numbers.map(expiry) }) as const;
  const release = (after: number, ...decisions: FilingDecision[]) =>
    ({ type: "DecideRelease", decisions, after }) as const;

  it("held mail that expires leaves the line in its order, each once", () => {
    given(filingDecider, ...held(1, 2, 3))
      .when(expireHeld(0, heldExpiry(1), heldExpiry(2)))
      .then(heldExpired(1), heldExpired(2));
    const after = [...held(1, 2, 3), heldExpired(1), heldExpired(2)];
    expect(fold(filingDecider, after).held).to.deep.equal({ count: 1, releasedUpTo: 2, from: 3 });
    for (const again of [expireHeld(0, heldExpiry(1)), expireHeld(2, heldExpiry(2))])
      given(filingDecider, ...after)
        .when(again)
        .then();
    given(filingDecider, ...held(1, 2))
      .when(expireHeld(0, heldExpiry(2), heldExpiry(1)))
      .then();
  });

  it("expired mail is not released, and released mail does not expire", () => {
    const expired = [...held(1, 2), heldExpired(1)];
    given(filingDecider, ...expired)
      .when(release(0, releasing(3, 1, 0)))
      .then();
    given(filingDecider, ...expired)
      .when(release(1, releasing(3, 1, 0)))
      .then();
    given(filingDecider, ...expired)
      .when(release(1, releasing(3, 2, 2)))
      .thenTypes("FilingDecided");
    const decidedToBe = [...held(1, 2), decided(3, { releases: { number: 1, revision: 0 } })];
    for (const events of [decidedToBe, [...held(1, 2), ...released(3, 1, 0)]])
      for (const command of [0, 1].map((after) => expireHeld(after, heldExpiry(1))))
        given(filingDecider, ...events)
          .when(command)
          .then();
  });

  it("held mail does not expire before it is on its thread", () => {
    given(filingDecider, decided(1, heldBy))
      .when(expireHeld(0, heldExpiry(1)))
      .then();
    given(filingDecider, ...held(1), decided(2))
      .when(expireHeld(0, heldExpiry(1)))
      .then(heldExpired(1));
    given(filingDecider, decided(1, { disposition: "quarantined" }))
      .when(expireQuarantined(1))
      .then();
    given(filingDecider).when(expireQuarantined(1)).then();
  });

  it("quarantined mail expires once each, in the order of its numbers", () => {
    const bad = [1, 2, 3].flatMap((number) => [decided(number, { disposition: "quarantined" }), filed(number)]);
    given(filingDecider, ...bad)
      .when(expireQuarantined(1, 3))
      .then(quarantineExpired(1), quarantineExpired(3));
    for (const numbers of [[1], [1, 2], [2, 2], [3, 2]])
      given(filingDecider, ...bad, quarantineExpired(1))
        .when(expireQuarantined(...numbers))
        .then();
    given(filingDecider, ...bad, quarantineExpired(1))
      .when(expireQuarantined(2))
      .then(quarantineExpired(2));
  });
});
