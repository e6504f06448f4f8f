import { expect } from "chai";
import { queueSend } from "#src/commands/sends/queueSend.ts";
import { Unavailable } from "#src/eventStore/eventStore.ts";
import { cause, createSendWorld, identityId } from "./sendWorld.ts";

const unknown = { kind: "unknown", message: "the connection was lost" } as const;

describe("sends that do not go well", () => {
  it("an automatically approved draft becomes pending if its identity came to require a person", async () => {
    const world = await createSendWorld();
    const update = {
      type: "UpdateIdentity",
      changes: { requireHumanApproval: true, autoApproveReplies: false },
      mayLoosen: true,
    } as const;
    await world.node.identities.handle(identityId, update, cause);
    // Submitted before the change of the setting, handled after it.
    const draftId = await world.submit({ autoApproved: true });
    await world.run();
    expect((await world.state.draft(draftId)).status).to.equal("pending");
    expect(world.hands).to.deep.equal([]);
  });

  it("an approved draft is held with the reason of its refusal, and nothing is parked", async () => {
    const world = await createSendWorld();
    const draftId = await world.submit();
    await world.node.identities.handle(identityId, { type: "DeleteIdentity", mayLoosen: false }, cause);
    await world.approve(draftId);
    await world.run();
    const { status, held } = await world.state.draft(draftId);
    expect({ status, held }).to.deep.equal({ status: "approved", held: "identity_not_active" });
  });

  it("an approved draft is sent as soon as another send of it that was cut off is undone", async () => {
    const world = await createSendWorld({ tickMs: 200 });
    const draftId = await world.submit();
    const doomed = world.createNode({ at: 1, when: "after", how: "crash" });
    await queueSend(doomed, { draftId, kind: "api_key" }, cause).catch(() => undefined);
    expect((await world.state.thread()).claims).to.have.property(draftId);
    await world.approve(draftId);
    const approvedAt = world.clock.now().getTime();
    await world.run();
    expect((await world.state.draft(draftId)).status).to.equal("sent");
    // The claim is released after 6 s. The usual retry would come after 10 s.
    const queued = world.log.all.find(({ type }) => type === "DraftQueued")!;
    expect(Date.parse(queued.metadata.at) - approvedAt).to.be.below(10_000);
    expect([world.hands.length, await world.state.quota()]).to.deep.equal([1, 1]);
  });

  it("a send is refused as unavailable while another that was cut off has its claim", async () => {
    const world = await createSendWorld({ tickMs: 200 });
    const draftId = await world.submit();
    const doomed = world.createNode({ at: 1, when: "after", how: "crash" });
    await queueSend(doomed, { draftId, kind: "api_key" }, cause).catch(() => undefined);
    const told = await queueSend(world.node, { draftId, kind: "api_key" }, cause).catch((error) => error);
    expect(told).to.be.instanceOf(Unavailable);
    await world.run();
    expect((await world.state.draft(draftId)).status).to.equal("pending");
  });

  it("a draft fails as provider_credentials after its schedule and gives everything back", async () => {
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

  it("an unknown hand-over waits 15 minutes for evidence, however often events are repeated", async () => {
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

  it("an unconfirmed reply marks its thread for review once", async () => {
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
