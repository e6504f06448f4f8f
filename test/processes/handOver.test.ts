import { expect } from "chai";
import { queueSend } from "#src/commands/sends/queueSend.ts";
import { tell } from "#test/support/processContext.ts";
import { accepted, expectSound, first, later, requireHuman, send, unknown } from "./sendSoundness.ts";
import { cause, createSendWorld, identityId, refusal, workspaceId } from "./sendWorld.ts";

describe("the hand-over", () => {
  const queued = async (options = {}) => {
    const world = await createSendWorld(options);
    const draftId = await world.submit();
    await queueSend(world.node, { draftId, kind: "api_key" }, cause);
    return { world, draftId };
  };

  it("an unknown hand-over is never repeated: after its time the draft fails as unconfirmed and keeps its quota", async () => {
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

  it("evidence from the provider settles an unknown hand-over", async () => {
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

  it("a hand-over uses the claim it was queued under, however old", async () => {
    const { world, draftId } = await queued();
    const { attemptId } = await world.state.draft(draftId);
    world.sleepThrough(3_600_000);
    await world.run();
    expect(world.log.all.filter((event) => event.type === "DraftRequeued")).to.have.length(0);
    expect(world.hands.map((hand) => hand.attemptId)).to.deep.equal([attemptId]);
    await expectSound(world, [draftId], ["sent"]);
  });

  it("a hand-over has unlimited time to write the mail before it starts", async () => {
    const { world, draftId } = await queued();
    const { blobs } = world;
    const put = blobs.put.bind(blobs);
    // Storing the mail takes 6 s each time.
    blobs.put = async (bytes: Buffer) => {
      if (bytes.includes("Message-ID:")) world.sleepThrough(6_000);
      return put(bytes);
    };
    await world.run();
    expect(world.log.all.filter((event) => event.type === "DraftRequeued")).to.have.length(0);
    expect(world.hands).to.have.length(1);
    await expectSound(world, [draftId], ["sent"]);
  });

  it("a hand-over uses a claim that another instance made", async () => {
    const { world, draftId } = await queued();
    world.useNode(world.createNode());
    await world.run();
    expect(world.log.all.filter((event) => event.type === "DeliveryAbandoned")).to.have.length(0);
    expect(world.hands).to.have.length(1);
    await expectSound(world, [draftId], ["sent"]);
  });

  it("a hand-over does not start if its claim was released while it waited for a connection", async () => {
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

  it("a hand-over uses a claim that took long to record", async () => {
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

  it("a hand-over writes nothing after an outdated check of the thread, and is tried again", async () => {
    const { world, draftId } = await queued();
    let slept = false;
    world.onWrite(() => {
      if (slept) return;
      slept = true;
      world.sleepThrough(5_001);
      const { deliveries } = world.node;
      const fresh = deliveries.fresh.bind(deliveries);
      // The process is stopped in the middle of the second check.
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

  it("a draft fails after the last retry and gives its quota back [3 sending -> failed]", async () => {
    const { world, draftId } = await queued();
    world.answer(later, "no connection", later);
    await world.run();
    const { status, failureCode } = await world.state.draft(draftId);
    expect({ status, failureCode }).to.deep.equal({ status: "failed", failureCode: "provider_unavailable" });
    expect(world.hands).to.have.length(2);
    await expectSound(world, [draftId]);
  });

  it("a draft can become stale before a later try", async () => {
    const { world, draftId } = await queued();
    world.answer(later);
    await world.drain();
    await world.acknowledge(2, [first]);
    await world.run();
    expect((await world.state.draft(draftId)).status).to.equal("stale");
    expect(world.hands).to.have.length(1);
    await expectSound(world, [draftId]);
  });

  it("a queued draft waits while sending is paused or its identity disabled, and is sent afterwards [3 identity disabled]", async () => {
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

  it("an approved draft is sent when the pause ends", async () => {
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

  it("a queued draft fails if its identity is deleted", async () => {
    const { world, draftId } = await queued();
    await world.node.identities.handle(identityId, { type: "DeleteIdentity", mayLoosen: false }, cause);
    await world.run();
    expect((await world.state.draft(draftId)).failureCode).to.equal("identity_deleted");
    expect(world.hands).to.have.length(0);
    await expectSound(world, [draftId]);
  });

  it("an approved draft whose identity changed becomes pending again when it is sent", async () => {
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

  it("a key cannot send a pending draft if a person has to decide", async () => {
    const world = await createSendWorld();
    const draftId = await world.submit();
    await requireHuman(world);
    expect(await refusal(queueSend(world.node, { draftId, kind: "api_key" }, cause))).to.equal(
      "human_approval_required",
    );
  });

  it("a draft approved by a key or a rule before a person was required becomes pending again [d2 require_human_approval]", async () => {
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

  it("a draft is handed over once if two handlers have its event concurrently", async () => {
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

  it("an older attempt's timer does not affect the current attempt", async () => {
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
