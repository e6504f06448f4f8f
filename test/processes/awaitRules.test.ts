import { expect } from "chai";
import { queueSend } from "#src/commands/sends/queueSend.ts";
import type { Process } from "#src/processes/process.ts";
import { cause, createSendWorld, type SendWorld } from "./sendWorld.ts";

/** Makes a world without the process that runs rules. */
async function withoutRules(): Promise<SendWorld> {
  const world = await createSendWorld();
  const { processes } = world.node;
  processes.splice(
    processes.findIndex(({ name }) => name === "runRules"),
    1,
  );
  return world;
}

/** Makes a world in which the draft's rules begin only when `turn.hasCome` is set, and never end. */
async function withLateTurn(): Promise<{ world: SendWorld; turn: { hasCome: boolean } }> {
  const world = await createSendWorld();
  const turn = { hasCome: false };
  const { processes, ruleRuns } = world.node;
  ruleRuns.load = () => Promise.reject(new Error("nobody answers"));
  const place = processes.findIndex(({ name }) => name === "runRules");
  const rules = processes[place]!;
  const DraftSubmitted: Process["on"][string] = async (event, context) => {
    if (turn.hasCome) await Promise.resolve(rules.on.DraftSubmitted!(event, context)).catch(() => undefined);
    return { againInMs: 1_000 };
  };
  processes[place] = { ...rules, on: { ...rules.on, DraftSubmitted } };
  return { world, turn };
}

const statusIn = async (world: SendWorld, draftId: string) => (await world.state.draft(draftId)).status;

const typesOf = (world: SendWorld, draftId: string): string[] =>
  world.log.all.filter(({ stream }) => stream === `draft-${draftId}`).map(({ type }) => type);

describe("an automatically approved draft and its rules [d9 set_approval_mode]", () => {
  it("an automatically approved draft is sent after its rules were applied, even if there are none", async () => {
    const world = await createSendWorld();
    const draftId = await world.submit({ autoApproved: true });
    await world.run();
    expect((await world.state.draft(draftId)).status).to.equal("sent");
    const types = typesOf(world, draftId);
    expect(types.slice(0, 4)).to.deep.equal(["DraftSubmitted", "DraftRulesBegun", "DraftRulesApplied", "DraftQueued"]);
    expect(world.hands).to.have.length(1);
  });

  it("an automatically approved draft becomes pending if its rules do not begin within five minutes", async () => {
    const world = await withoutRules();
    const draftId = await world.submit({ autoApproved: true });
    await world.advance(299_000);
    expect(await statusIn(world, draftId)).to.equal("approved");
    await world.advance(2_000);
    expect(await statusIn(world, draftId)).to.equal("pending");
    await world.run();
    expect(typesOf(world, draftId)).to.deep.equal(["DraftSubmitted", "DraftReturnedToPending"]);
    expect(world.hands).to.deep.equal([]);
  });

  for (const [comesAfterMs, lastsMs] of [
    [1_000, 30_000],
    [100_000, 30_000],
    [290_000, 10_000],
  ] as const) {
    it(`a draft whose rules began after ${comesAfterMs / 1000} s and fail becomes pending ${lastsMs / 1000} s later`, async () => {
      const { world, turn } = await withLateTurn();
      const draftId = await world.submit({ autoApproved: true });
      await world.advance(comesAfterMs - 1_000);
      turn.hasCome = true;
      await world.advance(1_000);
      expect(typesOf(world, draftId)).to.deep.equal(["DraftSubmitted", "DraftRulesBegun"]);
      await world.advance(lastsMs - 1_000);
      expect(await statusIn(world, draftId)).to.equal("approved");
      await world.advance(2_000);
      expect(await statusIn(world, draftId)).to.equal("pending");
      expect(world.hands).to.deep.equal([]);
    });
  }

  it("an automatically approved draft is not sent before its rules ran although another send of it was undone", async () => {
    const world = await withoutRules();
    const draftId = await world.submit({ autoApproved: true });
    const doomed = world.createNode({ at: 1, when: "after", how: "crash" });
    await queueSend(doomed, { draftId, kind: "api_key" }, cause).catch(() => undefined);
    await world.run();
    expect(typesOf(world, draftId)).to.include("SendAbandoned").and.not.include("DraftQueued");
    expect((await world.state.draft(draftId)).status).to.equal("pending");
    expect(world.hands).to.deep.equal([]);
  });

  it("an automatically approved draft that became pending is not sent by rules that run late", async () => {
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
