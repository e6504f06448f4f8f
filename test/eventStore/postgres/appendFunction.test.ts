import { readFile } from "node:fs/promises";
import { expect } from "chai";
import fc from "fast-check";
import pg from "pg";
import { noStream } from "#src/eventStore/eventStore.ts";
import type { Request } from "#src/eventStore/postgres/batch.ts";
import { commit } from "#src/eventStore/postgres/commit.ts";
import { inFull } from "#test/support/full.ts";
import { createTestDatabase, type TestDatabase } from "#test/support/postgres.ts";
import { newEvent, upTo } from "../contract/support.ts";

const formerFile = new URL("../../../src/postgres/migrations/0015-append-guards.sql", import.meta.url);

/** What a request of a call does, where streams stand as they do. */
type Shape = { events: number; off: number; repeats: number; guards: { stream: number; off: number }[] };

describe("The function that appends", function () {
  this.timeout(60_000);
  let database: TestDatabase;
  let client: pg.Client;

  before(async () => {
    database = await createTestDatabase();
    client = new pg.Client({ connectionString: database.ownerUrl });
    await client.connect();
    const sql = (await readFile(formerFile, "utf8")).slice(0, -1).split("\nrevoke ")[0]!;
    await client.query(sql.replace("function es.append(", "function es.append_before("));
  });
  after(async () => {
    await client.end();
    await database.drop();
  });

  /** What the call answers and leaves behind; it is undone. */
  async function tried(batch: readonly Request[], name: string) {
    const asked = { query: (query: pg.QueryConfig) => client.query({ ...query, name, text: named(query.text, name) }) };
    await client.query("begin");
    const { outcomes, written } = await commit(asked as unknown as pg.Client, batch);
    const columns = "position, stream_id, revision, event_id, type, schema_version, data::text, metadata::text, bytes";
    const { rows } = await client.query(`select ${columns} from es.events order by position`);
    await client.query("rollback");
    return { outcomes, written, rows };
  }

  const named = (text: string, name: string): string => text.replace("es.append(", `es.${name}(`);

  it("answers and writes what the one before it did, whatever is asked of it", async () => {
    const guard = fc.record({ stream: fc.nat(2), off: fc.constantFrom(0, 0, 0, 1, -1) });
    const shape: fc.Arbitrary<Shape> = fc.record({
      events: fc.integer({ min: 1, max: 4 }),
      off: fc.constantFrom(0, 0, 0, 1, -1, -2),
      repeats: fc.nat(6),
      guards: fc.array(guard, { maxLength: 3 }),
    });
    const seen = { done: 0, moved: 0, guarded: 0, repeated: 0 };
    let round = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(shape, { minLength: 1, maxLength: 4 }), { minLength: 2, maxLength: 8 }),
        async (calls) => {
          round += 1;
          const ids = new Map<string, string[]>();
          const idsOf = (stream: string): string[] => ids.get(stream) ?? ids.set(stream, []).get(stream)!;
          for (const call of calls) {
            const batch = call.map((one, index) => request(one, `s${round}-${index}`, idsOf));
            const old = await tried(batch, "append_before");
            const now = await tried(batch, "append");
            expect(now).to.deep.equal(old);
            const { outcomes } = await commit(client, batch);
            for (const [index, outcome] of outcomes.entries()) {
              const { stream, expectedRevision, events } = batch[index]!;
              if (outcome instanceof Error) seen[outcome.message.startsWith(stream) ? "moved" : "guarded"] += 1;
              else if (expectedRevision + 1 < idsOf(stream).length) seen.repeated += 1;
              else {
                seen.done += 1;
                idsOf(stream).push(...events.map(({ id }) => id));
              }
            }
          }
        },
      ),
      { numRuns: inFull ? 200 : 15 },
    );
    expect(Math.min(...Object.values(seen)), JSON.stringify(seen)).to.be.greaterThan(0);
  });

  /** Guards are of the streams `g-0` to `g-2`, which stand where a stream stands that does not exist. */
  function request(
    { events, off, repeats, guards }: Shape,
    stream: string,
    idsOf: (stream: string) => string[],
  ): Request {
    const own = idsOf(stream);
    const isRepeated = repeats > 3 && own.length > 0;
    const expectedRevision = isRepeated
      ? Math.max(noStream, own.length - 1 - events)
      : Math.max(noStream, own.length - 1 + off);
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
      guards: guards.map((one) => ({ stream: `g-${one.stream}`, revision: Math.max(noStream, noStream + one.off) })),
      deadline: 0,
      alone: false,
      resolve: () => {},
      reject: () => {},
    };
  }
});
