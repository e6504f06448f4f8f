import { expect } from "chai";
import { approveDraft } from "#src/commands/drafts/drafts.ts";
import { expectSound, later, send } from "./sendSoundness.ts";
import { cause, workspaceId } from "./sendWorld.ts";
import { createStandingWorld, type StandingWorld } from "./standingWorld.ts";

const requirers: Record<string, (world: StandingWorld) => Promise<unknown>> = {
  identity: (world) => world.changeIdentity({ requireHumanApproval: true }),
  workspace: (world) =>
    world
      .elsewhere()
      .workspaces.handle(workspaceId, { type: "UpdateWorkspace", requireHumanApproval: true, mayLoosen: true }, cause),
};

const byKey = { send, "approve and send": approveAndSend };

async function approveAndSend(world: StandingWorld, draftId: string): Promise<void> {
  await approveDraft(world.node, { workspaceId, draftId, ifVersion: 1 }, cause);
  await send(world, draftId);
}

/** Expects that the draft was not sent, failed as approval_withdrawn, and gave everything back. */
async function expectWithdrawn(world: StandingWorld, draftId: string): Promise<void> {
  expect(world.hands.filter(({ outcome }) => outcome.kind === "accepted")).to.deep.equal([]);
  expect(await world.state.draft(draftId)).to.include({ status: "failed", failureCode: "approval_withdrawn" });
  await expectSound(world, [draftId], ["failed"]);
}

describe("a draft queued by a key when human approval becomes required", () => {
  for (const [of, require] of Object.entries(requirers)) {
    for (const [how, queue] of Object.entries(byKey)) {
      it(`a draft queued by a key (${how}) is not sent after a pause in which the ${of} came to require a person`, async () => {
        const world = await createStandingWorld();
        const draftId = await world.submit();
        await queue(world, draftId);
        await world.pause(true);
        await world.drain();
        await require(world);
        await world.pause(false);
        await world.run();
        await expectWithdrawn(world, draftId);
      });
    }

    it(`a draft queued by a key is neither claimed nor sent at a retry once the ${of} requires a person`, async () => {
      const world = await createStandingWorld();
      world.answer(later);
      const draftId = await world.submit();
      await send(world, draftId);
      await world.drain();
      await require(world);
      await world.run();
      await expectWithdrawn(world, draftId);
      expect(world.log.all.filter(({ type }) => type === "SendClaimed")).to.have.length(1);
    });

    it(`a draft queued by a key does not start once the ${of} requires a person while connecting`, async () => {
      const world = await createStandingWorld();
      world.onConnect(() => require(world));
      const draftId = await world.submit();
      await send(world, draftId);
      await world.run();
      await expectWithdrawn(world, draftId);
      expect(world.log.all.map(({ type }) => type)).to.not.include("DeliveryStarted");
    });

    it(`a draft queued by a key is withheld before the first byte once the ${of} requires a person`, async () => {
      const world = await createStandingWorld();
      world.onWrite(() => require(world));
      const draftId = await world.submit();
      await send(world, draftId);
      await world.run();
      await expectWithdrawn(world, draftId);
    });
  }

  it("a draft that a person approved and a key queued is sent although a person became required", async () => {
    const world = await createStandingWorld();
    const draftId = await world.submit();
    const press = { ifVersion: 1, contentSha256: null, tokenSha256: "a person's", sendRequested: false } as const;
    await world.node.drafts.handle(draftId, { type: "ApproveDraft", ...press }, cause);
    await send(world, draftId);
    await world.pause(true);
    await world.drain();
    await requirers.workspace!(world);
    await world.pause(false);
    await world.run();
    await expectSound(world, [draftId], ["sent"]);
  });
});
