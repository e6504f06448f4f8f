import { expect } from "chai";
import { approveByPerson } from "#src/commands/drafts/peoplesDecisions.ts";
import { expectSound, first, send } from "./sendChecks.ts";
import { ann, createSendWorld, refusal, workspaceId } from "./sendWorld.ts";

describe("a send over quota", () => {
  it("is refused a hundred times and leaves no event", async () => {
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

  it("is refused as stale where the customer wrote again, and the draft is", async () => {
    const world = await createSendWorld({ cap: 0 });
    const draftId = await world.submit();
    await world.acknowledge(2, [first]);
    expect(await refusal(send(world, draftId))).to.equal("stale_draft");
    await expectSound(world, [draftId], ["stale"]);
  });

  it("is held, and claimed by nobody, where a person approved it", async () => {
    const world = await createSendWorld({ cap: 0 });
    const draftId = await world.submit();
    await approveByPerson(world.node, { workspaceId, draftId, ifVersion: 1 }, ann);
    await world.drain();
    await world.advance(10_000);
    await world.run();
    expect(await world.state.draft(draftId)).to.include({ status: "approved", held: "plan_limit_reached" });
    expect(world.log.all.map(({ type }) => type)).to.not.include.members(["SendClaimed"]);
  });

  it("is refused by the reservation where the last place is taken after it was looked at, and gives its claim back", async () => {
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
