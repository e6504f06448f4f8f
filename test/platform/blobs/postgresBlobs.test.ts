import { createHash, randomBytes, randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { expect } from "chai";
import pg from "pg";
import { Unavailable } from "#src/eventStore/eventStore.ts";
import { BlobCorrupt, type Blobs } from "#src/platform/blobs/blobs.ts";
import { postgresBlobs } from "#src/platform/blobs/postgresBlobs.ts";
import { postgresSweep } from "#src/platform/blobs/postgresSweep.ts";
import { type SweptStore, sweepBlobs } from "#src/platform/blobs/sweep.ts";
import { connectDatabase, type Database, type Sql } from "#src/platform/postgres/database.ts";
import type { Event } from "#streams/event.ts";
import { append } from "#test/support/events.ts";
import { sized } from "#test/support/full.ts";
import { createMemoryEventStore } from "#test/support/memoryEventStore.ts";
import { createTestDatabase, type TestDatabase } from "#test/support/postgres.ts";

/** SQL for the sessions of this database that wait for another session. */
const waiting =
  "select from pg_stat_activity where datname = current_database() and cardinality(pg_blocking_pids(pid)) > 0";

function barrier() {
  let open!: () => void;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open, opened };
}

const sha256 = (bytes: Buffer): string => createHash("sha256").update(bytes).digest("hex");

describe("blobs in PostgreSQL", () => {
  let test: TestDatabase;
  let database: Database;
  let blobs: Blobs;
  before(async () => {
    test = await createTestDatabase();
    database = connectDatabase(test);
    blobs = postgresBlobs(database);
  });
  after(async () => {
    await database.close();
    await test.drop();
  });

  async function asOwner(sql: string, values: unknown[] = []): Promise<pg.QueryResult> {
    const owner = new pg.Client({ connectionString: test.ownerUrl });
    await owner.connect();
    return owner.query(sql, values).finally(() => owner.end());
  }

  it("a blob can be read in parts", async () => {
    const bytes = randomBytes(300_000);
    const hash = await blobs.put(bytes);
    for (const [from, count] of [
      [0, 10],
      [299_990, 65_536],
      [150_000, 1],
      [300_000, 5],
    ] as const) {
      expect((await blobs.part(hash, { from, count }))?.equals(bytes.subarray(from, from + count))).to.equal(true);
    }
    expect(await blobs.part(sha256(Buffer.from("never stored")), { from: 0, count: 1 })).to.equal(undefined);
  });

  it("a blob is read as it was stored, whatever its bytes", async () => {
    for (const bytes of [
      Buffer.alloc(0),
      Buffer.from([0, 255, 92, 0]),
      randomBytes(300_000),
      Buffer.alloc(sized(8, 30) * 1024 * 1024, "x"),
    ]) {
      const hash = await blobs.put(bytes);
      expect(hash).to.equal(sha256(bytes));
      expect((await blobs.get(hash))?.equals(bytes)).to.equal(true);
    }
  });

  it("a blob is stored once, also when many store the same bytes at once", async () => {
    for (const size of [1_000, 400_000]) {
      const bytes = randomBytes(size);
      const hashes = await Promise.all(Array.from({ length: 20 }, () => blobs.put(Buffer.from(bytes))));
      expect(new Set(hashes)).to.deep.equal(new Set([sha256(bytes)]));
      const { rows } = await asOwner(
        "select count(*)::int as count, max(size) as size from work.blobs where sha256 = $1",
        [Buffer.from(hashes[0]!, "hex")],
      );
      expect(rows).to.deep.equal([{ count: 1, size }]);
    }
  });

  it("a blob that nobody stored is undefined", async () => {
    expect(await blobs.get(sha256(Buffer.from("never stored")))).to.equal(undefined);
  });

  it("a blob that changed on the disk is never taken for what was stored", async () => {
    const hash = await blobs.put(Buffer.from("as it was"));
    await asOwner("update work.blobs set bytes = 'as it is' where sha256 = $1", [Buffer.from(hash, "hex")]);
    const error = await blobs.get(hash).catch((caught) => caught);
    expect(error).to.be.instanceOf(BlobCorrupt);
  });

  it("the service can neither change nor delete a blob", async () => {
    for (const sql of ["update work.blobs set bytes = ''", "delete from work.blobs", "truncate work.blobs"]) {
      const error = await database.query(sql).catch((caught) => caught);
      expect(error.code, sql).to.equal("42501");
    }
  });

  describe("blobs that no event names", () => {
    const ago = (hours: number, ...hashes: string[]) =>
      asOwner(
        "update work.blobs set touched_at = now() - $1 * interval '1 hour' where encode(sha256, 'hex') = any($2::text[])",
        [hours, hashes],
      );
    const put = (text: string): Promise<string> => blobs.put(Buffer.from(text));
    const left = async (...hashes: string[]): Promise<boolean[]> =>
      Promise.all(hashes.map(async (hash) => (await blobs.get(hash)) !== undefined));
    const swept = postgresSweep;
    let store: ReturnType<typeof createMemoryEventStore>;
    const sweep = (options: { dryRun?: boolean; with?: Partial<SweptStore> } = {}) =>
      sweepBlobs({
        ...{ store, blobs, dryRun: options.dryRun },
        swept: { ...swept(database.owner), ...options.with },
      });
    const record = (type: string, data: object) =>
      append({ store }, { workspaceId: null, stream: `draft-${randomUUID()}` }, { type, data } as Event);

    beforeEach(async () => {
      store = createMemoryEventStore();
      await asOwner("update work.blobs set touched_at = now()");
    });

    it("blobs that no event names are removed after 24 hours; those named in an event or a stored content stay", async () => {
      const attached = await put("attached to a long letter");
      const letter = { attachments: [{ sha256: attached }], body_html: null, signature_html: null };
      const long = await put(JSON.stringify(letter));
      const [raw, old, young] = [await put("a mail"), await put("left over"), await put("left over an hour ago")];
      await ago(25, attached, long, raw, old);
      await ago(23, young);
      await record("MailReceived", { rawSha256: raw });
      for (const type of ["DraftEdited", "DraftQueued"]) await record(type, { content: null, contentBlob: long });
      const size = "left over".length;
      expect(await sweep({ dryRun: true })).to.deep.equal({ blobs: 1, bytes: size });
      expect(await left(old)).to.deep.equal([true]);
      expect(await sweep()).to.deep.equal({ blobs: 1, bytes: size });
      expect(await left(old, young, raw, long, attached)).to.deep.equal([false, true, true, true, true]);
      expect(await sweep()).to.deep.equal({ blobs: 0, bytes: 0 });
    });

    it("blobs of expired mail are removed, unless another mail has the same blob", async () => {
      const [held, shared] = [await put("a held mail"), await put("a mail to two, held by one")];
      const [attached, kept] = [await put("attached to a quarantined mail"), await put("held, and not expired")];
      await ago(25, held, shared, attached, kept);
      const [gone, quarantined, other] = ["gone", "quarantined", "other"];
      await record("MailReceived", { deliveryId: gone, rawSha256: held });
      await record("MailReceived", { deliveryId: gone, rawSha256: shared });
      await record("MailReceived", { deliveryId: other, rawSha256: shared });
      await record("MailReceived", { deliveryId: other, rawSha256: kept });
      const message = { rawSha256: held, bodyBlob: null, attachments: [{ sha256: attached }] };
      await record("MessageReceived", { deliveryId: quarantined, ...message });
      expect(await sweep()).to.deep.equal({ blobs: 0, bytes: 0 });
      const expire = (type: string, deliveryIds: string[]) =>
        append({ store }, { workspaceId: null, stream: `filing-${randomUUID()}` }, {
          type,
          data: { number: 1, deliveryIds, afterDays: 30 },
        } as Event);
      await expire("HeldMailExpired", [gone]);
      expect(await sweep()).to.deep.equal({ blobs: 0, bytes: 0 });
      await expire("QuarantinedMailExpired", ["somebody's", quarantined]);
      expect(await sweep()).to.include({ blobs: 2 });
      expect(await left(held, attached, shared, kept)).to.deep.equal([false, false, true, true]);
    });

    it("all blobs stay if a content that an event names is missing", async () => {
      const old = await put("left over as well");
      await ago(25, old);
      await record("DraftSubmitted", { content: null, contentBlob: "0".repeat(64) });
      const error = await sweep().catch((caught) => caught);
      expect(error.message).to.match(/^The blob 0+, which the event at position 1 names, is missing/);
      expect(await left(old)).to.deep.equal([true]);
    });

    it("all blobs stay if the log ends before what was read of it", async () => {
      const old = await put("left over of another log");
      await ago(25, old);
      await record("MailReceived", { rawSha256: "0".repeat(64) });
      const error = await sweep({ with: { readUpTo: async () => 2 } }).catch((caught) => caught);
      expect(error.message).to.match(/^The event log ends at 1, but it was read up to 2 before/);
      expect(await left(old)).to.deep.equal([true]);
      // The event is appended, and read by the others, after the sweep has read their positions.
      const readUpTo = () => record("MailReceived", { rawSha256: "0".repeat(64) });
      expect(await sweep({ with: { readUpTo } })).to.include({ blobs: 1 });
    });

    for (const size of [1_000, 400_000]) {
      it(`a blob (${size} bytes) stays if it is stored between the check and the removal`, async () => {
        const bytes = randomBytes(size);
        const hash = await blobs.put(bytes);
        await ago(25, hash);
        const { remove } = swept(database.owner);
        const putFirst = async (hashes: readonly string[], before: string) => {
          await blobs.put(bytes);
          return remove(hashes, before);
        };
        expect(await sweep({ with: { remove: putFirst } })).to.deep.equal({ blobs: 0, bytes: 0 });
        expect(await left(hash)).to.deep.equal([true]);
      });

      it(`a blob (${size} bytes) stays if it is stored during the removal, whichever locks the row first`, async () => {
        const bytes = randomBytes(size);
        const hash = await blobs.put(bytes);
        const { dayAgo } = swept(database.owner);
        for (const first of ["put", "removal"]) {
          await ago(25, hash);
          const before = await dayAgo();
          const [inHand, goOn] = [barrier(), barrier()];
          const hold = (work: (tx: Sql) => Promise<unknown>) => async (tx: Sql) => {
            await work(tx);
            inHand.open();
            await goOn.opened;
          };
          const putIt = (tx: Sql) => postgresBlobs(tx).put(bytes);
          const removeIt = (tx: Sql) => swept(tx).remove([hash], before);
          const holder =
            first === "put" ? database.transaction(hold(putIt)) : database.owner.transaction(hold(removeIt));
          await inHand.opened;
          const other = first === "put" ? removeIt(database.owner) : putIt(database);
          const deadline = Date.now() + 10_000;
          while ((await asOwner(waiting)).rowCount === 0 && Date.now() < deadline) await pause(10);
          goOn.open();
          await Promise.all([holder, other]);
          expect(Date.now(), "one waited for the other").to.be.below(deadline);
          expect(await left(hash), `${first} first`).to.deep.equal([true]);
        }
      });
    }
  });

  it("blobs are Unavailable if the database is not there", async () => {
    const url = "postgres://nobody:nobody@127.0.0.1:1/nothing";
    const away = connectDatabase({ serviceUrl: url, ownerUrl: url });
    const unreachable = postgresBlobs(away);
    expect(await unreachable.put(Buffer.from("x")).catch((caught) => caught)).to.be.instanceOf(Unavailable);
    expect(await unreachable.get(sha256(Buffer.from("x"))).catch((caught) => caught)).to.be.instanceOf(Unavailable);
    await away.close();
  });
});
