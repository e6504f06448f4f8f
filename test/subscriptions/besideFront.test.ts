import { expect } from "chai";
import type { Projection } from "#projections/projection.ts";
import type { Database } from "#src/postgres/database.ts";
import { followBeside } from "#src/subscriptions/besideFront.ts";
import type { Recorded } from "#streams/event.ts";

describe("a read model beside the front", () => {
  /** What it writes, by the events' positions, as often as it is let. */
  function follower() {
    const written: number[][] = [];
    const waiting: (() => void)[] = [];
    const projection = {
      ...{ name: "beside", version: 1, handles: ["Happened"], apart: true },
      project: async (_, events) => void written.push(events.map(({ position }) => position)),
    } as Partial<Projection> as Projection;
    const transaction = (work: (tx: unknown) => Promise<unknown>) => work({ query: async () => ({ rowCount: 1 }) });
    const beside = followBeside({
      database: { transaction } as unknown as Database,
      place: { projection, position: 0 },
      pace: { next: () => new Promise<void>((resolve) => waiting.push(resolve)) },
      onMoved: () => {},
      onLost: () => written.push([]),
    });
    const happen = (position: number, type = "Happened"): void =>
      beside.take({ events: [{ type, position } as Recorded], position, caughtUp: true });
    async function letWrite(): Promise<void> {
      waiting.shift()?.();
      await new Promise((resolve) => setImmediate(resolve));
    }
    return { beside, happen, letWrite, written };
  }

  it("takes all that came until it may write with that", async () => {
    const { happen, letWrite, written } = follower();
    for (const position of [1, 2, 3]) happen(position);
    await letWrite();
    expect(written).to.deep.equal([[1, 2, 3]]);
    happen(4);
    happen(5, "ElsewhereHappened");
    await letWrite();
    await letWrite();
    expect(written).to.deep.equal([[1, 2, 3], [4]]);
  });

  it("writes nothing more once it was let go while it waited", async () => {
    const { beside, happen, letWrite, written } = follower();
    happen(1);
    const left = beside.leave();
    await letWrite();
    await left;
    expect(written).to.deep.equal([]);
  });
});
