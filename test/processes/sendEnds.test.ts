import { expect } from "chai";
import { queueSend } from "#src/commands/sends/queueSend.ts";
import { Unavailable } from "#src/eventStore/eventStore.ts";
import { cause, createSendWorld, identityId } from "./sendWorld.ts";

const unknown = { kind: "unknown", message: "the connection was lost" } as const;

describe("how a send ends that did not go well", () => {
  it("goes back to the approvers where nobody approved it and the identity came to require a person", async () => {
    const world = await createSendWorld();
    const update = {
      type: "UpdateIdentity",
      changes: { requireHumanApproval: true, autoApproveReplies: false },
      mayLoosen: true,
    } as const;
    await world.node.identities.handle(identityId, update, cause);
    // Submitted a moment before the switch, carried out after it.
    const draftId = await world.submit({ autoApproved: true });
    await world.run();
    expect((await world.state.draft(draftId)).status).to.equal("pending");
    expect(world.hands).to.deep.equal([]);
  });

  it("holds an approved draft with the reason of any other refusal, and parks nothing", async () => {
    const world = await createSendWorld();
    const draftId = await world.submit();
    await world.node.identities.handle(identityId, { type: "DeleteIdentity", mayLoosen: false }, cause);
    await world.approve(draftId);
    await world.run();
    const { status, held } = await world.state.draft(draftId);
    expect({ status, held }).to.deep.equal({ status: "approved", held: "identity_not_active" });
  });

  it("leaves after all where an approval met another send that was cut off, as soon as that one is taken back", async () => {
    const world = await createSendWorld({ tickMs: 200 });
    const draftId = await world.submit();
    const doomed = world.createNode({ at: 1, when: "after", how: "crash" });
    await queueSend(doomed, { draftId, kind: "api_key" }, cause).catch(() => undefined);
    expect((await world.state.thread()).claims).to.have.property(draftId);
    await world.approve(draftId);
    const approvedAt = world.clock.now().getTime();
    await world.run();
    expect((await world.state.draft(draftId)).status).to.equal("sent");
    // The claim is taken back after 6 s. Nobody asks again before 10 s.
    const queued = world.log.all.find(({ type }) => type === "DraftQueued")!;
    expect(Date.parse(queued.metadata.at) - approvedAt).to.be.below(10_000);
    expect([world.hands.length, await world.state.quota()]).to.deep.equal([1, 1]);
  });

  it("tells a caller to come again where another send was cut off before it was queued: nothing may leave by that one", async () => {
    const world = await createSendWorld({ tickMs: 200 });
    const draftId = await world.submit();
    const doomed = world.createNode({ at: 1, when: "after", how: "crash" });
    await queueSend(doomed, { draftId, kind: "api_key" }, cause).catch(() => undefined);
    const told = await queueSend(world.node, { draftId, kind: "api_key" }, cause).catch((error) => error);
    expect(told).to.be.instanceOf(Unavailable);
    await world.run();
    expect((await world.state.draft(draftId)).status).to.equal("pending");
  });

  it("fails as provider_credentials once the schedule is over, with everything given back", async () => {
    const world = await createSendWorld();
    world.answer(...Array<"credentials">(30).fill("credentials"));
    const draftId = await world.submit();
    await world.approve(draftId);
    await world.run();
    const { status, failureCode } = await world.state.draft(draftId);
    expect({ status, failureCode }).to.deep.equal({ status: "failed", failureCode: "provider_credentials" });
    expect(await world.state.quota()).to.equal(0);
    expect((await world.state.thread()).claims).to.deep.equal({});
  });

  it("waits for evidence from the moment nobody knew, however often the queueing is told again", async () => {
    const world = await createSendWorld();
    world.answer(unknown);
    const draftId = await world.submit();
    await world.approve(draftId);
    await world.drain();
    for (let minutes = 0; minutes < 14; minutes++) {
      await world.advance(60_000);
      world.replayAll();
      await world.drain();
    }
    expect((await world.state.draft(draftId)).status).to.equal("sending");
    await world.advance(61_000);
    expect((await world.state.draft(draftId)).failureCode).to.equal("unconfirmed");
  });

  it("flags the thread of an unconfirmed reply once: a person's answer to that stays", async () => {
    const world = await createSendWorld();
    world.answer(unknown);
    const draftId = await world.submit();
    await world.approve(draftId);
    await world.run();
    expect((await world.state.draft(draftId)).failureCode).to.equal("unconfirmed");
    expect((await world.state.thread()).needsReview).to.equal(true);
    const seen = { type: "UpdateThread", needsReview: false, because: "looked at" } as const;
    await world.node.threads.handle(world.threadId(), seen, cause);
    world.replayAll();
    await world.run();
    expect((await world.state.thread()).needsReview).to.equal(false);
  });
});
