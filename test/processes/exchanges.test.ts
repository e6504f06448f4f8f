import { setImmediate as nextTurn } from "node:timers/promises";
import { expect } from "chai";
import { approveDraft } from "#src/commands/drafts/drafts.ts";
import { refreshContent } from "#src/commands/drafts/refreshContent.ts";
import { waitUntilFiled } from "#src/commands/sends/barrier.ts";
import type { DraftContent } from "#streams/draft/content.ts";
import { expectSound, first, requireHuman, send } from "./sendSoundness.ts";
import { cause, createSendWorld, identityId, refusal, type SendWorld, workspaceId } from "./sendWorld.ts";

/** Counts this instance's rounds of reads from now on. Reads of one turn count as one round. */
function countExchanges({ node }: SendWorld): () => number {
  let exchanges = 0;
  let underWay = false;
  for (const name of ["read", "readPage", "readLast"] as const) {
    const read = node.store[name].bind(node.store) as (...args: unknown[]) => Promise<unknown>;
    Object.assign(node.store, {
      async [name](...args: unknown[]) {
        if (!underWay) {
          underWay = true;
          exchanges += 1;
          setImmediate(() => {
            underWay = false;
          });
        }
        await nextTurn();
        return read(...args);
      },
    });
  }
  return () => exchanges;
}

describe("reads of the event log for a reply", () => {
  it("a reply needs one round of reads to be queued and nine to be handed over", async () => {
    const world = await createSendWorld({ deliveries: 1 });
    const { processes } = world.node;
    // From the second reply on, the states that a send needs are cached.
    const before = await world.submit();
    await send(world, before);
    await world.run();
    const draftId = await world.submit();
    processes.splice(0, processes.length, ...processes.filter(({ name }) => name === "deliver"));
    const exchanges = countExchanges(world);
    await send(world, draftId);
    const toQueue = exchanges();
    await world.drain();
    await expectSound(world, [before, draftId], ["sent"]);
    // The last round is the check right before the first byte whether the key's approval is still valid.
    expect({ toQueue, toHandOver: exchanges() - toQueue }).to.deep.equal({ toQueue: 1, toHandOver: 9 });
  });
});

describe("an instance that knows an inbox's last position", () => {
  it("an instance finds mail that another instance received since its last read", async () => {
    const world = await createSendWorld();
    const draftId = await world.submit();
    const { node } = world;
    expect(await waitUntilFiled(node, identityId)).to.equal(0);
    world.useNode(world.createNode());
    await world.acknowledge(2, [first]);
    expect(await waitUntilFiled(node, identityId)).to.equal(1);
    expect(await refusal(send(world, draftId, node))).to.equal("stale_draft");
  });
});

describe("a draft that changes while it is read together with its identity", () => {
  /** Delays this instance's read of the draft behind all others, and runs `between` before it. */
  async function draftAnswersLate({ node }: SendWorld, draftId: string, between: () => Promise<unknown>) {
    await waitUntilFiled(node, identityId);
    await node.drafts.load(draftId);
    // Only fresh states are used.
    Object.assign(node.store, { guards: false });
    const readPage = node.store.readPage.bind(node.store);
    node.store.readPage = async (stream, stretch) => {
      if (stream.startsWith("draft-")) {
        node.store.readPage = readPage;
        await nextTurn();
        await between();
      }
      return readPage(stream, stretch);
    };
  }

  it("a draft refreshed by another instance keeps the identity's new name", async () => {
    const world = await createSendWorld();
    const draftId = await world.submit();
    const other = world.createNode();
    await draftAnswersLate(world, draftId, async () => {
      await world.changeIdentity({ displayName: "Since" });
      const { state: draft } = await other.drafts.load(draftId);
      expect(await refreshContent(other, { draftId, draft }, cause)).to.equal(true);
    });
    await send(world, draftId);
    const edits = world.log.all.filter(({ type }) => type === "DraftEdited");
    expect(edits.map(({ data }) => (data.content as DraftContent).from.name)).to.deep.equal(["Since"]);
    expect(await world.state.draft(draftId)).to.deep.include({ status: "sending", version: 2 });
  });

  it("a send is refused for a person if the identity required one before the draft's edit was read", async () => {
    const world = await createSendWorld();
    const { node } = world;
    const draftId = await world.submit();
    const other = world.createNode();
    await draftAnswersLate(world, draftId, async () => {
      await requireHuman(world);
      world.useNode(other);
      await world.edit(draftId, "Another");
    });
    expect(await refusal(send(world, draftId, node))).to.equal("human_approval_required");
    await world.run();
    expect(world.hands).to.deep.equal([]);
  });

  it("a key's approval is refused if the identity required a person before the draft's edit was read", async () => {
    const world = await createSendWorld();
    const { node } = world;
    const draftId = await world.submit();
    await draftAnswersLate(world, draftId, async () => {
      await requireHuman(world);
      world.useNode(world.createNode());
      await world.edit(draftId, "Another");
    });
    const approval = approveDraft(node, { workspaceId, draftId, ifVersion: null }, cause);
    expect(await refusal(approval)).to.equal("human_approval_required");
  });
});

describe("the later check of a reply", () => {
  it("the checks after a sent reply record nothing, because thread and claim already know of it", async () => {
    const world = await createSendWorld();
    const draftId = await world.submit();
    await send(world, draftId);
    await world.drain();
    const timers = [...world.timers.values()].map(({ process, timer }) => `${process} ${timer.name}`);
    const { attemptId } = await world.state.draft(draftId);
    expect(timers).to.have.members([`deliver ${attemptId}`, "noteDrafts note"]);
    const before = world.log.all.length;
    await world.run();
    expect(world.log.all.slice(before)).to.deep.equal([]);
    await expectSound(world, [draftId], ["sent"]);
  });
});

describe("mail acknowledged between two reads", () => {
  /** Acknowledges a mail once, right after this instance has read the thread. */
  function whenThreadIsRead({ node, acknowledge }: SendWorld): void {
    const readPage = node.store.readPage.bind(node.store);
    node.store.readPage = async (stream, stretch) => {
      const page = await readPage(stream, stretch);
      if (stream.startsWith("thread-")) {
        node.store.readPage = readPage;
        await acknowledge(2, [first]);
      }
      return page;
    };
  }

  it("mail acknowledged after the thread was read stops the hand-over", async () => {
    const world = await createSendWorld();
    const draftId = await world.submit();
    await send(world, draftId);
    // Only fresh states are used.
    Object.assign(world.node.store, { guards: false });
    world.onConnect(() => {
      world.onConnect(() => undefined);
      whenThreadIsRead(world);
    });
    await world.run();
    expect(world.hands).to.deep.equal([]);
    await expectSound(world, [draftId], ["stale"]);
  });

  for (const by of ["this instance", "another instance"])
    it(`mail acknowledged by ${by} after the start was judged stops the hand-over`, async () => {
      const world = await createSendWorld();
      const draftId = await world.submit();
      await send(world, draftId);
      const { node } = world;
      const { reached, release } = node.faulty.pause("delivery");
      const running = world.run();
      await reached;
      if (by === "another instance") world.useNode(world.createNode());
      await world.acknowledge(2, [first]);
      world.useNode(node);
      release();
      await running;
      expect(world.hands).to.deep.equal([]);
      await expectSound(world, [draftId], ["stale"]);
    });

  it("mail acknowledged before the claim refuses the send, because the inbox is read again after it", async () => {
    const world = await createSendWorld();
    const draftId = await world.submit();
    const { reached, release } = world.node.faulty.pause("thread");
    const sending = refusal(send(world, draftId));
    await reached;
    await world.acknowledge(2, [first]);
    release();
    expect(await sending).to.equal("stale_draft");
    await world.run();
    await expectSound(world, [draftId], ["stale"]);
  });
});
