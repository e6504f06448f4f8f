import { expect } from "chai";
import fc from "fast-check";
import { entriesOf, getEntry, type IdMap, isEmpty, withEntry, withoutEntry } from "#streams/idMap.ts";
import { type IdSet, includesId, noIds, withId } from "#streams/idSet.ts";

/** Ids of which some hash alike, some are numbers and one is a name that objects have already. */
const ids = fc.oneof(fc.nat(400).map(String), fc.uuid(), fc.constantFrom("__proto__", "constructor", "draft"));
const changes = fc.array(fc.record({ id: ids, value: fc.option(fc.nat(9), { nil: undefined }) }), {
  maxLength: 600,
  size: "max",
});

describe("a map by id", () => {
  it("a map by id holds what a Map holds, is JSON, and does not change the map that it was made from", () => {
    fc.assert(
      fc.property(changes, (all) => {
        const expected = new Map<string, number>();
        let map: IdMap<number> = {};
        for (const { id, value } of all) {
          const before = getEntry(map, id);
          const next: IdMap<number> = value === undefined ? withoutEntry(map, id) : withEntry(map, id, value);
          expect(getEntry(map, id)).to.equal(before);
          map = next;
          if (value === undefined) expected.delete(id);
          else expected.set(id, value);
        }
        const sorted = [...expected].sort(([one], [other]) => (one < other ? -1 : 1));
        expect(entriesOf(map)).to.deep.equal(sorted);
        expect(entriesOf(JSON.parse(JSON.stringify(map)))).to.deep.equal(sorted);
        expect(isEmpty(map)).to.equal(expected.size === 0);
        for (const [id, value] of expected) expect(getEntry(map, id)).to.equal(value);
        for (const { id } of all) map = withoutEntry(map, id);
        expect(map).to.deep.equal({});
      }),
      { numRuns: 8, seed: 20260101, endOnFailure: true },
    );
  });
});

describe("a set of ids", () => {
  it("a set of ids holds what was added and nothing else, in little more room than the ids take", () => {
    const uuids = Array.from({ length: 1_000 }, (_, n) => `0199aaaa-0000-7000-8000-${String(n).padStart(12, "0")}`);
    let set: IdSet = noIds;
    for (const id of uuids) {
      expect(includesId(set, id)).to.equal(false);
      set = withId(set, id);
    }
    for (const id of uuids) expect(includesId(set, id)).to.equal(true);
    const short = Buffer.from(uuids[7]!.replaceAll("-", ""), "hex").toString("base64url");
    const others = ["", "0199aaaa", uuids[7]!.slice(1), uuids[7]!.replaceAll("-", ""), uuids[7]!.toUpperCase(), short];
    for (const id of others) expect(includesId(set, id), id).to.equal(false);
    for (const id of others) set = withId(set, id);
    for (const id of [...uuids, ...others]) expect(includesId(set, id), id).to.equal(true);
    expect(JSON.parse(JSON.stringify(set))).to.deep.equal(set);
    expect(JSON.stringify(set).length / uuids.length).to.be.below(30);
  });
});
