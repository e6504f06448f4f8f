import { expect } from "chai";
import { queueSend } from "#src/commands/sends/queueSend.ts";
import { cause, createSendWorld, type SendWorld } from "./sendWorld.ts";

/** The rules' process is away: nobody records that a draft's rules have run. */
async function withoutRules(): Promise<SendWorld> {
  const world = await createSendWorld();
  const { processes } = world.node;
  processes.splice(
    processes.findIndex(({ name }) => name === "runRules"),
    1,
  );
  return world;
}

const typesOf = (world: SendWorld, draftId: string): string[] =>
  world.log.all.filter(({ stream }) => stream === `draft-${draftId}`).map(({ type }) => type);

describe("an auto-approved draft and the rules of its creation [d9 set_approval_mode]", () => {
  it("is sent once they have run, though there are none", async () => {
    const world = await createSendWorld();
    const draftId = await world.submit({ autoApproved: true });
    await world.run();
    expect((await world.state.draft(draftId)).status).to.equal("sent");
    const types = typesOf(world, draftId);
    expect(types.slice(0, 3)).to.deep.equal(["DraftSubmitted", "DraftRulesApplied", "DraftQueued"]);
    expect(world.hands).to.have.length(1);
  });

  it("is not sent before, and goes to a person where they could not be run in time", async () => {
    const world = await withoutRules();
    const draftId = await world.submit({ autoApproved: true });
    await world.advance(29_000);
    expect((await world.state.draft(draftId)).status).to.equal("approved");
    await world.advance(2_000);
    expect((await world.state.draft(draftId)).status).to.equal("pending");
    await world.run();
    expect(typesOf(world, draftId)).to.deep.equal(["DraftSubmitted", "DraftReturnedToPending"]);
    expect(world.hands).to.deep.equal([]);
  });

  it("is not sent before either where another send of it was cut off and is taken back", async () => {
    const world = await withoutRules();
    const draftId = await world.submit({ autoApproved: true });
    const doomed = world.createNode({ at: 1, when: "after", how: "crash" });
    await queueSend(doomed, { draftId, kind: "api_key" }, cause).catch(() => undefined);
    await world.run();
    expect(typesOf(world, draftId)).to.include("SendAbandoned").and.not.include("DraftQueued");
    expect((await world.state.draft(draftId)).status).to.equal("pending");
    expect(world.hands).to.deep.equal([]);
  });

  it("is a person's from then on: rules that run late send nothing", async () => {
    const world = await withoutRules();
    const draftId = await world.submit({ autoApproved: true });
    await world.run();
    const late = world.createNode();
    world.useNode(late);
    world.replayAll();
    await world.run();
    expect((await world.state.draft(draftId)).status).to.equal("pending");
    expect(typesOf(world, draftId)).to.include("DraftRulesApplied").and.not.include("DraftQueued");
    expect(world.hands).to.deep.equal([]);
  });
});
