import { readFileSync } from "node:fs";
import { expect } from "chai";
import { publicEvents } from "#projections/feed/publicEvents.ts";
import { eventKinds } from "#src/http/docs/eventKinds.ts";
import type { Recorded } from "#streams/event.ts";
import { type PublicEventType, publicEventTypes } from "#streams/webhook/events.ts";

const id = "0199aaaa-0000-7000-8000-000000000001";
const known = { thread_id: id, identity_id: id, message_id: id, domain_name: "example.com" };

/** The feed's events that the samples of the log make. */
function told() {
  return ["draft", "delivery", "thread", "domain"].flatMap((noun) => {
    const samples = JSON.parse(
      readFileSync(new URL(`../../../streams/${noun}/samples.json`, import.meta.url), "utf8"),
    ) as {
      type: string;
      data: object;
    }[];
    return samples.flatMap((sample) =>
      publicEvents(
        {
          ...sample,
          id,
          stream: `${noun}-${id}`,
          position: 1,
          metadata: { workspaceId: id, at: "2026-01-01T00:00:00Z", actor: { kind: "system", id: "test" } },
        } as Recorded,
        () => known,
      ),
    );
  });
}

describe("the documentation of the event feed", () => {
  it("the documentation of the event feed names exactly the fields of every kind of event", () => {
    const events = told();
    // Only an approval that can be undone has `undo_until`.
    const always = (names: readonly string[]) => names.filter((name) => name !== "undo_until");
    for (const { type, data } of events)
      expect(always(Object.keys(data)), type).to.have.members(always(eventKinds[type].data));
    expect(events.filter(({ data }) => "undo_until" in data).map(({ type }) => type)).to.include("draft.approved");
    const seen = new Set<PublicEventType>(events.map(({ type }) => type));
    expect(publicEventTypes.filter((type) => !seen.has(type))).to.deep.equal([]);
  });
});
