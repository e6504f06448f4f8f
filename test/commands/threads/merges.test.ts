import { readFileSync } from "node:fs";
import { expect } from "chai";
import pg from "pg";
import { chains } from "#projections/chains/projector.ts";
import { fileInbox } from "#src/commands/inbound/filing.ts";
import { queueSend } from "#src/commands/sends/queueSend.ts";
import type { Recorded } from "#streams/event.ts";
import type { FilingDecision, FilingEvent } from "#streams/filing/events.ts";
import { threadStream } from "#streams/thread/events.ts";
import { cause, createSendWorld, identityId, refusal, type SendWorld, workspaceId } from "#test/processes/sendWorld.ts";
import { mailReceived } from "#test/support/examples/index.ts";
import { createTestDatabase, type TestDatabase } from "#test/support/postgres.ts";

const threads = (world: SendWorld): string[] =>
  world.log.all.filter(({ type }) => type === "ThreadOpened").map(({ stream }) => stream.slice("thread-".length));

describe("a merge", () => {
  it("that was cut off between freezing and telling the survivor hides no newer word from a send", async () => {
    const world = await createSendWorld();
    const draftId = await world.submit();
    await world.acknowledge(2);
    await world.acknowledge(3, ["<1@customer.example>"]);
    await world.drain();
    const [absorbedId, survivorId] = threads(world) as [string, string];
    const freeze = { type: "FreezeThread", survivorId, number: 4 } as const;
    await world.node.threads.handle(absorbedId, freeze, cause);
    const survivor = (await world.node.threads.load(survivorId)).state;
    expect(survivor.newestWord?.number).to.equal(2);
    expect(await refusal(queueSend(world.node, { draftId, kind: "api_key" }, cause))).to.equal("stale_draft");
    expect((await world.node.threads.load(survivorId)).state.newestWord?.number).to.equal(3);
  });

  describe("seen through the chain index", () => {
    let database: TestDatabase;
    let client: pg.Client;
    before(async () => {
      database = await createTestDatabase();
      client = new pg.Client({ connectionString: database.ownerUrl });
      await client.connect();
      await client.query("create schema merges; set search_path to merges");
      await client.query(readFileSync("projections/chains/tables.sql", "utf8"));
    });
    after(async () => {
      await client.end();
      await database.drop();
    });

    it("is followed by an answer to our own mail on the absorbed thread", async () => {
      const world = await createSendWorld();
      await world.acknowledge(2);
      await world.drain();
      const [older, younger] = threads(world) as [string, string];
      await world.acknowledge(3, ["<1@customer.example>", "<2@customer.example>"]);
      await world.drain();
      const filed = world.log.all.filter(({ stream }) => stream.startsWith("filing-")) as Recorded<FilingEvent>[];
      await chains.project(client, filed);
      const node = { ...world.createNode(), reads: { of: () => client, ofNone: client, ofAll: client } as never };
      const origin = { identityId, threadId: younger, attemptId: identityId, domain: "agents.localhost" };
      const ours = world.node.messageIds.mint(origin);
      const rawSha256 = await world.node.blobs.put(Buffer.from("answer"));
      const mail = mailReceived({ number: 4, references: [ours], identityId, workspaceId, rawSha256 });
      await node.inboxes.handle(identityId, { type: "ReceiveMail", mail }, cause);
      await fileInbox(node, identityId, cause);
      const decision = world.log.all.filter(({ type }) => type === "FilingDecided").at(-1)!.data as FilingDecision;
      expect(decision).to.deep.include({ threadId: older, absorbs: [], opensThread: false });
      expect(world.log.all.filter(({ type }) => type === "MessageReceived").at(-1)!.stream).to.equal(
        threadStream(older),
      );
    });
  });
});
