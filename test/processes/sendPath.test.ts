import { expect } from "chai";
import { editDraft, rejectDraft, sendDraft } from "#src/commands/drafts.ts";
import { queueSend } from "#src/commands/sends.ts";
import { Unavailable } from "#src/eventStore/eventStore.ts";
import { draftDecider } from "#streams/draft/decider.ts";
import { draftStream } from "#streams/draft/events.ts";
import { identityDecider } from "#streams/identity/decider.ts";
import { identityStream } from "#streams/identity/events.ts";
import { workspaceDecider } from "#streams/workspace/decider.ts";
import { workspaceStream } from "#streams/workspace/events.ts";
import { Crashed, type Fault } from "#test/support/faultyEventStore.ts";
import { processContext } from "#test/support/processContext.ts";
import { cause, createSendWorld, identityId, refusal, type SendWorld, workspaceId } from "./sendWorld.ts";

const first = "<1@customer.example>";
const accepted = { kind: "accepted", response: "250 ok" } as const;
const later = { kind: "refused", retryable: true, code: "greylisted", message: "451 later" } as const;
const unknown = { kind: "unknown", message: "the connection was lost" } as const;

/** What holds at any rest, whatever happened before (invariants 1 and 8). */
async function expectSound(world: SendWorld, draftIds: string[], final = ["sent", "failed", "stale"]): Promise<void> {
  const perAttempt = new Map<string, number>();
  for (const { attemptId } of world.hands) perAttempt.set(attemptId, (perAttempt.get(attemptId) ?? 0) + 1);
  expect(Math.max(0, ...perAttempt.values()), "hand-overs of one attempt").to.be.at.most(1);
  let charged = 0;
  for (const draftId of draftIds) {
    const draft = await world.state.draft(draftId);
    expect(final, "how it ended").to.include(draft.status);
    const attempts = attemptsOf(world, draftId);
    const hands = world.hands.filter((hand) => attempts.has(hand.attemptId));
    const accepts = hands.filter((hand) => hand.outcome.kind === "accepted").length;
    const unconfirmed = draft.status === "failed" && draft.failureCode === "unconfirmed";
    expect(accepts, "accepts of one draft").to.be.at.most(1);
    if (!unconfirmed && draft.status !== "sent") expect(accepts, `accepted, yet ${draft.status}`).to.equal(0);
    if (draft.status === "sent" || unconfirmed) charged += 1;
    if (draft.status === "sent") {
      const told = world.log.all.filter((event) => event.type === "MessageSent" && event.data.draftId === draftId);
      expect(told.length, "MessageSent").to.equal(1);
    }
  }
  expect(await world.state.quota(), "quota").to.equal(charged);
  expect((await world.state.thread()).claims, "claims left").to.deep.equal({});
}

const attemptsOf = (world: SendWorld, draftId: string): Set<string> =>
  new Set(
    world.log.all
      .filter((event) => event.type === "DeliveryStarted" && event.data.draftId === draftId)
      .map((event) => event.stream.slice("delivery-".length)),
  );

async function requireHuman(world: SendWorld): Promise<void> {
  const command = { type: "UpdateIdentity", changes: { requireHumanApproval: true }, mayLoosen: true } as const;
  await world.node.handle(identityDecider, identityStream(identityId), command, cause);
}

const send = (world: SendWorld, draftId: string, on = world.node) => sendDraft(on, { workspaceId, draftId }, cause);

describe("the send path", () => {
  it("hands an approved draft over once, however often its events come", async () => {
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

  it("lets exactly one of approve and reject win while pending", async () => {
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

  it("queues one of two sends at once, on one instance or on two", async () => {
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

  it("never sends what an edit replaced between the claim and the queue", async () => {
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

  it("ends stale where a reply was acknowledged before the send, filed or not", async () => {
    for (const filed of [true, false]) {
      const world = await createSendWorld();
      const draftId = await world.submit();
      await world.acknowledge(2, [first]);
      if (filed) await world.drain();
      const sending = refusal(send(world, draftId));
      // It may not get anywhere before that mail is filed.
      if (!filed) await Promise.race([sending, new Promise((resolve) => setTimeout(resolve, 50))]);
      await world.drain();
      expect(await sending).to.equal("stale_draft");
      await world.run();
      expect((await world.state.draft(draftId)).status).to.equal("stale");
      expect(world.hands).to.have.length(0);
      await expectSound(world, [draftId]);
    }
  });

  it("answers unavailable while acknowledged mail cannot be filed, and holds nothing", async () => {
    const world = await createSendWorld({ tickMs: 1_000 });
    const draftId = await world.submit();
    await world.acknowledge(2, [first]);
    const error = await send(world, draftId).catch((failure: unknown) => failure);
    expect(error).to.be.instanceOf(Unavailable);
    expect((await world.state.thread()).claims).to.deep.equal({});
  });

  it("does not call a draft stale that another send queued before the newer mail came", async () => {
    const world = await createSendWorld();
    const draftId = await world.submit();
    const late = world.createNode();
    const { reached, release } = late.faulty.pause("thread");
    const slow = refusal(send(world, draftId, late));
    await reached;
    await send(world, draftId);
    await world.acknowledge(2, [first]);
    await world.node.processes[0]!.on.MailReceived!(world.log.all.at(-1)!, {} as never);
    release();
    expect(await slow).to.equal("invalid_status");
    await world.run();
    await expectSound(world, [draftId], ["sent"]);
  });

  it("queues exactly five of 200 parallel sends when five are left", async () => {
    const world = await createSendWorld({ cap: 50, deliveries: 1, tickMs: 0.01 });
    for (let n = 0; n < 45; n++) {
      await world.node.handle(
        (await import("#streams/quota/decider.ts")).quotaDecider,
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
  }).timeout(60_000);

  it("takes the attempt back in order: the draft first, then the quota, then the claim", async () => {
    const world = await createSendWorld({ cap: 0 });
    const draftId = await world.submit();
    expect(await refusal(send(world, draftId))).to.equal("plan_limit_reached");
    const undone = ["SendAbandoned", "QuotaReleased", "SendClaimReleased"];
    expect(world.log.all.map(({ type }) => type).filter((type) => undone.includes(type))).to.deep.equal(undone);
    await expectSound(world, [draftId], ["pending"]);
  });
});

describe("the hand-over", () => {
  const queued = async (options = {}) => {
    const world = await createSendWorld(options);
    const draftId = await world.submit();
    await queueSend(world.node, draftId, "api_key", cause);
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

  it("does not use a claim older than five seconds, but a new one", async () => {
    const { world, draftId } = await queued();
    world.sleepThrough(5_001);
    await world.run();
    const replaced = world.log.all.filter((event) => event.type === "DraftRequeued");
    expect(replaced.length).to.equal(1);
    expect(world.hands.map((hand) => hand.attemptId)).to.deep.equal([replaced[0]!.data.attemptId]);
    await expectSound(world, [draftId], ["sent"]);
  });

  it("claims a mail that takes longer to write than a claim is good for once it is written", async () => {
    const { world, draftId } = await queued();
    const { blobs } = world;
    const put = blobs.put.bind(blobs);
    // Writing a very large mail, every time.
    blobs.put = async (bytes: Buffer) => {
      if (bytes.includes("Message-ID:")) world.sleepThrough(6_000);
      return put(bytes);
    };
    await world.run();
    expect(world.log.all.filter((event) => event.type === "DraftRequeued")).to.have.length(1);
    expect(world.hands).to.have.length(1);
    await expectSound(world, [draftId], ["sent"]);
  });

  it("does not use a claim that another process made", async () => {
    const { world, draftId } = await queued();
    world.useNode(world.createNode());
    await world.run();
    expect(world.log.all.filter((event) => event.type === "DeliveryAbandoned")).to.have.length(1);
    expect(world.hands).to.have.length(1);
    await expectSound(world, [draftId], ["sent"]);
  });

  it("counts a claim's age from before it was recorded", async () => {
    const world = await createSendWorld();
    const draftId = await world.submit();
    const { reached, release } = world.node.faulty.pause("thread");
    const sending = send(world, draftId);
    await reached;
    world.sleepThrough(6_000);
    release();
    await sending;
    await world.run();
    expect(world.log.all.filter((event) => event.type === "DraftRequeued")).to.have.length(1);
    await expectSound(world, [draftId], ["sent"]);
  });

  it("writes nothing once the claim got too old on the way, and tries again", async () => {
    const { world, draftId } = await queued();
    let slept = false;
    world.onWrite(() => {
      if (!slept) world.sleepThrough(10_001);
      slept = true;
    });
    await world.run();
    expect(world.log.all.filter((event) => event.type === "DeliveryNotHandedOver")).to.have.length(1);
    expect(world.hands).to.have.length(1);
    await expectSound(world, [draftId], ["sent"]);
  });

  it("fails when its schedule is used up, and gives the quota back [3 sending -> failed]", async () => {
    const { world, draftId } = await queued();
    // Each event comes twice, and finds no connection twice.
    world.answer(later, "no connection", "no connection", later);
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
          ? world.node.handle(
              workspaceDecider,
              workspaceStream(workspaceId),
              { type: "UpdateWorkspace", sendingPaused: on },
              cause,
            )
          : world.node.handle(
              identityDecider,
              identityStream(identityId),
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
      world.node.handle(
        workspaceDecider,
        workspaceStream(workspaceId),
        { type: "UpdateWorkspace", sendingPaused },
        cause,
      );
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
    await world.node.handle(
      identityDecider,
      identityStream(identityId),
      { type: "DeleteIdentity", mayLoosen: false },
      cause,
    );
    await world.run();
    expect((await world.state.draft(draftId)).failureCode).to.equal("identity_deleted");
    expect(world.hands).to.have.length(0);
    await expectSound(world, [draftId]);
  });

  it("puts a draft back to pending whose identity changed after the approval", async () => {
    const world = await createSendWorld();
    const draftId = await world.submit();
    await world.node.handle(
      draftDecider,
      draftStream(draftId),
      { type: "ApproveDraft", ifVersion: 1, contentSha256: null, sendRequested: false, tokenSha256: null },
      cause,
    );
    const changes = { displayName: "Somebody else" };
    await world.node.handle(
      identityDecider,
      identityStream(identityId),
      { type: "UpdateIdentity", changes, mayLoosen: true },
      cause,
    );
    expect(await refusal(send(world, draftId))).to.equal("content_changed");
    const { status, version } = await world.state.draft(draftId);
    expect({ status, version }).to.deep.equal({ status: "pending", version: 2 });
    expect(await world.state.quota()).to.equal(0);
  });

  it("does not let a key send what an edit put back to pending, where people decide", async () => {
    const world = await createSendWorld();
    const draftId = await world.submit();
    await requireHuman(world);
    expect(await refusal(queueSend(world.node, draftId, "api_key", cause))).to.equal("human_approval_required");
  });

  it("does not send what a key or a rule approved before people had to decide: it goes back to them [d2 require_human_approval]", async () => {
    for (const kind of ["api_key", "rule"] as const) {
      const world = await createSendWorld();
      const draftId = await world.submit();
      const approve = { type: "ApproveDraft", ifVersion: 1, contentSha256: null, sendRequested: false } as const;
      const by = { ...cause, actor: { kind, id: "somebody" } };
      await world.node.handle(draftDecider, draftStream(draftId), { ...approve, tokenSha256: null }, by);
      await requireHuman(world);
      expect(await refusal(queueSend(world.node, draftId, "api_key", cause))).to.equal("human_approval_required");
      expect((await world.state.draft(draftId)).status).to.equal("pending");
      await world.node.handle(draftDecider, draftStream(draftId), { ...approve, tokenSha256: "a person's" }, by);
      await queueSend(world.node, draftId, "api_key", cause);
      await world.run();
      await expectSound(world, [draftId], ["sent"]);
    }
  });

  it("hands over once where two deliverers have the same events at once", async () => {
    for (const same of [true, false]) {
      const { world, draftId } = await queued();
      const other = same ? world.node : world.createNode();
      const event = world.log.all.find(({ type }) => type === "DraftQueued")!;
      const context = processContext();
      const deliver = (node: typeof other) =>
        node.processes.find(({ name }) => name === "deliverDraft")!.on.DraftQueued!(event, context);
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
    world.timers.set("deliverDraft/x/cut-off", {
      process: "deliverDraft",
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

describe("a crash or an outage at every append of the send path", () => {
  const faults: Omit<Fault, "at">[] = [
    { when: "before", how: "crash" },
    { when: "after", how: "crash" },
    { when: "before", how: "unavailable" },
    { when: "after", how: "unavailable" },
  ];
  const endings = { approval: ["sent", "failed"], key: ["sent", "failed", "pending"] };

  for (const { when, how } of faults) {
    for (const by of ["approval", "key"] as const) {
      it(`${how} ${when} an append, sent by ${by}: ends as it must`, async () => {
        let reached = true;
        for (let at = 1; reached; at++) {
          const world = await createSendWorld({ tickMs: 200 });
          const draftId = await world.submit();
          const faulty = world.createNode({ at, when, how });
          world.useNode(faulty);
          const start = by === "approval" ? world.approve(draftId, faulty) : send(world, draftId, faulty);
          const failed = await start.then(
            () => false,
            (error: unknown) => {
              if (!(error instanceof Crashed || error instanceof Unavailable)) throw error;
              return true;
            },
          );
          if (faulty.faulty.crashed) world.useNode(world.createNode());
          if (failed && by === "approval" && at === 1) await world.approve(draftId, world.node).catch(() => undefined);
          await world.run();
          await expectSound(world, [draftId], endings[by]);
          const { status, failureCode } = await world.state.draft(draftId);
          if (status === "failed") expect(failureCode, `append ${at}`).to.equal("unconfirmed");
          reached = faulty.faulty.appends >= at;
          expect(at).to.be.below(60);
        }
      }).timeout(120_000);
    }
  }
});
