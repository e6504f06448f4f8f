import { expect } from "chai";
import {
  earlierVersion,
  lastShownVersion,
  pendingSince,
  recentEvents,
  versionOf,
} from "#src/commands/approvals/draftVersions.ts";
import type { DraftEvent } from "#streams/draft/events.ts";
import type { Recorded } from "#streams/event.ts";

let count = 0;
/** Makes an event as stored in the log, with only the data that the test gives. */
const event = (type: DraftEvent["type"], data: object = {}): Recorded<DraftEvent> =>
  ({ type, data, metadata: { at: `2026-11-20T09:0${count++ % 10}:00.000Z`, actor: { kind: "api_key" } } }) as never;

const submitted = (more: object = {}) =>
  event("DraftSubmitted", { content: { subject: "1" }, contentBlob: null, ...more });
const edited = (version: number, more: object = {}) =>
  event("DraftEdited", { version, content: { subject: String(version) }, contentBlob: null, ...more });
const asked = (id: string, version: number) => event("ApproversAsked", { notificationId: id, version });
const notified = (id: string) => event("ApproversNotified", { notificationId: id });
const failed = (id: string) => event("NotificationFailed", { notificationId: id, error: "", final: true });

describe("the versions of a draft", () => {
  it("a draft's versions know which one approvers saw before, and why there is another", () => {
    const events = [
      submitted(),
      ...[asked("a", 1), notified("a")],
      edited(2, { because: "edit" }),
      ...[asked("b", 2), failed("b")],
      edited(3, { because: "identity_changed" }),
      edited(4, { because: "edit" }),
      ...[asked("c", 4), notified("c")],
    ];
    const before = lastShownVersion(events, 4);
    expect(before?.asked.version).to.equal(1);
    expect(before?.because).to.deep.equal(["edit", "identity_changed"]);
    expect(lastShownVersion(events, 1)).to.equal(null);
  });

  it("a version that a person edited says so", () => {
    for (const kind of ["session", "email_link", "slack", "telegram"]) {
      const byPerson = edited(2, { because: "edit" });
      const events = [
        submitted(),
        asked("a", 1),
        notified("a"),
        { ...byPerson, metadata: { actor: { kind } } } as never,
      ];
      expect(lastShownVersion(events, 2)?.because, kind).to.deep.equal(["edited_by_person"]);
    }
  });

  it("a version whose mail came back does not count as shown", () => {
    const events = [submitted(), asked("a", 1), notified("a"), failed("a"), edited(2, { because: "edit" })];
    expect(lastShownVersion(events, 2)).to.equal(null);
  });

  it("versions are read from old events that lack later fields", () => {
    const events = [submitted(), asked("a", 1), notified("a"), edited(2)];
    expect(lastShownVersion(events, 2)?.because.filter((because) => because)).to.deep.equal([]);
    expect(versionOf(events, 2).stored.content?.subject).to.equal("2");
    expect(() => versionOf(events, 3)).to.throw("has no version 3");
    expect(pendingSince([{ ...submitted(), metadata: {} } as never])).to.equal(undefined);
  });

  it("a draft is pending since its newest version, or since an approval was taken back", () => {
    const returned = event("DraftReturnedToPending", { because: "" });
    const events = [submitted(), edited(2), returned, asked("a", 2)];
    expect(pendingSince(events)).to.equal(Date.parse(returned.metadata.at));
    expect(pendingSince(events.slice(0, 2))).to.equal(Date.parse(events[1]?.metadata.at ?? ""));
  });

  describe("a draft that was edited a thousand times", () => {
    const all = [submitted(), ...[asked("a", 1), notified("a")]].concat(
      Array.from({ length: 1000 }, (_, at) => edited(at + 2, { because: "edit" })),
    );
    let read = 0;
    const store = {
      read: async (_: string, from = 0, count = Number.POSITIVE_INFINITY) => {
        const events = all.slice(from, from + count);
        read += events.length;
        return events;
      },
      readLast: async () => ({ ...all.at(-1)!, revision: all.length - 1 }),
    };
    beforeEach(() => {
      read = 0;
    });

    it("versions are read back over 200 events, and it is known that there are more", async () => {
      const { events, isWhole } = await recentEvents(store, "d");
      expect([events.length, isWhole, read]).to.deep.equal([200, false, 200]);
      expect(lastShownVersion(events, 1001)).to.equal(null);
    });

    it("an earlier version is found without reading all versions before it", async () => {
      expect((await earlierVersion(store, "d", 900)).stored.content?.subject).to.equal("900");
      expect(read).to.be.at.most(200);
      expect((await earlierVersion(store, "d", 1)).version).to.equal(1);
      const missing = await earlierVersion(store, "d", 5000).catch((error: Error) => error.message);
      expect(missing).to.include("has no version 5000");
    });
  });
});
