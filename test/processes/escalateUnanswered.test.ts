import { expect } from "chai";
import { Unavailable } from "#src/eventStore/eventStore.ts";
import { escalateUnanswered } from "#src/processes/escalateUnanswered.ts";
import { Crashed } from "#test/support/faultyEventStore.ts";
import { fire } from "#test/support/processContext.ts";
import { cause, createSendWorld, identityId, type SendWorld } from "./sendWorld.ts";

const minute = 60_000;

async function waiting(minutes = 30) {
  const world = await createSendWorld();
  const secondaryApprovalChannel = { type: "email" as const, config: { to: "second@approvers.example" } };
  const changes = { secondaryApprovalChannel, escalationDelayMinutes: minutes };
  const update = { type: "UpdateIdentity", changes, mayLoosen: true } as const;
  await world.node.identities.handle(identityId, update, cause);
  return { world, draftId: await world.submit() };
}

const escalations = (world: SendWorld) =>
  world.log.all.filter(({ type }) => type === "DraftEscalated").map(({ data }) => data.version);

describe("the escalation of an undecided draft [d7 escalation]", () => {
  it("an undecided draft escalates once after its delay, however often events are repeated", async () => {
    const { world } = await waiting();
    await world.advance(30 * minute - 1);
    expect(escalations(world)).to.deep.equal([]);
    await world.advance(1);
    expect(escalations(world)).to.deep.equal([1]);
    expect(world.log.all.find(({ type }) => type === "DraftEscalated")!.data.channelType).to.equal("email");
    world.replayAll();
    await world.run();
    expect(escalations(world)).to.deep.equal([1]);
  });

  it("a new version of a draft starts the escalation delay again and escalates once [d13 new version]", async () => {
    const { world, draftId } = await waiting();
    await world.advance(20 * minute);
    await world.edit(draftId, "Another answer.");
    await world.advance(29 * minute);
    expect(escalations(world)).to.deep.equal([]);
    await world.advance(minute);
    expect(escalations(world)).to.deep.equal([2]);
    await world.edit(draftId, "A third one.");
    await world.advance(30 * minute);
    expect(escalations(world)).to.deep.equal([2, 3]);
  });

  it("a version that was approved and became pending again escalates once", async () => {
    const { world, draftId } = await waiting();
    await world.advance(30 * minute);
    const approve = { ifVersion: null, contentSha256: null, sendRequested: false, tokenSha256: null };
    await world.node.drafts.handle(draftId, { type: "ApproveDraft", ...approve }, cause);
    await world.node.drafts.handle(draftId, { type: "ReturnToPending", because: "test" }, cause);
    await world.run();
    expect(escalations(world)).to.deep.equal([1]);
  });

  for (const decision of ["approve", "reject"] as const) {
    it(`a draft never escalates after a decision to ${decision}, even if its delay is over`, async () => {
      const { world, draftId } = await waiting();
      await world.drain();
      world.sleepThrough(31 * minute);
      const command =
        decision === "approve"
          ? ({
              type: "ApproveDraft",
              ifVersion: null,
              contentSha256: null,
              sendRequested: false,
              tokenSha256: null,
            } as const)
          : ({ type: "RejectDraft", reason: null, ifVersion: null, tokenSha256: null } as const);
      await world.node.drafts.handle(draftId, command, cause);
      await world.advance(0);
      await world.run();
      expect(escalations(world)).to.deep.equal([]);
    });
  }

  const timerOf = (world: SendWorld, draftId: string) =>
    [...world.timers.values()].find(({ process, timer }) => process === "escalateUnanswered" && timer.key === draftId)!
      .timer;

  it("a draft escalates once if two instances have the same timer", async () => {
    const { world, draftId } = await waiting();
    const timer = timerOf(world, draftId);
    world.sleepThrough(30 * minute);
    const others = [world.createNode(), world.createNode()].map((node) => escalateUnanswered(node));
    await Promise.all(others.map((process) => fire(process, timer)));
    expect(escalations(world)).to.deep.equal([1]);
  });

  for (const when of ["before", "after"] as const) {
    for (const how of ["crash", "unavailable"] as const) {
      it(`a draft escalates once after a fault (${how}) ${when} its append`, async () => {
        const { world, draftId } = await waiting();
        const timer = timerOf(world, draftId);
        world.sleepThrough(30 * minute);
        const failed = await Promise.resolve(
          fire(escalateUnanswered(world.createNode({ at: 1, when, how })), timer),
        ).catch((error: unknown) => error);
        expect(failed instanceof Crashed || failed instanceof Unavailable).to.equal(true);
        await fire(escalateUnanswered(world.createNode()), timer);
        expect(escalations(world)).to.deep.equal([1]);
      });
    }
  }
});
