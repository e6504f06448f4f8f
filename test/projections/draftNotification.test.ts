import { expect } from "chai";
import { applyToDraft, type DraftRow } from "#projections/drafts/queries.ts";
import type { DraftEvent } from "#streams/draft/events.ts";
import type { Recorded } from "#streams/event.ts";
import {
  approved,
  asked,
  closed,
  edited,
  notReached,
  queued,
  reached,
  rejected,
  submitted,
} from "#test/support/examples/drafts.ts";

const minute = (n: number) => `2026-01-01T00:${String(n).padStart(2, "0")}:00.000Z`;
const recorded = (event: DraftEvent, n: number): Recorded<DraftEvent> => ({
  ...event,
  id: `event ${n}`,
  stream: "draft-1",
  revision: n,
  position: n,
  schemaVersion: 1,
  metadata: {
    workspaceId: "workspace",
    actor: { kind: "system", id: "test" },
    correlationId: "test",
    causationId: "test",
    at: minute(n),
  },
});

/** Returns the draft's notification status after these events, with the minute of the event that set it. */
function statusAfter(...events: DraftEvent[]) {
  const row = events.reduce<DraftRow | undefined>((row, event, n) => applyToDraft(row, recorded(event, n)), undefined);
  const { notification_state: state, notification_channel: channel, notification_at: at } = row as DraftRow;
  const { notification_error: error } = row as DraftRow;
  return [state, channel, events.findIndex((_, n) => minute(n) === at), error];
}

const notAnswered = ["none", null, -1, null];
const escalated: DraftEvent = { type: "DraftEscalated", data: { version: 1, channelType: "email" } };
const requested: DraftEvent = { type: "NotifyRequested", data: { at: minute(0) } };
const returned: DraftEvent = { type: "DraftReturnedToPending", data: { because: "test" } };
const busy = (id: string) => notReached(id, { error: "busy", final: false });
const gone = (id: string) => notReached(id, { error: "gone" });

describe("a draft's notification_status", () => {
  it("notification_status is empty before a channel has answered, then says what it answered and when", () => {
    expect(statusAfter(submitted())).to.deep.equal(notAnswered);
    expect(statusAfter(submitted(), asked("one"))).to.deep.equal(notAnswered);
    expect(statusAfter(submitted(), asked("one"), reached("one"))).to.deep.equal(["sent", "email", 2, null]);
    expect(statusAfter(submitted(), asked("one"), busy("one"))).to.deep.equal(["retrying", "email", 2, "busy"]);
    const tried = [submitted(), asked("one"), busy("one"), asked("two")];
    expect(statusAfter(...tried)).to.deep.equal(["retrying", "email", 2, "busy"]);
    expect(statusAfter(...tried, reached("two"))).to.deep.equal(["sent", "email", 4, null]);
    expect(statusAfter(...tried, gone("two"))).to.deep.equal(["failed", "email", 4, "gone"]);
  });

  it("notification_status begins again with each version, whatever arrives about the one before", () => {
    const first = [submitted(), asked("one"), reached("one"), edited(2)];
    expect(statusAfter(...first)).to.deep.equal(notAnswered);
    expect(statusAfter(...first, gone("one"))).to.deep.equal(notAnswered);
    const second = [...first, asked("two", { version: 2 }), gone("one"), reached("one")];
    expect(statusAfter(...second)).to.deep.equal(notAnswered);
    expect(statusAfter(...second, reached("two"))).to.deep.equal(["sent", "email", 7, null]);
  });

  it("notification_status is the secondary channel's once it was asked, and late tries of the first do not hide it", () => {
    const both = [
      submitted(),
      asked("one", { type: "slack" }),
      busy("one"),
      escalated,
      asked("two", { slot: "secondary" }),
    ];
    expect(statusAfter(...both)).to.deep.equal(["retrying", "slack", 2, "busy"]);
    const told = [...both, reached("two"), asked("three", { type: "slack" }), gone("three")];
    expect(statusAfter(...told)).to.deep.equal(["sent", "email", 5, null]);
    expect(statusAfter(...both, gone("two"))).to.deep.equal(["failed", "email", 5, "gone"]);
  });

  it("notification_status is the first channel's again if it is asked on request or after an approval was taken back", () => {
    const both = [submitted(), asked("one"), gone("one"), escalated, asked("two", { slot: "secondary" }), gone("two")];
    expect(statusAfter(...both, requested, asked("three"), reached("three"))).to.deep.equal(["sent", "email", 8, null]);
    expect(statusAfter(...both, approved(1), returned, asked("three"), reached("three"))).to.deep.equal([
      "sent",
      "email",
      9,
      null,
    ]);
  });

  it("notification_status stops retrying once the draft is not pending", () => {
    for (const decision of [approved(1), rejected(1), queued(1)]) {
      const decided = [submitted(), asked("one"), busy("one"), decision];
      expect(statusAfter(...decided)).to.deep.equal(["failed", "email", 2, "busy"]);
      expect(statusAfter(submitted(), asked("one"), decision, busy("one"))).to.deep.equal([
        "failed",
        "email",
        3,
        "busy",
      ]);
      expect(statusAfter(submitted(), asked("one"), decision, reached("one"))).to.deep.equal([
        "sent",
        "email",
        3,
        null,
      ]);
    }
  });

  it("notification_status says that a mail came back, for the newest request alone", () => {
    const sent = [submitted(), asked("one"), reached("one")];
    expect(statusAfter(...sent, gone("one"))).to.deep.equal(["failed", "email", 3, "gone"]);
    expect(statusAfter(...sent, requested, asked("two"), reached("two"), gone("one"))).to.deep.equal([
      "sent",
      "email",
      5,
      null,
    ]);
  });

  it("notification_status says that a link was closed until the next one is there", () => {
    const leaked = [submitted(), asked("one"), reached("one"), closed("one", "link_leaked", "mail")];
    const [state, , since, error] = statusAfter(...leaked);
    expect([state, since, error]).to.deep.equal([
      "retrying",
      3,
      "link_leaked: an approval link of this draft was found in inbound mail, and was closed",
    ]);
    expect(statusAfter(...leaked, asked("two"), reached("two"))).to.deep.equal(["sent", "email", 5, null]);
  });
});
