import { expect } from "chai";
import { editDraft, rejectDraft } from "#src/commands/drafts/drafts.ts";
import { Unavailable } from "#src/eventStore/eventStore.ts";
import { tell } from "#test/support/processContext.ts";
import { expectSound, first, send } from "./sendSoundness.ts";
import { cause, createSendWorld, refusal, workspaceId } from "./sendWorld.ts";

describe("the send path", () => {
  it("an approved draft is handed over once, however often its events come", async () => {
    const world = await createSendWorld({ deliveries: 3 });
    const draftId = await world.submit();
    await world.approve(draftId);
    await world.run();
    world.replayAll();
    await world.run();
    expect((await world.state.draft(draftId)).status).to.equal("sent");
    expect(world.hands).to.have.length(1);
    expect((await world.state.thread()).status).to.equal("waiting");
    await expectSound(world, [draftId]);
  });

  it("one of a concurrent approval and rejection wins", async () => {
    const world = await createSendWorld();
    const draftId = await world.submit();
    const other = world.createNode();
    await Promise.allSettled([
      world.approve(draftId),
      rejectDraft(other, { workspaceId, draftId, reason: null }, cause),
    ]);
    await world.run();
    const { status } = await world.state.draft(draftId);
    expect(["sent", "rejected"]).to.include(status);
    expect(world.hands.length).to.equal(status === "sent" ? 1 : 0);
    await expectSound(world, [draftId], ["sent", "rejected"]);
  });

  it("of two concurrent sends one is queued, on one instance or on two", async () => {
    for (const instances of [1, 2]) {
      const world = await createSendWorld({ tickMs: 20 });
      const draftId = await world.submit();
      const other = instances === 2 ? world.createNode() : world.node;
      const codes = await Promise.all([refusal(send(world, draftId)), refusal(send(world, draftId, other))]);
      expect(codes.sort()).to.deep.equal(["invalid_status", "not refused"]);
      await world.run();
      await expectSound(world, [draftId], ["sent"]);
    }
  });

  it("a version that an edit replaced between claim and queue is not sent", async () => {
    const world = await createSendWorld();
    const draftId = await world.submit();
    const { reached, release } = world.node.faulty.pause("quota");
    const sending = refusal(send(world, draftId));
    await reached;
    const edit = { workspaceId, draftId, ifVersion: null, changes: { bodyText: "another" }, threadSubject: "s" };
    await editDraft(world.createNode(), edit, cause);
    release();
    expect(await sending).to.equal("content_changed");
    await world.run();
    expect((await world.state.draft(draftId)).status).to.equal("pending");
    await expectSound(world, [draftId], ["pending"]);
  });

  it("a draft whose customer wrote before the send becomes stale, whether that mail is filed or not", async () => {
    for (const filed of [true, false]) {
      const world = await createSendWorld();
      const draftId = await world.submit();
      await world.acknowledge(2, [first]);
      if (filed) await world.drain();
      const sending = refusal(send(world, draftId));
      // The send must not finish before that mail is filed.
      if (!filed) await Promise.race([sending, new Promise((resolve) => setTimeout(resolve, 50))]);
      await world.drain();
      expect(await sending).to.equal("stale_draft");
      await world.run();
      expect((await world.state.draft(draftId)).status).to.equal("stale");
      expect(world.hands).to.have.length(0);
      await expectSound(world, [draftId]);
    }
  });

  it("a send is refused as unavailable without a claim while acknowledged mail cannot be filed", async () => {
    const world = await createSendWorld({ tickMs: 1_000 });
    const draftId = await world.submit();
    await world.acknowledge(2, [first]);
    // Without its bytes the mail cannot be filed, not even by the waiting send.
    world.blobs.get = async () => undefined;
    const error = await send(world, draftId).catch((failure: unknown) => failure);
    expect(error).to.be.instanceOf(Unavailable);
    expect((await world.state.thread()).claims).to.deep.equal({});
  });

  it("a draft that another send queued is not called stale by a slower send, but by its hand-over", async () => {
    const world = await createSendWorld();
    const draftId = await world.submit();
    const late = world.createNode();
    const { reached, release } = late.faulty.pause("thread");
    const slow = refusal(send(world, draftId, late));
    await reached;
    await send(world, draftId);
    await world.acknowledge(2, [first]);
    await tell(world.node.processes[0]!, world.log.all.at(-1)!);
    release();
    expect(await slow).to.equal("invalid_status");
    expect((await world.state.draft(draftId)).status).to.equal("sending");
    await world.run();
    expect(world.hands).to.deep.equal([]);
    await expectSound(world, [draftId], ["stale"]);
  });

  it("of 200 concurrent sends exactly five are queued if the quota has five left", async () => {
    const world = await createSendWorld({ cap: 50, deliveries: 1, tickMs: 0.01 });
    for (let n = 0; n < 45; n++) {
      await world.node.quotas.handle(
        `quota-${workspaceId}-lifetime`,
        { type: "ReserveQuota", reservationId: `used ${n}`, cap: 50 },
        cause,
      );
    }
    const drafts: string[] = [];
    for (let n = 0; n < 200; n++) drafts.push(await world.submit());
    const codes = await Promise.all(drafts.map((draftId) => refusal(send(world, draftId))));
    expect(codes.filter((code) => code === "not refused")).to.have.length(5);
    expect(codes.filter((code) => code === "plan_limit_reached")).to.have.length(195);
    expect(await world.state.quota()).to.equal(50);
    await world.run();
    expect(Object.keys((await world.state.thread()).claims)).to.deep.equal([]);
    expect(world.hands).to.have.length(5);
  });

  it("a refused send is undone in order: the draft, the quota, the claim", async () => {
    const world = await createSendWorld({ cap: 1 });
    const draftId = await world.submit();
    const { reached, release } = world.node.faulty.pause("quota");
    const sending = refusal(send(world, draftId));
    await reached;
    const reserved = { type: "ReserveQuota", reservationId: "other", cap: 1, elsewhere: 0 } as const;
    await world.elsewhere().quotas.handle(`quota-${workspaceId}-lifetime`, reserved, cause);
    release();
    expect(await sending).to.equal("plan_limit_reached");
    const undone = ["SendAbandoned", "QuotaReleased", "SendClaimReleased"];
    expect(world.log.all.map(({ type }) => type).filter((type) => undone.includes(type))).to.deep.equal(undone);
    expect((await world.state.thread()).claims).to.deep.equal({});
    expect(await world.state.quota()).to.equal(1);
  });
});
