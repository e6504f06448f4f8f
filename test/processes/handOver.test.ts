import { expect } from "chai";
import { queueSend } from "#src/commands/sends/queueSend.ts";
import { tell } from "#test/support/processContext.ts";
import { accepted, expectSound, first, later, requireHuman, send, unknown } from "./sendChecks.ts";
import { cause, createSendWorld, identityId, refusal, workspaceId } from "./sendWorld.ts";

describe("the hand-over", () => {
  const queued = async (options = {}) => {
    const world = await createSendWorld(options);
    const draftId = await world.submit();
    await queueSend(world.node, { draftId, kind: "api_key" }, cause);
    return { world, draftId };
  };

  it("never repeats an unknown one: failed as unconfirmed after its time, its quota kept", async () => {
    const { world, draftId } = await queued();
    world.answer(unknown);
    await world.drain();
    await world.advance(899_000);
    expect((await world.state.draft(draftId)).status).to.equal("sending");
    await world.run();
    const { status, failureCode } = await world.state.draft(draftId);
    expect({ status, failureCode }).to.deep.equal({ status: "failed", failureCode: "unconfirmed" });
    expect(world.hands).to.have.length(1);
    await expectSound(world, [draftId]);
  });

  it("is settled by evidence", async () => {
    for (const evidence of ["accepted", "refused"] as const) {
      const { world, draftId } = await queued();
      world.answer(unknown);
      await world.drain();
      world.setEvidence(evidence);
      await world.run();
      expect((await world.state.draft(draftId)).status).to.equal(evidence === "accepted" ? "sent" : "failed");
      expect(world.hands).to.have.length(1);
      expect(await world.state.quota()).to.equal(evidence === "accepted" ? 1 : 0);
    }
  });

  it("uses the claim it was queued under, however old that is", async () => {
    const { world, draftId } = await queued();
    const { attemptId } = await world.state.draft(draftId);
    world.sleepThrough(3_600_000);
    await world.run();
    expect(world.log.all.filter((event) => event.type === "DraftRequeued")).to.have.length(0);
    expect(world.hands.map((hand) => hand.attemptId)).to.deep.equal([attemptId]);
    await expectSound(world, [draftId], ["sent"]);
  });

  it("takes as long as it needs to write a mail", async () => {
    const { world, draftId } = await queued();
    const { blobs } = world;
    const put = blobs.put.bind(blobs);
    // Writing a very large mail, every time.
    blobs.put = async (bytes: Buffer) => {
      if (bytes.includes("Message-ID:")) world.sleepThrough(6_000);
      return put(bytes);
    };
    await world.run();
    expect(world.log.all.filter((event) => event.type === "DraftRequeued")).to.have.length(0);
    expect(world.hands).to.have.length(1);
    await expectSound(world, [draftId], ["sent"]);
  });

  it("uses a claim that another process made", async () => {
    const { world, draftId } = await queued();
    world.useNode(world.createNode());
    await world.run();
    expect(world.log.all.filter((event) => event.type === "DeliveryAbandoned")).to.have.length(0);
    expect(world.hands).to.have.length(1);
    await expectSound(world, [draftId], ["sent"]);
  });

  it("begins nothing once its claim was taken back elsewhere while it waited for a connection", async () => {
    const { world, draftId } = await queued({ deliveries: 1 });
    const { attemptId } = await world.state.draft(draftId);
    const release = { type: "ReleaseClaim", draftId, attemptId: attemptId as string, because: "test" } as const;
    world.onConnect(() => world.elsewhere().threads.handle(world.threadId(), release, cause));
    await world.drain().catch(() => undefined);
    expect(
      world.log.all.filter(({ type }) => type === "DeliveryStarted" || type === "SendClaimReleased"),
    ).to.have.length(1);
    expect(world.hands).to.deep.equal([]);
  });

  it("uses a claim whose recording took long", async () => {
    const world = await createSendWorld();
    const draftId = await world.submit();
    const { reached, release } = world.node.faulty.pause("thread");
    const sending = send(world, draftId);
    await reached;
    world.sleepThrough(6_000);
    release();
    await sending;
    await world.run();
    expect(world.log.all.filter((event) => event.type === "DraftRequeued")).to.have.length(0);
    await expectSound(world, [draftId], ["sent"]);
  });

  it("writes nothing once the look at the thread got too old on the way, and tries again", async () => {
    const { world, draftId } = await queued();
    let slept = false;
    world.onWrite(() => {
      if (slept) return;
      slept = true;
      world.sleepThrough(5_001);
      const { deliveries } = world.node;
      const fresh = deliveries.fresh.bind(deliveries);
      // Stopped in the middle of the second look.
      deliveries.fresh = async (id) => {
        deliveries.fresh = fresh;
        world.sleepThrough(10_001);
        return fresh(id);
      };
    });
    await world.run();
    expect(world.log.all.filter((event) => event.type === "DeliveryNotHandedOver")).to.have.length(1);
    expect(world.hands).to.have.length(1);
    await expectSound(world, [draftId], ["sent"]);
  });

  it("fails when its schedule is used up, and gives the quota back [3 sending -> failed]", async () => {
    const { world, draftId } = await queued();
    world.answer(later, "no connection", later);
    await world.run();
    const { status, failureCode } = await world.state.draft(draftId);
    expect({ status, failureCode }).to.deep.equal({ status: "failed", failureCode: "provider_unavailable" });
    expect(world.hands).to.have.length(2);
    await expectSound(world, [draftId]);
  });

  it("may still end stale before a later try", async () => {
    const { world, draftId } = await queued();
    world.answer(later);
    await world.drain();
    await world.acknowledge(2, [first]);
    await world.run();
    expect((await world.state.draft(draftId)).status).to.equal("stale");
    expect(world.hands).to.have.length(1);
    await expectSound(world, [draftId]);
  });

  it("waits while sending is paused or the identity disabled, then goes on [3 identity disabled]", async () => {
    for (const wait of ["paused", "disabled"] as const) {
      const { world, draftId } = await queued();
      const set = (on: boolean) =>
        wait === "paused"
          ? world.node.workspaces.handle(workspaceId, { type: "UpdateWorkspace", sendingPaused: on }, cause)
          : world.node.identities.handle(
              identityId,
              { type: "UpdateIdentity", changes: { status: on ? "disabled" : "active" }, mayLoosen: true },
              cause,
            );
      await set(true);
      await world.drain();
      await world.advance(60_000);
      expect(world.hands).to.have.length(0);
      expect((await world.state.draft(draftId)).status).to.equal("sending");
      await set(false);
      await world.run();
      await expectSound(world, [draftId], ["sent"]);
    }
  });

  it("carries an approval out when the pause ends", async () => {
    const world = await createSendWorld();
    const draftId = await world.submit();
    const pause = (sendingPaused: boolean) =>
      world.node.workspaces.handle(workspaceId, { type: "UpdateWorkspace", sendingPaused }, cause);
    await pause(true);
    await world.approve(draftId);
    await world.drain();
    await world.advance(10_000);
    expect((await world.state.draft(draftId)).held).to.equal("sending_paused");
    await pause(false);
    await world.run();
    await expectSound(world, [draftId], ["sent"]);
  });

  it("fails a queued draft whose identity was deleted", async () => {
    const { world, draftId } = await queued();
    await world.node.identities.handle(identityId, { type: "DeleteIdentity", mayLoosen: false }, cause);
    await world.run();
    expect((await world.state.draft(draftId)).failureCode).to.equal("identity_deleted");
    expect(world.hands).to.have.length(0);
    await expectSound(world, [draftId]);
  });

  it("puts a draft back to pending whose identity changed after the approval", async () => {
    const world = await createSendWorld();
    const draftId = await world.submit();
    await world.node.drafts.handle(
      draftId,
      { type: "ApproveDraft", ifVersion: 1, contentSha256: null, sendRequested: false, tokenSha256: null },
      cause,
    );
    const changes = { displayName: "Somebody else" };
    await world.node.identities.handle(identityId, { type: "UpdateIdentity", changes, mayLoosen: true }, cause);
    expect(await refusal(send(world, draftId))).to.equal("content_changed");
    const { status, version } = await world.state.draft(draftId);
    expect({ status, version }).to.deep.equal({ status: "pending", version: 2 });
    expect(await world.state.quota()).to.equal(0);
  });

  it("does not let a key send what an edit put back to pending, where people decide", async () => {
    const world = await createSendWorld();
    const draftId = await world.submit();
    await requireHuman(world);
    expect(await refusal(queueSend(world.node, { draftId, kind: "api_key" }, cause))).to.equal(
      "human_approval_required",
    );
  });

  it("does not send what a key or a rule approved before people had to decide: it goes back to them [d2 require_human_approval]", async () => {
    for (const kind of ["api_key", "rule"] as const) {
      const world = await createSendWorld();
      const draftId = await world.submit();
      const approve = { type: "ApproveDraft", ifVersion: 1, contentSha256: null, sendRequested: false } as const;
      const by = { ...cause, actor: { kind, id: "somebody" } };
      await world.node.drafts.handle(draftId, { ...approve, tokenSha256: null }, by);
      await requireHuman(world);
      expect(await refusal(queueSend(world.node, { draftId, kind: "api_key" }, cause))).to.equal(
        "human_approval_required",
      );
      expect((await world.state.draft(draftId)).status).to.equal("pending");
      await world.node.drafts.handle(draftId, { ...approve, tokenSha256: "a person's" }, by);
      await queueSend(world.node, { draftId, kind: "api_key" }, cause);
      await world.run();
      await expectSound(world, [draftId], ["sent"]);
    }
  });

  it("hands over once where two deliverers have the same events at once", async () => {
    for (const same of [true, false]) {
      const { world, draftId } = await queued();
      const other = same ? world.node : world.createNode();
      const event = world.log.all.find(({ type }) => type === "DraftQueued")!;
      const deliver = (node: typeof other) => tell(node.processes.find(({ name }) => name === "deliver")!, event);
      await Promise.all([deliver(world.node), deliver(other)]);
      await world.run();
      await expectSound(world, [draftId], ["sent"]);
    }
  });

  it("keeps an attempt out of the reach of an older attempt's timers", async () => {
    const { world, draftId } = await queued();
    const [old] = [...world.log.all].filter(({ type }) => type === "DraftQueued");
    world.answer(later, accepted);
    await world.drain();
    world.timers.set("deliver/x/cut-off", {
      process: "deliver",
      timer: {
        key: draftId,
        name: "cut-off",
        dueAt: new Date(world.clock.now().getTime() + 5_000),
        payload: { workspaceId, correlationId: "t", causationId: "t", attemptId: old!.data.attemptId },
      },
    });
    await world.run();
    expect(world.log.all.filter(({ type }) => type === "DeliveryUnknown")).to.have.length(0);
    await expectSound(world, [draftId], ["sent"]);
  });
});
