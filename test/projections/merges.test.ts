import { expect } from "chai";
import { drafts } from "#projections/drafts/projector.ts";
import { publicEvents } from "#projections/feed/publicEvents.ts";
import { messages } from "#projections/messages/projector.ts";
import { positionOfMessage } from "#projections/messages/queries.ts";
import { isHandled, type Projection } from "#projections/projection.ts";
import { threads } from "#projections/threads/projector.ts";
import type { Sql } from "#src/platform/postgres/database.ts";
import type { Recorded } from "#streams/event.ts";
import { draftContent } from "#test/support/draftContent.ts";
import * as examples from "#test/support/examples/drafts.ts";
import { inboundMessage } from "#test/support/examples/index.ts";
import { makeTables, project, unseenTables } from "#test/support/projecting.ts";

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
  event(`thread-${survivor}`, "ThreadAbsorbed", { absorbedId, part: { n: 1, of: 1 } });

const submitted = (draftId: string, threadId: string) =>
  event(`draft-${draftId}`, "DraftSubmitted", {
    ...examples.submitted({ workspaceId, threadId, identityId: uuid(200), messageId: uuid(300) }).data,
    ...{ basedOnMessageId: null, basedOnNumber: 0, answers: null },
  });

const edited = (draftId: string) =>
  event(`draft-${draftId}`, "DraftEdited", examples.edited(2, { content: draftContent({ body_text: "edited" }) }).data);

const queued = (draftId: string, threadId: string) =>
  event(
    `draft-${draftId}`,
    "DraftQueued",
    examples.queued(1, {
      ...{ threadId, identityId: uuid(200), messageId: uuid(300), attemptId: uuid(301), reservationId: uuid(302) },
      authorisation: { kind: "api_key", approvedVersion: 1 },
    }).data,
  );

describe("rows of an absorbed thread", () => {
  const unseen = unseenTables();

  /** Projects the batches, and then runs the query. */
  const projecting = <Answer>(
    projection: Projection,
    batches: Recorded[][],
    ask: (tx: Sql) => Promise<Answer>,
  ): Promise<Answer> =>
    unseen(async (tx) => {
      await makeTables(projection, tx);
      for (const batch of batches) {
        const handled = batch.filter(({ type }) => isHandled(projection, type));
        await project(projection, tx, handled);
      }
      return ask(tx);
    });

  /** The threads that the rows are on. */
  const threadsAfter = (projection: Projection, table: string, batches: Recorded[][]): Promise<string[]> =>
    projecting(projection, batches, async (tx) => {
      const { rows } = await tx.query<{ thread_id: string }>(`select thread_id from ${table} order by created_at, id`);
      return rows.map(({ thread_id }) => thread_id);
    });

  const draft = uuid(10);

  it("rows written before a merge move to the survivor", async () => {
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

  it("a submission that arrives after the merge is stored on the survivor", async () => {
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

  it("rows stay on the survivor through later events of theirs", async () => {
    const events = [absorbed(a, b), submitted(draft, b), edited(draft)];
    expect(
      await threadsAfter(
        drafts,
        "drafts",
        events.map((each) => [each]),
      ),
    ).to.deep.equal([a]);
  });

  it("rows follow a chain of merges, whichever merge is projected first", async () => {
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

  it("rows on other threads are not moved by a merge", async () => {
    const events = [absorbed(a, b), submitted(draft, c)];
    expect(
      await threadsAfter(
        drafts,
        "drafts",
        events.map((each) => [each]),
      ),
    ).to.deep.equal([c]);
  });

  it("a message queued on the absorbed thread is stored on the survivor", async () => {
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

  describe("a merge in parts", () => {
    const received = (threadId: string, number: number) =>
      event(`thread-${threadId}`, "MessageReceived", {
        ...inboundMessage(number, { messageId: uuid(400 + number), identityId: uuid(200) }),
      });
    const opened = (threadId: string) =>
      event(`thread-${threadId}`, "ThreadOpened", {
        ...{ workspaceId, identityId: uuid(200), subject: "s", contactEmail: null, contactId: null },
      });
    const inParts = (of: number) =>
      Array.from({ length: of }, (_, index) =>
        event(`thread-${a}`, "ThreadAbsorbed", { absorbedId: b, part: { n: index + 1, of } }),
      );

    it("a merge in parts moves rows with the first part, counts nothing twice and is announced once", async () => {
      const before = [opened(a), received(a, 1), opened(b), received(b, 2)];
      const parts = inParts(3);
      for (const batches of [[[...before, ...parts]], [...before, ...parts].map((each) => [each])]) {
        const counts = await projecting(threads as Projection, batches, async (tx) => {
          const { rows } = await tx.query("select message_count from threads where id = $1", [a]);
          return rows[0]?.message_count;
        });
        expect(counts).to.equal(2);
      }
      expect(await threadsAfter(messages, "messages", [[...before, parts[0]!]])).to.deep.equal([a, a]);
      expect(parts.flatMap((part) => publicEvents(part, () => undefined)).map(({ type }) => type)).to.deep.equal([
        "thread.merged",
      ]);
    });

    it("a merge in parts keeps the log position of each received message", async () => {
      const at = (revision: number, of: Recorded) => ({ ...of, revision });
      const events = [at(5, received(a, 1)), at(17, received(b, 2)), ...inParts(2)];
      const places = await projecting(messages, [events], async (tx) => {
        const found: Awaited<ReturnType<typeof positionOfMessage>>[] = [];
        for (const n of [1, 2, 3])
          found.push(await positionOfMessage({ of: () => tx } as never, workspaceId, uuid(400 + n)));
        return found;
      });
      expect(places).to.deep.equal([{ threadId: a, revision: 5 }, { threadId: b, revision: 17 }, undefined]);
    });
  });
});
