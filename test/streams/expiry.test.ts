import { expect } from "chai";
import { fold } from "#streams/decider.ts";
import { draftDecider } from "#streams/draft/decider.ts";
import type { DraftEvent } from "#streams/draft/events.ts";
import { type ExpiryCommand, requestsRunOutAt, wasAskedOnceMore, whyNotRenewed } from "#streams/draft/expiry.ts";
import type { Recorded } from "#streams/event.ts";
import {
  approved,
  asked,
  closed,
  edited,
  markedStale,
  notReached,
  reached,
  rejected,
  submitted,
} from "#test/support/examples/drafts.ts";
import { given } from "#test/support/given.ts";

const day = (n: number): string => new Date(Date.UTC(2026, 0, n, 12)).toISOString();
const draft = (...events: DraftEvent[]) => given(draftDecider, submitted(), ...events);
const stateOf = (...events: DraftEvent[]) => fold(draftDecider, [submitted(), ...events]);

type Expire = Extract<ExpiryCommand, { type: "ExpireRequests" }>;
const expire = (ranOutAt: string, different: Partial<Expire> = {}): Expire => ({
  ...{ type: "ExpireRequests", ranOutAt, at: ranOutAt, until: day(7), askAgain: true },
  ...different,
});
const repeated = (until = day(7), version = 1): DraftEvent => ({ type: "RequestsRepeated", data: { version, until } });
const expired: DraftEvent = { type: "RequestsExpired", data: { version: 1 } };
const requested: DraftEvent = {
  type: "ChangesRequested",
  data: { version: 1, contentSha256: "hash 1", text: "Say when.", tokenSha256: null, requester: "session:ann" },
};
const withdrawn: DraftEvent = { type: "ChangesRequestWithdrawn", data: { version: 1 } };
const notify = (at: string, notificationId?: string): DraftEvent => ({
  type: "NotifyRequested",
  data: { at, ...(notificationId !== undefined && { slot: "primary" as const, notificationId }) },
});

describe("requests that run out", () => {
  it("a version whose requests ran out is asked about once more, or marked", () => {
    draft(asked("one"))
      .when(expire(day(4)))
      .then(repeated());
    draft(asked("one"))
      .when(expire(day(4), { askAgain: false }))
      .then(expired);
  });

  it("requests run out together, at the end of the newest one on any channel", () => {
    const late = asked("two", { slot: "secondary", expiresAt: day(5) });
    expect(requestsRunOutAt(stateOf(asked("one"), late))).to.equal(day(5));
    draft(asked("one"), late)
      .when(expire(day(4)))
      .then();
    draft(asked("one"), late)
      .when(expire(day(5), { at: day(4) }))
      .then();
    draft(asked("one"), late)
      .when(expire(day(5)))
      .then(repeated());
    // A late retry of the first channel does not shorten the other's time.
    expect(requestsRunOutAt(stateOf(late, asked("one")))).to.equal(day(5));
  });

  it("the same end of the requests takes effect once", () => {
    draft(asked("one"), repeated())
      .when(expire(day(4)))
      .then();
    draft(asked("one"), repeated(), asked("two", { expiresAt: day(7) }))
      .when(expire(day(4)))
      .then();
    draft(asked("one"), expired)
      .when(expire(day(4), { askAgain: false }))
      .then();
  });

  it("a repetition that reached nobody ends when its links would have ended", () => {
    expect(requestsRunOutAt(stateOf(asked("one"), repeated()))).to.equal(day(7));
    draft(asked("one"), repeated())
      .when(expire(day(7), { askAgain: false }))
      .then(expired);
  });

  it("nothing is asked again or marked once the draft is decided, stale or edited", () => {
    for (const event of [approved(1), rejected(1), markedStale, edited(2)]) {
      for (const askAgain of [true, false]) {
        draft(asked("one"), event)
          .when(expire(day(4), { askAgain }))
          .then();
      }
    }
    // The new version has requests of its own.
    draft(asked("one"), edited(2), asked("two", { version: 2, expiresAt: day(5) }))
      .when(expire(day(5)))
      .thenTypes("RequestsRepeated");
    expect(requestsRunOutAt(stateOf(asked("one"), repeated(), edited(2)))).to.equal(null);
  });

  it("nothing is asked again or marked while changes are requested", () => {
    draft(asked("one"), requested)
      .when(expire(day(4)))
      .then();
    draft(asked("one"), requested, withdrawn, asked("two", { expiresAt: day(6) }))
      .when(expire(day(6)))
      .then(repeated());
  });

  it("a version about which nobody was asked does not run out", () => {
    expect(requestsRunOutAt(stateOf())).to.equal(null);
    draft()
      .when(expire(day(4)))
      .then();
  });

  it("a marked version that is asked about again runs out again", () => {
    expect(requestsRunOutAt(stateOf(asked("one"), expired))).to.equal(null);
    const events = [asked("one"), expired, notify(day(8)), asked("two", { expiresAt: day(11) })];
    draft(...events)
      .when(expire(day(11)))
      .then(repeated());
  });

  const history = (...events: DraftEvent[]) =>
    events.map((event, n) => ({ ...event, id: `event ${n}` })) as unknown as Recorded<DraftEvent>[];

  it("a version counts as asked once more until something else than the expiry asks about it", () => {
    const again = asked("two", { causedBy: "event 1" });
    expect(wasAskedOnceMore(history(asked("one")), 1)).to.equal(false);
    expect(wasAskedOnceMore(history(asked("one"), repeated()), 1)).to.equal(true);
    expect(wasAskedOnceMore(history(asked("one"), repeated(), again), 1)).to.equal(true);
    // A second try, and the other channel.
    const more = [again, asked("three", { causedBy: "event 1", slot: "secondary" })];
    expect(wasAskedOnceMore(history(asked("one"), repeated(), ...more), 1)).to.equal(true);
    const byAgent = [notify(day(8)), asked("four", { causedBy: "event 3" })];
    expect(wasAskedOnceMore(history(asked("one"), repeated(), again, ...byAgent), 1)).to.equal(false);
    const newVersion = [edited(2), asked("five", { causedBy: "event 3", version: 2 })];
    expect(wasAskedOnceMore(history(asked("one"), repeated(), again, ...newVersion), 2)).to.equal(false);
  });
});

describe("a new request for an expired link", () => {
  type Renew = Extract<ExpiryCommand, { type: "RenewRequest" }>;
  const renew = (at = day(5), different: Partial<Renew> = {}): Renew => ({
    ...{ type: "RenewRequest", slot: "primary", notificationId: "one", throttleSeconds: 60, over: [], at },
    ...different,
  });
  const minutesAfter = (at: string, minutes: number) => new Date(Date.parse(at) + minutes * 60_000).toISOString();

  it("an expired link's holder is asked again, and the event names the link and its channel", () => {
    draft(asked("one"), reached("one"))
      .when(renew())
      .then(notify(day(5), "one"));
  });

  it("nobody is asked again while a link can decide or is on its way, on any channel", () => {
    draft(asked("one"))
      .when(renew(day(3)))
      .then();
    const second = asked("two", { slot: "secondary", expiresAt: day(6) });
    draft(asked("one"), second).when(renew()).then();
    draft(asked("one"), second, notReached("two", { final: false }))
      .when(renew())
      .then();
    const waiting = asked("three", { expiresAt: day(6), bundled: true, tokens: [] });
    draft(asked("one"), waiting).when(renew()).then();
  });

  it("links that bounced, were closed, belong to another channel or to an earlier version decide nothing", () => {
    const second = asked("two", { expiresAt: day(6) });
    for (const event of [notReached("two"), closed("two", "link_leaked")])
      draft(asked("one"), second, event).when(renew()).thenTypes("NotifyRequested");
    draft(asked("one"), second)
      .when(renew(day(5), { over: ["two"] }))
      .thenTypes("NotifyRequested");
    draft(asked("one"), second, edited(2)).when(renew()).thenTypes("NotifyRequested");
  });

  it("a link asks once an hour, and anybody's request to notify counts for the throttle", () => {
    const before = [asked("one"), asked("two"), notify(day(5), "one")];
    for (const minutes of [0, 59])
      draft(...before)
        .when(renew(minutesAfter(day(5), minutes)))
        .then();
    draft(...before)
      .when(renew(minutesAfter(day(5), 60)))
      .thenTypes("NotifyRequested");
    const other = { notificationId: "two" };
    draft(...before)
      .when(renew(minutesAfter(day(5), 0.5), other))
      .then();
    draft(...before)
      .when(renew(minutesAfter(day(5), 1), other))
      .thenTypes("NotifyRequested");
    draft(asked("one"), notify(day(5)))
      .when(renew(minutesAfter(day(5), 0.5)))
      .then();
    const byKey = { type: "RequestNotify", at: minutesAfter(day(5), 0.5), throttleSeconds: 60 } as const;
    draft(...before)
      .when(byKey)
      .thenRejected("rate_limited");
    expect(whyNotRenewed(stateOf(...before), renew(minutesAfter(day(5), 1)))).to.equal("recent");
  });

  it("nobody is asked again about a draft that is decided or waits for changes", () => {
    for (const event of [approved(1), rejected(1), markedStale, requested])
      draft(asked("one"), event).when(renew()).then();
  });
});
