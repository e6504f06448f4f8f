import { readFile } from "node:fs/promises";
import { expect } from "chai";
import { drafts } from "#projections/drafts/projector.ts";
import { messages } from "#projections/messages/projector.ts";
import type { Projection } from "#projections/projection.ts";
import { connectDatabase, type Database, type Sql } from "#src/postgres/database.ts";
import type { Recorded } from "#streams/event.ts";
import { draftContent } from "#test/support/draftContent.ts";
import { createTestDatabase, type TestDatabase } from "#test/support/postgres.ts";

const uuid = (n: number): string => `0193a0aa-0000-7000-8000-${String(n).padStart(12, "0")}`;
const [a, b, c] = [uuid(1), uuid(2), uuid(3)];
const workspaceId = uuid(100);

let position = 0;
const event = (stream: string, type: string, data: Record<string, unknown>): Recorded => ({
  id: uuid(1000 + ++position),
  stream,
  revision: 0,
  position,
  schemaVersion: 1,
  type,
  data,
  metadata: {
    workspaceId,
    actor: { kind: "system", id: "test" },
    correlationId: "test",
    causationId: "test",
    at: new Date(Date.UTC(2026, 10, 1) + position * 1000).toISOString(),
  },
});

const absorbed = (survivor: string, absorbedId: string) =>
  event(`thread-${survivor}`, "ThreadAbsorbed", { absorbedId });

const submitted = (draftId: string, threadId: string) =>
  event(`draft-${draftId}`, "DraftSubmitted", {
    ...{ workspaceId, threadId, identityId: uuid(200), basedOnMessageId: null, basedOnNumber: 0 },
    ...{ messageId: uuid(300), contentSha256: "0".repeat(64), content: draftContent(), contentBlob: null },
    ...{ rationale: null, metadata: null, staleWarning: false, autoApproved: false },
  });

const edited = (draftId: string) =>
  event(`draft-${draftId}`, "DraftEdited", {
    ...{ version: 2, contentSha256: "1".repeat(64), content: draftContent({ body_text: "edited" }), contentBlob: null },
    ...{ rationale: null, changedFields: ["body_text"], because: "edit" },
  });

const queued = (draftId: string, threadId: string) =>
  event(`draft-${draftId}`, "DraftQueued", {
    ...{ threadId, identityId: uuid(200), messageId: uuid(300), attemptId: uuid(301), version: 1 },
    ...{ contentSha256: "0".repeat(64), content: draftContent(), contentBlob: null },
    ...{ quotaStream: "quota-x", reservationId: uuid(302), authorisation: { kind: "api_key", approvedVersion: 1 } },
  });

describe("rows written for a thread that was absorbed", () => {
  let testDatabase: TestDatabase;
  let database: Database;

  before(async () => {
    testDatabase = await createTestDatabase();
    database = connectDatabase(testDatabase);
  });
  after(async () => {
    await database.close();
    await testDatabase.drop();
  });

  /** Projects these batches into tables that nobody else sees, and answers the threads the rows are on. */
  async function threadsAfter(projection: Projection, table: string, batches: Recorded[][]): Promise<string[]> {
    const rollback = new Error("seen enough");
    let threads: string[] = [];
    const work = async (tx: Sql) => {
      await tx.query("set local search_path = pg_temp");
      const tables = await readFile(
        new URL(`../../projections/${projection.name}/tables.sql`, import.meta.url),
        "utf8",
      );
      await tx.query(tables);
      for (const batch of batches) {
        await projection.project(
          tx,
          batch.filter(({ type }) => projection.handles.includes(type)),
        );
      }
      const { rows } = await tx.query<{ thread_id: string }>(`select thread_id from ${table} order by created_at, id`);
      threads = rows.map(({ thread_id }) => thread_id);
      throw rollback;
    };
    await database.transaction(work).catch((error) => {
      if (error !== rollback) throw error;
    });
    return threads;
  }

  const draft = uuid(10);

  it("move with the merge when they were there before it", async () => {
    const events = [submitted(draft, b), absorbed(a, b)];
    expect(await threadsAfter(drafts, "drafts", [events])).to.deep.equal([a]);
    expect(
      await threadsAfter(
        drafts,
        "drafts",
        events.map((each) => [each]),
      ),
    ).to.deep.equal([a]);
  });

  it("land on the survivor when they come after it: a submission that raced the merge", async () => {
    const events = [absorbed(a, b), submitted(draft, b)];
    expect(await threadsAfter(drafts, "drafts", [events])).to.deep.equal([a]);
    expect(
      await threadsAfter(
        drafts,
        "drafts",
        events.map((each) => [each]),
      ),
    ).to.deep.equal([a]);
  });

  it("stay there through later events of theirs", async () => {
    const events = [absorbed(a, b), submitted(draft, b), edited(draft)];
    expect(
      await threadsAfter(
        drafts,
        "drafts",
        events.map((each) => [each]),
      ),
    ).to.deep.equal([a]);
  });

  it("follow a merge that follows a merge, whichever comes first", async () => {
    const late = [absorbed(b, c), absorbed(a, b), submitted(draft, c), submitted(uuid(11), b), submitted(uuid(12), a)];
    const between = [absorbed(b, c), submitted(draft, c), absorbed(a, b)];
    const backwards = [absorbed(a, b), absorbed(b, c), submitted(draft, c)];
    for (const events of [late, between, backwards]) {
      const expected = events.filter(({ type }) => type === "DraftSubmitted").map(() => a);
      expect(await threadsAfter(drafts, "drafts", [events])).to.deep.equal(expected);
      expect(
        await threadsAfter(
          drafts,
          "drafts",
          events.map((each) => [each]),
        ),
      ).to.deep.equal(expected);
    }
  });

  it("are left alone on threads that were not", async () => {
    const events = [absorbed(a, b), submitted(draft, c)];
    expect(
      await threadsAfter(
        drafts,
        "drafts",
        events.map((each) => [each]),
      ),
    ).to.deep.equal([c]);
  });

  it("also as messages: one queued under the absorbed thread's name", async () => {
    for (const events of [
      [absorbed(a, b), queued(draft, b)],
      [queued(draft, b), absorbed(a, b)],
    ]) {
      expect(await threadsAfter(messages, "messages", [events])).to.deep.equal([a]);
      expect(
        await threadsAfter(
          messages,
          "messages",
          events.map((each) => [each]),
        ),
      ).to.deep.equal([a]);
    }
  });
});
