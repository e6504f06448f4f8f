import { expect } from "chai";
import { approveDraft, editDraft, rejectDraft } from "#src/commands/drafts/drafts.ts";
import { approveByPerson } from "#src/commands/drafts/signedInDecisions.ts";
import { pauseInstallation } from "#src/commands/installation.ts";
import { hasEntry } from "#streams/idMap.ts";
import { first, send, unknown } from "./sendSoundness.ts";
import { ann, cause, createSendWorld, refusal, type SendWorld, workspaceId } from "./sendWorld.ts";

/** Returns a draft's state as recorded on its thread. */
async function onThread({ state }: SendWorld, draftId: string) {
  const { drafts, claims, closedDrafts, pendingDrafts, status } = await state.thread();
  return {
    isOpen: hasEntry(drafts, draftId),
    isSending: hasEntry(claims, draftId),
    isClosed: closedDrafts.some((closed) => closed.draftId === draftId),
    pendingDrafts,
    status,
  };
}

const open = { isOpen: true, isSending: false, isClosed: false };
const closed = { isOpen: false, isSending: false, isClosed: true, pendingDrafts: 0 };

const approve = ({ node }: SendWorld, draftId: string) =>
  approveDraft(node, { workspaceId, draftId, ifVersion: null }, cause);
const reject = ({ node }: SendWorld, draftId: string) =>
  rejectDraft(node, { workspaceId, draftId, reason: null }, cause);

async function openWorld(options: { autoApproved?: boolean } = {}) {
  const world = await createSendWorld({ deliveries: 1 });
  const draftId = await world.submit(options);
  return { world, draftId };
}

describe("a thread's open drafts", () => {
  it("a submitted draft is open on its thread until it is sent, and its claim marks it as sending", async () => {
    const { world, draftId } = await openWorld();
    expect(await onThread(world, draftId)).to.include({ ...open, pendingDrafts: 1, status: "draft_pending" });
    await approve(world, draftId);
    expect(await onThread(world, draftId)).to.include({ ...open, status: "draft_pending" });
    await send(world, draftId);
    expect(await onThread(world, draftId)).to.include({ ...open, isSending: true, status: "draft_pending" });
    await world.run();
    expect(await onThread(world, draftId)).to.deep.equal({ ...closed, status: "waiting" });
  });

  it("a draft approved by a setting is open on its thread and does not count as pending", async () => {
    const world = await createSendWorld({ deliveries: 1 });
    world.node.processes.splice(0, world.node.processes.length);
    const draftId = await world.submit({ autoApproved: true });
    expect(await onThread(world, draftId)).to.include({ ...open, pendingDrafts: 0, status: "open" });
    await world.node.drafts.handle(draftId, { type: "GiveUpOnRules", because: "test" }, cause);
    expect((await world.state.draft(draftId)).status).to.equal("pending");
  });

  it("a rejected draft is closed on its thread", async () => {
    for (const prepare of [async () => undefined, approve]) {
      const { world, draftId } = await openWorld();
      await prepare(world, draftId);
      await reject(world, draftId);
      expect(await onThread(world, draftId)).to.deep.equal({ ...closed, status: "open" });
    }
  });

  it("a stale draft is closed on its thread, whether it was pending, approved or queued", async () => {
    for (const prepare of [async () => undefined, approve, send]) {
      const { world, draftId } = await openWorld();
      await prepare(world, draftId);
      await world.acknowledge(2, [first]);
      await refusal(send(world, draftId));
      await world.run();
      expect((await world.state.draft(draftId)).status).to.equal("stale");
      expect(await onThread(world, draftId)).to.deep.equal({ ...closed, status: "open" });
    }
  });

  it("a thread stays draft_pending after one draft became stale only if another is pending [d4 thread after stale]", async () => {
    for (const [prepare, status] of [
      [async () => undefined, "draft_pending"],
      [approve, "open"],
    ] as const) {
      const { world, draftId } = await openWorld();
      const other = await world.submit();
      await prepare(world, other);
      await world.acknowledge(2, [first]);
      await refusal(send(world, draftId));
      expect((await world.state.draft(draftId)).status).to.equal("stale");
      expect((await onThread(world, draftId)).status).to.equal(status);
    }
  });

  it("a failed draft is closed on its thread, refused or unconfirmed", async () => {
    for (const outcome of [{ kind: "refused", retryable: false, code: "refused", message: "550" }, unknown] as const) {
      const { world, draftId } = await openWorld();
      world.answer(outcome);
      await send(world, draftId);
      await world.run();
      expect((await world.state.draft(draftId)).status).to.equal("failed");
      expect(await onThread(world, draftId)).to.deep.equal({ ...closed, status: "open" });
    }
  });

  it("a draft whose claimed send was undone is open on its thread as before", async () => {
    const { world, draftId } = await openWorld();
    const { reached, release } = world.node.faulty.pause("quota");
    const sending = refusal(send(world, draftId));
    await reached;
    expect(await onThread(world, draftId)).to.include({ isOpen: true, isSending: true });
    const edit = { workspaceId, draftId, ifVersion: null, changes: { bodyText: "another" }, threadSubject: "s" };
    await editDraft(world.createNode(), edit, cause);
    release();
    expect(await sending).to.equal("content_changed");
    await world.run();
    expect(await onThread(world, draftId)).to.include({ ...open, pendingDrafts: 1, status: "draft_pending" });
  });

  it("a draft whose approval was undone is open on its thread", async () => {
    const { world, draftId } = await openWorld();
    await approveByPerson(world.node, { workspaceId, draftId, ifVersion: 1 }, ann);
    const undo = { type: "ReturnToPending", because: "test" } as const;
    await world.node.drafts.handle(draftId, undo, cause);
    await world.run();
    expect(await onThread(world, draftId)).to.include({ ...open, pendingDrafts: 1, status: "draft_pending" });
  });

  it("a draft that waits to be sent stays open with its claim", async () => {
    const { world, draftId } = await openWorld();
    await send(world, draftId);
    await pauseInstallation(world.elsewhere(), null, cause);
    await world.run();
    expect(await onThread(world, draftId)).to.include({ isOpen: true, isSending: true });
  });

  it("a thread learns of a draft although its submission was cut off before it was told", async () => {
    const { world, draftId } = await openWorld();
    const { node } = world;
    const another = node.ids.uuid();
    const submitted = world.log.all.find(({ type }) => type === "DraftSubmitted")!;
    const draft = submitted.data as never;
    await node.drafts.handle(another, { type: "SubmitDraft", draft }, cause);
    await world.drain();
    expect(await onThread(world, another)).to.include({ isOpen: false });
    await approve(world, another);
    await world.run();
    // The thread's status never depended on this draft.
    expect(await onThread(world, another)).to.include({ ...open, pendingDrafts: 1 });
    expect(await onThread(world, draftId)).to.include(open);
  });
});

describe("the events of one reply", () => {
  it("a reply records each fact once", async () => {
    const { world } = await openWorld();
    const before = world.log.all.length;
    const draftId = await world.submit();
    await approve(world, draftId);
    await send(world, draftId);
    await world.run();
    const types = world.log.all.slice(before).map(({ type }) => type);
    expect(types).to.deep.equal([
      "DraftSubmitted",
      "DraftNoted",
      "DraftRulesApplied",
      "DraftApproved",
      "SendClaimed",
      "QuotaReserved",
      "DraftQueued",
      "DeliveryStarted",
      "DeliveryAccepted",
      "DraftSent",
      "MessageSent",
      "ThreadStatusChanged",
    ]);
  });
});
