import { expect } from "chai";
import { upcasting } from "#src/eventStore/upcasting.ts";
import { type Upcasters, upcast } from "#streams/upcast.ts";
import { createMemoryEventStore } from "#test/support/memoryEventStore.ts";

const known: Upcasters = {
  NameGiven: {
    1: ({ name }) => ({ data: { first: String(name).split(" ")[0], last: String(name).split(" ")[1] } }),
    2: (data) => ({ type: "PersonNamed", data: { ...data, title: null } }),
  },
};
const newest = { first: "Ann", last: "Lee", title: null };
const metadata = {
  workspaceId: null,
  actor: { kind: "system", id: "t" } as const,
  correlationId: "c",
  causationId: "c",
  at: "",
};

describe("reading what was stored in an older version", () => {
  it("takes it step by step to the newest, and leaves the newest alone", () => {
    const first = upcast({ type: "NameGiven", schemaVersion: 1, data: { name: "Ann Lee" } }, known);
    expect(first).to.deep.equal({ type: "PersonNamed", schemaVersion: 3, data: newest });
    expect(upcast(first, known)).to.equal(first);
    expect(upcast({ type: "Other", schemaVersion: 1, data: {} }, known).type).to.equal("Other");
  });

  it("does so wherever events are read, and changes nothing that is stored", async () => {
    const log = createMemoryEventStore();
    const store = upcasting(log, known);
    const stored = { id: "1", type: "NameGiven", data: { name: "Ann Lee" }, schemaVersion: 1, metadata };
    await store.append("person-1", -1, [stored]);
    const [read] = await store.read("person-1");
    expect(read).to.deep.include({ type: "PersonNamed", schemaVersion: 3, data: newest, revision: 0, position: 1 });
    expect(await store.readLast("person-1")).to.deep.equal(read);
    expect(await store.readLast("person-2")).to.equal(undefined);
    const ended = new AbortController();
    for await (const batch of store.subscribe({ after: 0, signal: ended.signal })) {
      expect(batch.events).to.deep.equal([read]);
      expect(batch.position).to.equal(1);
      ended.abort();
    }
    await store.append("person-1", 0, [{ id: "2", type: "NameGiven", data: newest, metadata }]);
    expect(log.all[1]?.schemaVersion).to.equal(3);
    expect(log.all[0]).to.deep.include({ type: "NameGiven", schemaVersion: 1, data: { name: "Ann Lee" } });
  });
});
