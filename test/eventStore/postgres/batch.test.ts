import { expect } from "chai";
import { type AppendRequest, takeBatch } from "#src/eventStore/postgres/batch.ts";
import { upTo } from "../contract/support.ts";

const request = (
  stream: string,
  { guards = [], events = 1, bytes = 100, alone = false }: Partial<Shape> = {},
): AppendRequest => ({
  stream,
  expectedRevision: -1,
  events: upTo(events).map(() => ({ id: "", type: "T", schemaVersion: 1, data: "{}", metadata: "{}" })),
  bytes,
  guards: guards.map((guard) => ({ stream: guard, revision: 0 })),
  deadline: 0,
  alone,
  resolve: () => {},
  reject: () => {},
});
type Shape = { guards: string[]; events: number; bytes: number; alone: boolean };

/** Empties the queue, and returns the streams of each batch. */
function batches(...queue: AppendRequest[]): string[][] {
  const taken: string[][] = [];
  while (queue.length > 0) taken.push(takeBatch(queue).map(({ stream }) => stream));
  return taken;
}

describe("A commit's batch", () => {
  it("a commit's batch takes every append that waits", () => {
    expect(batches(request("a-1"), request("b-1"), request("c-1"))).to.deep.equal([["a-1", "b-1", "c-1"]]);
  });

  it("a commit's batch writes a stream once, in the requested order", () => {
    const queue = [request("a-1"), request("a-1"), request("b-1"), request("a-1")];
    expect(batches(...queue)).to.deep.equal([["a-1", "b-1"], ["a-1"], ["a-1"]]);
  });

  it("a commit's batch does not write a stream that is a guard in it", () => {
    expect(batches(request("a-1", { guards: ["other-1", "key-1"] }), request("key-1"))).to.deep.equal([
      ["a-1"],
      ["key-1"],
    ]);
  });

  it("a commit's batch is not guarded by a stream that it writes", () => {
    expect(batches(request("key-1"), request("a-1", { guards: ["other-1", "key-1"] }))).to.deep.equal([
      ["key-1"],
      ["a-1"],
    ]);
  });

  it("one stream may guard many appends of a batch, and its own append does not wait long", () => {
    const guarded = upTo(600).map((n) => request(`a-${n}`, { guards: ["other-1", "key-1"] }));
    const [first, second] = batches(...guarded.slice(0, 10), request("key-1"), ...guarded.slice(10));
    expect(first).to.have.length(511).and.not.to.include("key-1");
    expect(second?.[0]).to.equal("key-1");
  });

  it("a commit's batch is bounded by events and bytes, but takes at least one request", () => {
    expect(batches(...upTo(3).map((n) => request(`a-${n}`, { events: 300 })))).to.have.length(3);
    expect(batches(...upTo(3).map((n) => request(`a-${n}`, { events: 1000 })))).to.have.length(3);
    expect(batches(...upTo(8).map((n) => request(`a-${n}`, { bytes: 1_000_000 })))).to.have.length(2);
  });

  it("a request that is to go alone has its own batch", () => {
    const queue = [request("a-1"), request("b-1", { alone: true }), request("c-1", { alone: true }), request("d-1")];
    expect(batches(...queue)).to.deep.equal([["a-1"], ["b-1"], ["c-1"], ["d-1"]]);
  });
});
