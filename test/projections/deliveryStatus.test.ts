import { readFile } from "node:fs/promises";
import { expect } from "chai";
import pg from "pg";
import type { MessagesEvent } from "#projections/messages/held.ts";
import { messages } from "#projections/messages/projector.ts";
import type { Projection } from "#projections/projection.ts";
import type { Recorded } from "#streams/event.ts";
import { draftContent } from "#test/support/draftContent.ts";
import { createTestDatabase, type TestDatabase } from "#test/support/postgres.ts";
import { project } from "#test/support/projecting.ts";

const uuid = (n: number): string => `0193a0aa-0000-7000-8000-${String(n).padStart(12, "0")}`;
const [draftId, threadId, attemptId, messageId] = [uuid(1), uuid(2), uuid(3), uuid(4)];
const report = { draftId, threadId, messageId, evidence: "test" };

type Step = [stream: string, type: string, data: Record<string, unknown>];

const steps: Record<string, Step> = {
  sent: [`draft-${draftId}`, "DraftSent", { attemptId, rfcMessageId: "<ours@x>", sentAt: "2026-11-01T00:00:00.000Z" }],
  unconfirmed: [`draft-${draftId}`, "DraftFailed", { attemptId, code: "unconfirmed", message: "?" }],
  delivered: [`delivery-${attemptId}`, "DeliveryDelivered", report],
  bounced: [`delivery-${attemptId}`, "DeliveryBounced", report],
  complained: [`delivery-${attemptId}`, "DeliveryComplained", report],
};

const queued: Step = [
  `draft-${draftId}`,
  "DraftQueued",
  {
    ...{ threadId, identityId: uuid(5), messageId, attemptId, version: 1, contentSha256: "0".repeat(64) },
    ...{ content: draftContent(), contentBlob: null, quotaStream: "quota-x", reservationId: uuid(6) },
    authorisation: { kind: "api_key", approvedVersion: 1 },
  },
];

describe("the delivery status of a message [d5 delivery_status]", () => {
  let testDatabase: TestDatabase;
  let client: pg.Client;
  before(async () => {
    testDatabase = await createTestDatabase();
    client = new pg.Client({ connectionString: testDatabase.ownerUrl });
    await client.connect();
    await client.query("create schema statuses; set search_path to statuses");
    await client.query(await readFile("projections/messages/tables.sql", "utf8"));
  });
  after(async () => {
    await client.end();
    await testDatabase.drop();
  });

  /** Projects the queueing and then these, in batches of this size. */
  async function projectAll(following: readonly Step[], size: number): Promise<void> {
    await client.query("truncate messages");
    const all = [queued, ...following].map(([stream, type, data], index) => ({
      ...{ id: uuid(100 + index), stream, type, data, revision: index, position: index + 1, schemaVersion: 1 },
      metadata: {
        workspaceId: uuid(7),
        actor: { kind: "system", id: "test" },
        correlationId: "test",
        causationId: "test",
        at: "2026-11-01T00:00:00.000Z",
      },
    })) as Recorded<MessagesEvent>[];
    for (let from = 0; from < all.length; from += size)
      await project(messages as Projection, client, all.slice(from, from + size));
  }

  async function statusAfter(names: readonly string[], together: boolean): Promise<{ status: string; sent: boolean }> {
    await projectAll(
      names.map((name) => steps[name]!),
      together ? 100 : 1,
    );
    const { rows } = await client.query("select delivery_status, sent_at from messages");
    return { status: rows[0].delivery_status, sent: rows[0].sent_at !== null };
  }

  for (const [names, status] of [
    [["sent"], "sent"],
    [["sent", "delivered"], "delivered"],
    [["sent", "bounced"], "bounced"],
    [["sent", "delivered", "bounced"], "bounced"],
    [["sent", "delivered", "complained"], "complained"],
    [["sent", "delivered", "bounced", "complained"], "complained"],
    [["unconfirmed", "delivered"], "delivered"],
    [["unconfirmed", "bounced"], "bounced"],
  ] as const) {
    it(`a message is ${status} after ${names.join(", ")}, in any order and batches`, async () => {
      for (const order of permutations([...names])) {
        for (const together of [true, false]) {
          const found = await statusAfter(order, together);
          expect(found, `${order} ${together}`).to.deep.equal({
            status,
            sent: (names as readonly string[]).includes("sent"),
          });
        }
      }
    });
  }

  it("a message keeps its newest reactions, in their order, whatever the batches", async () => {
    const many = Array.from({ length: 103 }, (_, n): Step => {
      const data = { ...{ deliveryId: uuid(n), messageId, number: n, identityId: uuid(5), emoji: "👍" }, at: "now" };
      return [`thread-${threadId}`, "ReactionReceived", { ...data, from: `${n}@x.example` }];
    });
    for (const size of [7, 1_000]) {
      await projectAll(many, size);
      const { rows } = await client.query("select reactions from messages");
      const from = rows[0].reactions.map((reaction: { from: string }) => reaction.from);
      expect(from, `batches of ${size}`).to.deep.equal(many.slice(3).map(([, , data]) => data.from));
    }
  });
});

function permutations(names: string[]): string[][] {
  if (names.length < 2) return [names];
  return names.flatMap((name, index) => permutations(names.toSpliced(index, 1)).map((rest) => [name, ...rest]));
}
