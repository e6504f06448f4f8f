import { expect } from "chai";
import { createMemoryRoom } from "#src/commands/memoryRoom.ts";

describe("a room for large things", () => {
  it("a room admits what fits, in order, and anything larger than the room alone", async () => {
    const room = createMemoryRoom(10);
    const ends: (() => void)[] = [];
    const begun: number[] = [];
    const take = (bytes: number) =>
      room.take(bytes, () => {
        begun.push(bytes);
        return new Promise<void>((resolve) => ends.push(resolve));
      });
    const all = [6, 4, 5, 1, 100, 2].map(take);
    const end = async (index: number) => {
      ends[index]?.();
      await new Promise((resolve) => setImmediate(resolve));
      return [...begun];
    };
    await new Promise((resolve) => setImmediate(resolve));
    expect(begun).to.deep.equal([6, 4]);
    expect(await end(1), "the next one does not fit yet, and nobody passes it").to.deep.equal([6, 4]);
    expect(await end(0)).to.deep.equal([6, 4, 5, 1]);
    await end(2);
    expect(await end(3)).to.deep.equal([6, 4, 5, 1, 100]);
    expect(await end(4)).to.deep.equal([6, 4, 5, 1, 100, 2]);
    await end(5);
    await Promise.all(all);
  });

  it("a room gets back what failing work took", async () => {
    const room = createMemoryRoom(1);
    const failure = await room.take(1, () => Promise.reject(new Error("x"))).catch((error: Error) => error.message);
    expect(failure).to.equal("x");
    expect(await room.take(1, async () => "y")).to.equal("y");
  });

  it("a room gives one share half at most, and admits others meanwhile", async () => {
    const room = createMemoryRoom(10);
    const begun: string[] = [];
    const ends: (() => void)[] = [];
    const all = [4, 4, 1, 20].map((bytes) =>
      room.take(
        bytes,
        () => {
          begun.push(`a${bytes}`);
          return new Promise<void>((resolve) => ends.push(resolve));
        },
        "a",
      ),
    );
    const other = room.take(5, async () => void begun.push("b5"), "b");
    await other;
    expect(begun).to.deep.equal(["a4", "a1", "b5"]);
    for (let next = ends.shift(); next; next = ends.shift()) {
      next();
      await new Promise((resolve) => setImmediate(resolve));
    }
    await Promise.all(all);
    expect(begun.slice(3), "more than its half alone").to.deep.equal(["a4", "a20"]);
  });

  it("a room admits first the share that holds least, however many others wait before it", async () => {
    const room = createMemoryRoom(10);
    const [begun, ends]: [string[], (() => void)[]] = [[], []];
    const take = (share: string, bytes: number) =>
      room.take(
        bytes,
        () => {
          begun.push(share);
          return new Promise<void>((resolve) => ends.push(resolve));
        },
        share,
      );
    const all = ["a", "a", "b", "b", "a", "b", "a", "c"].map((share) => take(share, 2.5));
    await new Promise((resolve) => setImmediate(resolve));
    expect(begun).to.deep.equal(["a", "a", "b", "b"]);
    for (let next = ends.shift(); next; next = ends.shift()) {
      next();
      await new Promise((resolve) => setImmediate(resolve));
    }
    await Promise.all(all);
    expect(begun.slice(4)).to.deep.equal(["c", "a", "b", "a"]);
  });

  it("a room without space says so at once to work that does not wait", async () => {
    const room = createMemoryRoom(10);
    let end = (): void => {};
    const first = room.takeNow(4, () => new Promise<void>((resolve) => (end = resolve)), "a");
    expect(
      room.takeNow(4, async () => "a", "a"),
      "more than half",
    ).to.equal(undefined);
    expect(
      room.takeNow(7, async () => "b", "b"),
      "more than there is",
    ).to.equal(undefined);
    expect(await room.takeNow(5, async () => "b", "b")).to.equal("b");
    end();
    await first;
    expect(await room.takeNow(4, async () => "a", "a")).to.equal("a");
  });
});
