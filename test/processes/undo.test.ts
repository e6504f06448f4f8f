import { expect } from "chai";
import { editDraft, rejectDraft } from "#src/commands/drafts/drafts.ts";
import { approveByPerson, undoApproval } from "#src/commands/drafts/signedInDecisions.ts";
import { updateWorkspace } from "#src/commands/workspaces.ts";
import { Crashed, type StoreFault } from "#test/support/faultyEventStore.ts";
import { contextOf } from "#test/support/processContext.ts";
import { expectSound, first, requireHuman, send } from "./sendSoundness.ts";
import {
  ann,
  bob,
  cause,
  createSendWorld,
  type Node,
  refusal,
  type SendWorld,
  type WorldOptions,
  workspaceId,
} from "./sendWorld.ts";

const approve = (world: SendWorld, draftId: string, { on = world.node, who = ann } = {}) =>
  approveByPerson(on, { workspaceId, draftId, ifVersion: 1 }, who);
const undo = (world: SendWorld, draftId: string, { on = world.node as Node, who = ann } = {}) =>
  undoApproval(on, { workspaceId, draftId }, who);

async function approved(options: WorldOptions = {}) {
  const world = await createSendWorld(options);
  await requireHuman(world);
  const draftId = await world.submit();
  await approve(world, draftId);
  await world.drain();
  const status = async () => (await world.state.draft(draftId)).status;
  const types = () => world.log.all.map(({ type }) => type);
  return { world, draftId, status, types };
}

describe("an approval by a signed-in person", () => {
  it("a draft approved by a signed-in person is claimed after ten seconds, not before, and sent once", async () => {
    const { world, draftId, status, types } = await approved();
    await world.advance(9_999);
    expect(await status()).to.equal("approved");
    expect(types()).not.to.include("SendClaimed");
    world.replayAll();
    await world.advance(1);
    await world.run();
    expect(world.hands).to.have.length(1);
    await expectSound(world, [draftId], ["sent"]);
  });

  it("an approved draft is claimed ten seconds after the approval even if its event is handled late", async () => {
    const world = await createSendWorld();
    const draftId = await world.submit();
    await approve(world, draftId);
    world.sleepThrough(4_000);
    await world.drain();
    await world.advance(6_000);
    expect(world.log.all.map(({ type }) => type)).to.include("DraftQueued");
  });

  it("an approval undone within ten seconds makes the draft pending, names the person, and is never sent", async () => {
    const { world, draftId, status, types } = await approved();
    await world.advance(9_000);
    await undo(world, draftId);
    await undo(world, draftId);
    expect(await status()).to.equal("pending");
    await world.run();
    expect(types()).not.to.include("SendClaimed");
    const back = world.log.all.filter(({ type }) => type === "DraftReturnedToPending");
    expect(back.map(({ data, metadata }) => [data, metadata.actor.name])).to.deep.equal([
      [{ because: "Ann Example undid the approval", withdrawn: "session:ann" }, "Ann Example"],
    ]);
    await expectSound(world, [draftId], ["pending"]);
  });

  it("a second approval after an undo waits ten seconds again", async () => {
    const { world, draftId, status } = await approved();
    await world.advance(6_000);
    await undo(world, draftId);
    await approve(world, draftId, { who: bob });
    await world.drain();
    await world.advance(9_000);
    expect(await status()).to.equal("approved");
    await world.advance(1_000);
    await world.run();
    expect(world.hands).to.have.length(1);
    await expectSound(world, [draftId], ["sent"]);
  });

  it("of a concurrent undo and send one wins", async () => {
    // The send is paused right before each of its appends: the claim, the quota, the queueing.
    for (const category of ["thread", "quota", "draft"]) {
      const { world, draftId } = await approved();
      const other = world.createNode();
      const { reached, release } = world.node.faulty.pause(category);
      const leaving = world.advance(10_000);
      await reached;
      expect(await refusal(undo(world, draftId, { on: other })), category).to.equal("not refused");
      release();
      await leaving;
      await world.run();
      expect(world.hands).to.have.length(0);
      await expectSound(world, [draftId], ["pending"]);
    }
    const { world, draftId } = await approved();
    const other = world.createNode();
    const { reached, release } = other.faulty.pause("draft");
    const undoing = refusal(undo(world, draftId, { on: other }));
    await reached;
    await world.advance(10_000);
    release();
    expect(await undoing).to.equal("invalid_status");
    await world.run();
    await expectSound(world, [draftId], ["sent"]);
  });

  it("an undo after the draft was queued is refused", async () => {
    const { world, draftId } = await approved();
    await world.run();
    const late = await undo(world, draftId).catch((error) => error);
    expect([late.code, late.message]).to.deep.equal([
      "invalid_status",
      "the approval can no longer be undone: this draft is sent",
    ]);
  });

  it("an approved draft is sent once, wherever the waiting process is killed", async () => {
    let reached = true;
    for (let at = 1; reached; at++) {
      for (const when of ["before", "after"] as const) {
        const { world, draftId } = await approved({ tickMs: 200 });
        const fault: StoreFault = { at, when, how: "crash" };
        const faulty = world.createNode(fault);
        world.useNode(faulty);
        await world.advance(10_000).catch((error) => {
          if (!(error instanceof Crashed)) throw error;
        });
        await world.run();
        const { status, failureCode } = await world.state.draft(draftId);
        await expectSound(world, [draftId]);
        if (status !== "sent") expect(failureCode, `${when} ${at}`).to.equal("unconfirmed");
        reached = faulty.faulty.appends >= at;
      }
      expect(at).to.be.below(30);
    }
  });

  it("a draft whose customer writes within the ten seconds becomes stale, and at once if the customer wrote before", async () => {
    const { world, draftId, status } = await approved();
    await world.acknowledge(2, [first]);
    await world.run();
    expect(await status()).to.equal("stale");
    expect(world.hands).to.have.length(0);
    await expectSound(world, [draftId]);

    const next = await createSendWorld();
    const second = await next.submit();
    await next.acknowledge(2, [first]);
    await next.drain();
    expect(await refusal(approve(next, second))).to.equal("stale_draft");
    expect((await next.state.draft(second)).status).to.equal("stale");
  });

  it("an approved draft waits for the end of a pause, and its approval cannot be undone then", async () => {
    const { world, draftId, status } = await approved();
    const pause = (sendingPaused: boolean) => updateWorkspace(world.node, { workspaceId, sendingPaused }, bob);
    await pause(true);
    await world.advance(10_000);
    expect((await world.state.draft(draftId)).held).to.equal("sending_paused");
    expect(await refusal(undo(world, draftId))).to.equal("invalid_status");
    expect(await status()).to.equal("approved");
    await pause(false);
    await world.run();
    await expectSound(world, [draftId], ["sent"]);
  });

  it("an approved draft is not sent if its identity is disabled or it is rejected within the ten seconds", async () => {
    const { world, draftId } = await approved();
    await world.changeIdentity({ status: "disabled" });
    await world.run();
    expect((await world.state.draft(draftId)).held).to.equal("identity_not_active");
    expect(world.hands).to.have.length(0);

    const rejected = await approved();
    await rejectDraft(rejected.world.node, { workspaceId, draftId: rejected.draftId, reason: "no" }, bob);
    expect(await refusal(undo(rejected.world, rejected.draftId))).to.equal("invalid_status");
    await rejected.world.run();
    expect(await rejected.status()).to.equal("rejected");
    expect(rejected.world.hands).to.have.length(0);
  });

  it("an approved draft cannot be approved, undone, edited or sent by others within the ten seconds", async () => {
    const { world, draftId, types } = await approved();
    const edit = { workspaceId, draftId, ifVersion: null, changes: { bodyText: "other" }, threadSubject: "s" };
    expect(await refusal(approve(world, draftId, { who: bob }))).to.equal("invalid_status");
    expect(await refusal(undo(world, draftId, { who: bob }))).to.equal("invalid_status");
    expect(await refusal(editDraft(world.node, edit, cause))).to.equal("invalid_status");
    expect(await refusal(send(world, draftId))).to.equal("invalid_status");
    // A repeated press changes nothing.
    expect(await refusal(approve(world, draftId))).to.equal("not refused");
    expect(types().filter((type) => type === "DraftApproved")).to.have.length(1);
    expect(types()).not.to.include("SendClaimed");
    await world.run();
    await expectSound(world, [draftId], ["sent"]);
  });

  it("rules on draft.approved run after the ten seconds, and not if the approval was undone", async () => {
    const { world, draftId } = await approved();
    const runRules = world.node.processes.find(({ name }) => name === "runRules")!;
    const event = world.log.all.findLast(({ type }) => type === "DraftApproved")!;
    /** Returns the handler's answer, and whether it read the rules. */
    const told = async () => {
      let asks = false;
      const context = contextOf(runRules, event, { clock: world.clock });
      const reached = async () => {
        asks = true;
        return false;
      };
      return { answer: await runRules.on.DraftApproved!(event, { ...context, reached }), asks };
    };
    expect(await told()).to.deep.equal({ answer: { againInMs: 10_000 }, asks: false });
    world.sleepThrough(10_000);
    expect((await told()).asks).to.equal(true);
    await undo(world, draftId);
    expect(await told()).to.deep.equal({ answer: undefined, asks: false });
    // A second approval is handled with its own event.
    await approve(world, draftId);
    expect((await told()).asks).to.equal(false);
  });

  it("a key's send that began before a person's approval does not queue the draft", async () => {
    const world = await createSendWorld();
    const draftId = await world.submit();
    const { reached, release } = world.node.faulty.pause("quota");
    const sending = refusal(send(world, draftId));
    await reached;
    await approve(world, draftId, { on: world.createNode() });
    release();
    expect(await sending).to.equal("invalid_status");
    await world.drain();
    expect((await world.state.draft(draftId)).status).to.equal("approved");
    await world.run();
    await expectSound(world, [draftId], ["sent"]);
  });
});
