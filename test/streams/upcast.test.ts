import { expect } from "chai";
import { keepAppendsAtomic } from "#src/eventStore/atomicBatches.ts";
import { upcastReads } from "#src/eventStore/upcasting.ts";
import { fold } from "#streams/decider.ts";
import type { Event, Metadata } from "#streams/event.ts";
import { type StoredEvent, type Upcasters, upcast } from "#streams/upcast.ts";
import { createMemoryEventStore } from "#test/support/memoryEventStore.ts";

/**
 * The worked example of streams/README.md: `PersonNamed` had one name for a person, and has two since version 2. Its declaration, its
 * decider and its projectors know version 2 alone; the upcaster is all that remembers version 1.
 */
type PersonEvent = Event<"PersonNamed", { first: string; last: string }>;

const person = {
  initial: { fullName: "" },
  evolve: (_: { fullName: string }, { data: { first, last } }: PersonEvent) => ({ fullName: `${last}, ${first}` }),
};

const known: Upcasters = {
  PersonNamed: {
    1: ({ name }) => {
      const [first, last] = (name as string).split(" ");
      return { data: { first, last } };
    },
  },
};

/** Samples as in `samples.json`: the sample of version 1 stays when one of version 2 is added. */
const samples: StoredEvent[] = [
  { type: "PersonNamed", schemaVersion: 1, data: { name: "Ann Lee" } },
  { type: "PersonNamed", schemaVersion: 2, data: { first: "Ann", last: "Lee" } },
];
const [old, newest] = samples as [StoredEvent, StoredEvent];

const actor = { kind: "system", id: "test" } as const;
const metadata: Metadata = { workspaceId: null, actor, correlationId: "c", causationId: "c", at: "" };

describe("an event whose shape has changed", () => {
  it("an event folds to the same state whichever version was stored", () => {
    for (const sample of samples) {
      expect(upcast(sample, known)).to.deep.include(newest);
      if (sample !== newest) expect(upcast(sample, known)).to.have.deep.property("stored", sample);
      const events = [upcast(sample, known)] as unknown as PersonEvent[];
      expect(fold(person, events), `version ${sample.schemaVersion}`).to.deep.equal({ fullName: "Lee, Ann" });
    }
  });

  it("an old event is read in its newest version through the composed store, and stays stored as it was", async () => {
    const log = createMemoryEventStore();
    await log.append("person-1", -1, [{ ...old, id: "1", metadata }]);
    const store = keepAppendsAtomic(upcastReads(log, known));
    const { type, data } = newest;
    await store.append("person-1", 0, [{ type, data, id: "2", metadata }]);

    const read = await store.read("person-1");
    expect(read.map(({ id, schemaVersion, data }) => ({ id, schemaVersion, data }))).to.deep.equal([
      { id: "1", schemaVersion: 2, data },
      { id: "2", schemaVersion: 2, data },
    ]);
    const page = await store.readPage("person-1", { from: 0, events: 10, bytes: 1_000 });
    expect(page).to.deep.equal({ events: read, atEnd: true });
    expect(await store.readLast("person-1")).to.deep.equal(read[1]);
    expect(await store.readLast("person-2")).to.equal(undefined);
    const followed: unknown[] = [];
    const ended = new AbortController();
    for await (const { events, position } of store.subscribe({ after: 0, signal: ended.signal })) {
      followed.push(...events);
      if (position === 2) ended.abort();
    }
    expect(followed).to.deep.equal(read);
    expect(log.all.map(({ schemaVersion, data }) => [schemaVersion, data])).to.deep.equal([
      [1, old.data],
      [2, newest.data],
    ]);
  });

  it("an event is upcast version by version, and may get another type on the way", () => {
    const renamed: Upcasters = {
      PersonNamed: {
        ...known.PersonNamed,
        2: (data) => ({ type: "PersonIntroduced", data: { ...data, title: null } }),
      },
    };
    const introduced = { type: "PersonIntroduced", schemaVersion: 3, data: { first: "Ann", last: "Lee", title: null } };
    for (const sample of samples) expect(upcast(sample, renamed)).to.deep.include(introduced);
    expect(upcast(introduced, renamed)).to.equal(introduced);
    expect(upcast({ type: "Other", schemaVersion: 1, data: {} }, renamed).type).to.equal("Other");
  });
});
