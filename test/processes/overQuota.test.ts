import { expect } from "chai";
import { approveByPerson } from "#src/commands/drafts/signedInDecisions.ts";
import { expectSound, first, send } from "./sendSoundness.ts";
import { ann, createSendWorld, refusal, workspaceId } from "./sendWorld.ts";

describe("a send over quota", () => {
  it("a send over quota is refused a hundred times and records no event", async () => {
    const world = await createSendWorld({ cap: 1 });
    const before = await world.submit();
    await send(world, before);
    await world.run();
    const draftId = await world.submit();
    const recorded = world.log.all.length;
    for (let n = 0; n < 100; n++) expect(await refusal(send(world, draftId))).to.equal("plan_limit_reached");
    expect(world.log.all).to.have.length(recorded);
    await world.run();
    await expectSound(world, [before, draftId], ["sent", "pending"]);
  });

  it("a send over quota is refused as stale if the customer wrote again, and the draft becomes stale", async () => {
    const world = await createSendWorld({ cap: 0 });
    const draftId = await world.submit();
    await world.acknowledge(2, [first]);
    expect(await refusal(send(world, draftId))).to.equal("stale_draft");
    await expectSound(world, [draftId], ["stale"]);
  });

  it("a draft over quota that a person approved is held without a claim", async () => {
    const world = await createSendWorld({ cap: 0 });
    const draftId = await world.submit();
    await approveByPerson(world.node, { workspaceId, draftId, ifVersion: 1 }, ann);
    await world.drain();
    await world.advance(10_000);
    await world.run();
    expect(await world.state.draft(draftId)).to.include({ status: "approved", held: "plan_limit_reached" });
    expect(world.log.all.map(({ type }) => type)).to.not.include.members(["SendClaimed"]);
  });

  it("a send that loses the last place to another is refused and gives its claim back", async () => {
    const world = await createSendWorld({ cap: 1 });
    const [one, other] = [await world.submit(), await world.submit()];
    const node = world.createNode();
    const { reached, release } = node.faulty.pause("thread");
    const late = refusal(send(world, one, node));
    await reached;
    await send(world, other);
    release();
    expect(await late).to.equal("plan_limit_reached");
    await world.run();
    await expectSound(world, [one, other], ["pending", "sent"]);
  });
});
