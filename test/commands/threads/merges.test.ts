import { readFileSync } from "node:fs";
import { expect } from "chai";
import pg from "pg";
import { chains } from "#projections/chains/projector.ts";
import { messagesWithIds, survivorsOf } from "#projections/chains/queries.ts";
import type { Projection } from "#projections/projection.ts";
import { fileInbox } from "#src/commands/inbound/filing/fileInbox.ts";
import { queueSend } from "#src/commands/sends/queueSend.ts";
import { absorbThread, commandThread, loadThread } from "#src/commands/threads/threads.ts";
import { updateThread } from "#src/commands/threads/updateThread.ts";
import type { Recorded } from "#streams/event.ts";
import type { FilingDecision, FilingEvent } from "#streams/filing/events.ts";
import { entriesOf } from "#streams/idMap.ts";
import { type AbsorbedPart, threadStream } from "#streams/thread/events.ts";
import {
  beginningOf,
  cause,
  createSendWorld,
  identityId,
  type Node,
  openSendWorld,
  refusal,
  type SendWorld,
  workspaceId,
} from "#test/processes/sendWorld.ts";
import { mailReceived } from "#test/support/examples/index.ts";
import { Crashed } from "#test/support/faultyEventStore.ts";
import { sized } from "#test/support/full.ts";
import { createTestDatabase, type TestDatabase } from "#test/support/postgres.ts";
import { project as projectEvents } from "#test/support/projecting.ts";

const threads = (world: SendWorld): string[] =>
  world.log.all.filter(({ type }) => type === "ThreadOpened").map(({ stream }) => stream.slice("thread-".length));

async function merge({ node }: SendWorld, absorbedId: string, survivorId: string): Promise<void> {
  await node.threads.handle(absorbedId, { type: "FreezeThread", survivorId, number: 1 }, cause);
  await absorbThread(node, absorbedId, cause);
}

const close = (node: Node, threadId: string) =>
  updateThread(node, { workspaceId, threadId, changes: { status: "closed" } }, cause);

/** Counts from now on how often this instance reads a stream. */
function countReads({ faulty }: Node): () => number {
  const { readPage } = faulty;
  let count = 0;
  faulty.readPage = (...asked) => {
    count += 1;
    return readPage(...asked);
  };
  return () => count;
}

describe("a merge", () => {
  it("a merge that was cut off after the freeze hides no newer customer mail from a send", async () => {
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

  it("a merge that was cut off is finished also by an instance that has loaded the thread before", async () => {
    const world = await createSendWorld();
    await world.acknowledge(2);
    await world.acknowledge(3, ["<1@customer.example>"]);
    await world.drain();
    const [absorbedId, survivorId] = threads(world) as [string, string];
    await world.node.threads.handle(absorbedId, { type: "FreezeThread", survivorId, number: 4 }, cause);
    expect((await loadThread(world.node, absorbedId)).threadId).to.equal(survivorId);
    const note = { type: "NoteDraft", draftId: "draft", outcome: "pending", draftRevision: 0 } as const;
    const noted = await commandThread(world.node, { threadId: absorbedId, command: note }, cause);
    expect([noted.threadId, noted.state.newestWord?.number]).to.deep.equal([survivorId, 3]);
  });

  describe("the merge of a thread with many drafts", () => {
    const few = 1_600;
    const many = sized(few, 10_000);
    // Long ids, so that few make more than one event.
    const drafts = Array.from({ length: many }, (_, n) => `${"draft".repeat(50)}-${n + 1e6}`);

    /** Mail that joins the second thread, with so many drafts, to the first is acknowledged and not filed yet. */
    const prepare = async (count: number): Promise<SendWorld> => {
      const world = await createSendWorld();
      await world.acknowledge(2);
      await world.drain();
      const [, second] = threads(world) as [string, string];
      const last = await world.log.readLast(threadStream(second));
      const noted = drafts.slice(0, count).map((draftId) => ({
        ...{ id: world.node.ids.uuid(), type: "DraftNoted", data: { draftId, status: "pending", revision: 0 } },
        metadata: last!.metadata,
      }));
      await world.log.append(threadStream(second), last!.revision, noted);
      await world.acknowledge(3, ["<1@customer.example>", "<2@customer.example>"]);
      return world;
    };
    const begin = async (count: number): Promise<SendWorld> =>
      openSendWorld({}, await beginningOf(`merge of ${count} drafts`, () => prepare(count)));
    const absorbed = (world: SendWorld) => world.log.all.filter(({ type }) => type === "ThreadAbsorbed");
    const partsOf = (world: SendWorld) => absorbed(world).map(({ data }) => data.part as AbsorbedPart | undefined);
    const numbered = (of: number): AbsorbedPart[] => Array.from({ length: of }, (_, index) => ({ n: index + 1, of }));
    const claim = (draftId: string) => {
      const claimed = { draftId, version: 1, contentSha256: "c", attemptId: "attempt", quotaStream: "quota-x-y" };
      return { type: "ClaimSend", claim: claimed, basedOnNumber: 9, replaces: null } as const;
    };

    async function expectMerged(world: SendWorld, survivorId: string, count = few): Promise<void> {
      const { of } = partsOf(world)[0]!;
      expect(of).to.be.above(1);
      expect(partsOf(world)).to.deep.equal(numbered(of));
      const { state } = await world.elsewhere().threads.load(survivorId);
      expect([state.pendingDrafts, entriesOf(state.drafts).length]).to.deep.equal([count, count]);
    }

    it("a large merge is stored in parts that a store takes, and the survivor has every draft", async () => {
      const world = await begin(many);
      await fileInbox(world.node, identityId, cause);
      for (const { data } of absorbed(world)) expect(JSON.stringify(data).length).to.be.at.most(400_000);
      await expectMerged(world, threads(world)[0]!, many);
    });

    it("a merge that was cut off anywhere is finished by the next caller, before the survivor sends anything", async () => {
      for (let at = 3; ; at++) {
        const world = await begin(few);
        const doomed = world.createNode({ at, when: "before", how: "crash" });
        const error = await fileInbox(doomed, identityId, cause).catch((thrown: unknown) => thrown);
        const told = partsOf(world).length;
        const [survivorId, absorbedId] = threads(world) as [string, string];
        const isFrozen = world.log.all.some(({ type }) => type === "ThreadFrozen");
        const claimOn = (threadId: string, draftId: string) =>
          commandThread(world.createNode(), { threadId, command: claim(draftId) }, cause);
        if (told > 0) await claimOn(survivorId, "of the survivor");
        else if (isFrozen) await claimOn(absorbedId, drafts[0]!);
        if (told > 0 || isFrozen) await expectMerged(world, survivorId);
        await fileInbox(world.createNode(), identityId, cause);
        await expectMerged(world, survivorId);
        expect(world.log.all.filter(({ type }) => type === "MailFiled")).to.have.length(3);
        if (!(error instanceof Crashed)) break;
        expect(at).to.be.below(20);
      }
    });

    it("a merge is recorded once by two instances at once", async () => {
      const world = await begin(few);
      const [survivorId, absorbedId] = threads(world) as [string, string];
      await world.node.threads.handle(absorbedId, { type: "FreezeThread", survivorId, number: 3 }, cause);
      await Promise.all([world.createNode(), world.createNode()].map((node) => absorbThread(node, absorbedId, cause)));
      await expectMerged(world, survivorId);
    });
  });

  it("a chain of merges is followed to its end, and walked once", async () => {
    const depth = sized(150, 1_000);
    const world = await createSendWorld();
    const ids = Array.from({ length: depth }, () => world.node.ids.uuid());
    const opened = { workspaceId, identityId, subject: "s", contactEmail: null, contactId: null };
    for (const id of ids) await world.node.threads.handle(id, { type: "OpenThread", opened }, cause);
    for (const [index, id] of ids.entries()) {
      if (index + 1 < depth) await merge(world, id, ids[index + 1]!);
    }
    const node = world.createNode();
    const [first, last] = [ids[0]!, ids.at(-1)!];
    const walked = countReads(node);
    await close(node, first);
    expect(walked(), "each thread of the chain is read, and none again").to.be.within(depth, depth + 20);
    expect((await world.elsewhere().threads.load(last)).state.status).to.equal("closed");
    const reads = countReads(node);
    for (const id of [first, ids[70]!]) await close(node, id);
    expect((await loadThread(node, first)).threadId).to.equal(last);
    expect(reads()).to.be.below(20);

    // The cached survivor may be merged further.
    await merge(world, last, world.threadId());
    await close(node, first);
    expect((await world.state.thread()).status).to.equal("closed");
  });

  describe("merges in the chain index", () => {
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

    it("an answer to our mail on an absorbed thread is filed on the survivor", async () => {
      const world = await createSendWorld();
      await world.acknowledge(2);
      await world.drain();
      const [older, younger] = threads(world) as [string, string];
      await world.acknowledge(3, ["<1@customer.example>", "<2@customer.example>"]);
      await world.drain();
      const filed = world.log.all.filter(({ stream }) => stream.startsWith("filing-")) as Recorded<FilingEvent>[];
      await projectEvents(chains as Projection, client, filed);
      const node = {
        ...world.createNode(),
        reads: { of: () => client, ofNone: client, ofAll: client } as never,
      };
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

    const uuid = (n: number) => `00000000-0000-4000-8000-${String(n).padStart(12, "0")}`;
    const decision = (number: number, different: Partial<FilingDecision>) =>
      ({
        ...{ type: "FilingDecided", stream: `filing-${uuid(0)}`, revision: number - 1 },
        data: {
          ...{ number, threadId: uuid(number), opensThread: false, absorbs: [], chainIds: [], disposition: "threaded" },
          ...{
            messageId: uuid(number),
            rfcMessageId: `<${number}@x>`,
            contentDigest: `digest ${number}`,
            ...different,
          },
        },
      }) as unknown as Recorded<FilingEvent>;
    const reads = () => ({ of: () => client, ofNone: client, ofAll: client }) as never;

    /** Projects in batches of so many, into empty tables; answers how many rows of merges were written or deleted. */
    async function project(events: readonly Recorded<FilingEvent>[], size: number): Promise<number> {
      for (const table of chains.tables) await client.query(`truncate ${table}`);
      let rows = 0;
      const counting = {
        async query(text: string, values: unknown[]) {
          const answer = await client.query(text, values);
          if (/^(insert|update|delete)/.test(text.trim()) && /chain_(merge|group)/.test(text))
            rows += answer.rowCount ?? 0;
          return answer;
        },
      };
      for (let from = 0; from < events.length; from += size) {
        await projectEvents(chains as Projection, counting as never, events.slice(from, from + size));
      }
      return rows;
    }
    const groups = async () =>
      (
        await client.query(
          "select thread_id, group_id, survivor_id, members from chain_merged join chain_groups using (group_id) order by 1",
        )
      ).rows;

    it("the chain index finds the end of any number of merges in one step, at the same cost for the last", async () => {
      const count = sized(200, 10_000);
      // Merges each thread into the one before it, the newest first.
      const merges = Array.from({ length: count - 1 }, (_, n) =>
        decision(count + n + 1, { threadId: uuid(count - n - 1), absorbs: [uuid(count - n)] }),
      );
      const opened = Array.from({ length: count }, (_, n) => decision(n + 1, { opensThread: true }));
      expect(await project([...opened, ...merges], 10)).to.be.below(count * 6);
      const ids = Array.from({ length: count }, (_, n) => uuid(n + 1));
      for (const { survivorId, openedNumber } of await survivorsOf(reads(), ids)) {
        expect([survivorId, openedNumber]).to.deep.equal([uuid(1), 1]);
      }
    });

    it("the chain index has the same groups, however the events are cut into batches", async () => {
      // Pairs, then pairs of these, until all are one.
      const merges = [1, 2, 4, 8].flatMap((step) =>
        Array.from({ length: 8 / step }, (_, n) => ({ survivor: 2 * n * step + 1, absorbed: (2 * n + 1) * step + 1 })),
      );
      const events = merges.map(({ survivor, absorbed }, n) =>
        decision(n + 1, { threadId: uuid(survivor), absorbs: [uuid(absorbed)] }),
      );
      await project(events, 1);
      const oneByOne = await groups();
      expect(oneByOne.map(({ members }) => members)).to.deep.equal(Array.from({ length: 16 }, () => 16));
      for (const size of [3, 10]) {
        await project(events, size);
        expect(await groups()).to.deep.equal(oneByOne);
      }
    });

    it("a merge in the chain index moves the smaller side, whichever survives", async () => {
      const count = sized(100, 10_000);
      const into = (number: number, survivor: number, ...absorbed: number[]) =>
        decision(number, { threadId: uuid(survivor), absorbs: absorbed.map(uuid) });
      // Merges all threads into thread 50, then that thread into each of the older ones in turn.
      const large = Array.from({ length: count }, (_, n) => into(n + 1, 50, n + 100));
      const older = Array.from({ length: 49 }, (_, n) => into(count + n + 1, 49 - n, 50 - n));
      expect(await project([...large, ...older], 5)).to.be.below((count + 49) * 6);
      const [found] = await survivorsOf(reads(), [uuid(count + 99)]);
      expect(found?.survivorId).to.equal(uuid(1));
    });

    it("the chain index looks up one Message-ID once, however many mails carry it", async () => {
      const same = Array.from({ length: 100 }, (_, n) => decision(n + 1, { rfcMessageId: "<same@x>" }));
      await project(same, 50);
      const asked = [
        { rfcMessageId: "<same@x>", contentDigest: "digest 7" },
        { rfcMessageId: "<same@x>", contentDigest: "another" },
        { rfcMessageId: "<unknown@x>", contentDigest: "digest 7" },
      ];
      expect(await messagesWithIds(reads(), uuid(0), asked)).to.have.deep.members([
        { ...asked[0], messageId: uuid(7) },
        { ...asked[1], messageId: null },
      ]);
    });
  });
});
