import { expect } from "chai";
import fc from "fast-check";
import pg from "pg";
import { StreamMoved } from "#src/eventStore/eventStore.ts";
import type { AppendRequest } from "#src/eventStore/postgres/batch.ts";
import { type AppendOutcome, commit } from "#src/eventStore/postgres/commit.ts";
import { inFull } from "#test/support/full.ts";
import { createTestDatabase, type TestDatabase } from "#test/support/postgres.ts";
import { newEvent, upTo } from "../contract/support.ts";

/** A request of a call, relative to the present revisions of its streams. */
type Shape = { events: number; off: number; repeats: number; guards: { stream: number; off: number }[] };

type Row = { position: number; stream: string; revision: number; id: string; data: string; bytes: number };

/** Model of the log: `append` judges a call by the streams' revisions before the call. */
function modelOfLog() {
  const rows: Row[] = [];
  const of = (stream: string): Row[] => rows.filter((row) => row.stream === stream);
  const at = (stream: string): number => of(stream).length - 1;

  function judged(request: AppendRequest, last: number): { outcome: AppendOutcome; added: Row[] } {
    const { stream, expectedRevision, events, guards } = request;
    const guard = guards.find((each) => at(each.stream) !== each.revision);
    const revision = expectedRevision + events.length;
    if (!guard && at(stream) === expectedRevision) {
      const added = events.map(({ id, data, metadata }, index) => ({
        ...{ position: last - events.length + 1 + index, stream, revision: expectedRevision + 1 + index, id, data },
        bytes: data.length + metadata.length,
      }));
      return { outcome: { revision, position: last }, added };
    }
    const there = of(stream).slice(expectedRevision + 1, revision + 1);
    if (there.length === events.length && there.every(({ id }, index) => id === events[index]!.id))
      return { outcome: { revision, position: there.at(-1)!.position }, added: [] };
    const moved = guard ?? { stream, revision: expectedRevision };
    return { outcome: new StreamMoved(moved.stream, moved.revision, at(moved.stream)), added: [] };
  }

  return {
    rows,
    idsOf: (stream: string) => of(stream).map(({ id }) => id),
    at,
    append(batch: readonly AppendRequest[]): AppendOutcome[] {
      let last = rows.at(-1)?.position ?? 0;
      const all = batch.map((request) => {
        last += request.events.length;
        return judged(request, last);
      });
      rows.push(...all.flatMap(({ added }) => added));
      return all.map(({ outcome }) => outcome);
    },
  };
}

describe("the function that appends", () => {
  let database: TestDatabase;
  let client: pg.Client;

  before(async () => {
    database = await createTestDatabase();
    client = new pg.Client({ connectionString: database.serviceUrl });
    await client.connect();
  });
  after(async () => {
    await client.end();
    await database.drop();
  });

  it("the append function answers and writes what its contract says, whatever it is given", async () => {
    const guard = fc.record({ stream: fc.nat(2), off: fc.constantFrom(0, 0, 0, 1, -1) });
    const shape: fc.Arbitrary<Shape> = fc.record({
      events: fc.integer({ min: 1, max: 4 }),
      off: fc.constantFrom(0, 0, 0, 1, -1, -2),
      repeats: fc.nat(6),
      guards: fc.array(guard, { maxLength: 3 }),
    });
    const model = modelOfLog();
    const seen = { done: 0, moved: 0, guarded: 0, repeated: 0 };
    let round = 0;

    async function call(batch: readonly AppendRequest[]): Promise<void> {
      const known = model.rows.length;
      const outcomes = model.append(batch);
      expect(await commit(client, batch)).to.deep.equal(outcomes);
      const added = model.rows.slice(known);
      const { rows } = await client.query(
        `select position::int, stream_id as stream, revision, event_id as id, data::text, bytes from es.events
         where position > $1 order by position`,
        [model.rows[known - 1]?.position ?? 0],
      );
      expect(rows).to.deep.equal(added);
      for (const [index, outcome] of outcomes.entries()) {
        const { stream } = batch[index]!;
        if (outcome instanceof Error) seen[outcome.message.startsWith(stream) ? "moved" : "guarded"] += 1;
        else seen[added.some((row) => row.position === outcome.position) ? "done" : "repeated"] += 1;
      }
    }

    // Of the guard streams `g-0` to `g-2`, only this one exists.
    await call([request({ events: 3, off: 0, repeats: 0, guards: [] }, "g-0", model)]);
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(shape, { minLength: 1, maxLength: 4 }), { minLength: 2, maxLength: 8 }),
        async (calls) => {
          round += 1;
          for (const shapes of calls) await call(shapes.map((one, n) => request(one, `s${round}-${n}`, model)));
        },
      ),
      { numRuns: inFull ? 200 : 15 },
    );
    expect(Math.min(...Object.values(seen)), JSON.stringify(seen)).to.be.greaterThan(0);
  });

  function request(
    { events, off, repeats, guards }: Shape,
    stream: string,
    { idsOf, at }: ReturnType<typeof modelOfLog>,
  ): AppendRequest {
    const own = idsOf(stream);
    const isRepeated = repeats > 3 && own.length > 0;
    const expectedRevision = Math.max(-1, isRepeated ? at(stream) - events : at(stream) + off);
    const known = isRepeated ? own.slice(expectedRevision + 1) : [];
    return {
      stream,
      expectedRevision,
      events: upTo(events).map((n) => ({
        id: known[n] ?? newEvent().id,
        type: "T",
        schemaVersion: 1,
        data: JSON.stringify({ n }),
        metadata: "{}",
      })),
      bytes: 0,
      guards: guards.map((one) => ({
        stream: `g-${one.stream}`,
        revision: Math.max(-1, at(`g-${one.stream}`) + one.off),
      })),
      deadline: 0,
      alone: false,
      resolve: () => {},
      reject: () => {},
    };
  }
});
