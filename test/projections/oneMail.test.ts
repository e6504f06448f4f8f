import { expect } from "chai";
import { drafts } from "#projections/drafts/projector.ts";
import { messages } from "#projections/messages/projector.ts";
import type { Projection } from "#projections/projection.ts";
import { search } from "#projections/search/projector.ts";
import type { Sql } from "#src/platform/postgres/database.ts";
import type { Recorded } from "#streams/event.ts";
import * as examples from "#test/support/examples/drafts.ts";
import { inboundMessage } from "#test/support/examples/index.ts";
import { makeTables, project, unseenTables } from "#test/support/projecting.ts";

const uuid = (n: number): string => `0193a0aa-0000-7000-8000-${String(n).padStart(12, "0")}`;
/** Number of mails and merges that exist before. */
const many = 2_000;
/** Maximum number of rows that one more mail or draft may read in any table: those of its own words, and a part of the rest. */
const few = 1_000;

const event = (position: number, stream: string, { type, data }: Pick<Recorded, "type" | "data">): Recorded => ({
  ...{ id: uuid(position), stream, revision: 0, position, schemaVersion: 1, type, data },
  metadata: {
    ...{ workspaceId: uuid(1), actor: { kind: "system", id: "test" }, correlationId: "test", causationId: "test" },
    at: "2026-11-01T00:00:00.000Z",
  },
});

/** Makes mails on separate threads; the last mail has words of many others. */
const received = (n: number): Recorded => {
  const words = Array.from({ length: n > many ? 400 : 1 }, (_, index) => `parcel${n - index} leeds${n - index}`);
  const body = { text: words.join(" "), html: null, extracted: words.join(" ") };
  const message = inboundMessage(n, { messageId: uuid(10_000 + n), identityId: uuid(2), body });
  return event(n, `thread-${uuid(20_000 + n)}`, { type: "MessageReceived", data: { ...message } });
};

const submitted = (n: number): Recorded =>
  event(n, `draft-${uuid(30_000 + n)}`, {
    type: "DraftSubmitted",
    data: examples.submitted({
      ...{ workspaceId: uuid(1), threadId: uuid(20_000 + n), identityId: uuid(2), messageId: uuid(40_000 + n) },
      ...{ basedOnMessageId: null, basedOnNumber: 0, answers: null },
    }).data,
  });

describe("the cost of one more mail or draft among many", () => {
  const unseen = unseenTables();

  /** Returns the maximum number of rows that projecting this event reads in a table with many similar rows. */
  const rowsLookedAt = (
    projection: Projection,
    { merges, eventOf }: { merges: string; eventOf: (n: number) => Recorded },
  ): Promise<number> =>
    unseen(async (tx) => {
      await makeTables(projection, tx);
      const before = Array.from({ length: many }, (_, index) => eventOf(index + 1));
      await project(projection, tx, before);
      await tx.query(
        `insert into ${merges} select gen_random_uuid(), gen_random_uuid() from generate_series(1, ${many})`,
      );
      await tx.query("analyze");
      const counted = await counts(tx);
      await project(projection, tx, [eventOf(many + 1)]);
      const after = await counts(tx);
      return Math.max(...[...after].map(([table, rows]) => rows - (counted.get(table) ?? 0)));
    });

  async function counts(tx: Sql): Promise<Map<string, number>> {
    const { rows } = await tx.query<{ relname: string; looked_at: number }>(
      "select relname, seq_tup_read + coalesce(idx_tup_fetch, 0) as looked_at from pg_stat_xact_user_tables",
    );
    return new Map(rows.map(({ relname, looked_at }) => [relname, looked_at]));
  }

  it("one more mail reads few messages and merges", async () => {
    const merges = "message_thread_merges";
    expect(await rowsLookedAt(messages as Projection, { merges, eventOf: received })).to.be.within(1, few);
  });

  it("one more draft reads few drafts", async () => {
    const merges = "draft_thread_merges";
    expect(await rowsLookedAt(drafts as Projection, { merges, eventOf: submitted })).to.be.within(1, few);
  });

  it("one more mail reads few words and messages of the search", async () => {
    const merges = "search_thread_merges";
    expect(await rowsLookedAt(search as Projection, { merges, eventOf: received })).to.be.within(1, few);
  });
});
