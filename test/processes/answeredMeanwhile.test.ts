import { expect } from "chai";
import { approveByPerson } from "#src/commands/drafts/signedInDecisions.ts";
import { queueSend } from "#src/commands/sends/queueSend.ts";
import { draftStream } from "#streams/draft/events.ts";
import { expectSound, requireHuman } from "./sendSoundness.ts";
import { ann, bob, cause, createSendWorld, refusal, type SendWorld, workspaceId } from "./sendWorld.ts";

const approve = (world: SendWorld, draftId: string, who = ann) =>
  approveByPerson(world.node, { workspaceId, draftId, ifVersion: 1 }, who);

/** Returns the reasons for which a draft became pending again, with the answers concerned. */
const returnsOf = (world: SendWorld, draftId: string) =>
  world.log.all
    .filter(({ stream, type }) => stream === draftStream(draftId) && type === "DraftReturnedToPending")
    .map(({ data }) => data);

const runSends = async (world: SendWorld) => {
  await world.drain();
  await world.advance(10_000);
  await world.run();
};

async function twoDrafts({ human = true } = {}) {
  const world = await createSendWorld();
  if (human) await requireHuman(world);
  return { world, one: await world.submit(), other: await world.submit() };
}

describe("two drafts on one message", () => {
  it("of two drafts approved by people at the same moment one is sent, and the other becomes pending again", async () => {
    const { world, one, other } = await twoDrafts();
    await Promise.all([approve(world, one, ann), approve(world, other, bob)]);
    await runSends(world);
    expect(world.hands).to.have.length(1);
    const statuses = await Promise.all([one, other].map(async (id) => (await world.state.draft(id)).status));
    expect(statuses).to.have.members(["sent", "pending"]);
    const [sent, pending] = statuses[0] === "sent" ? [one, other] : [other, one];
    expect(returnsOf(world, sent)).to.deep.equal([]);
    expect(returnsOf(world, pending)).to.deep.equal([{ because: "answered_meanwhile", answeredBy: [sent] }]);
    await expectSound(world, [sent, pending], ["sent", "pending"]);
  });

  it("of two drafts on one message that two instances queue concurrently one is queued", async () => {
    const { world, one, other } = await twoDrafts();
    await Promise.all([approve(world, one, ann), approve(world, other, bob)]);
    world.sleepThrough(10_000);
    const nodes = [world.node, world.createNode()];
    const refusals = await Promise.all(
      [one, other].map((draftId, n) =>
        refusal(queueSend(nodes[n] as (typeof nodes)[0], { draftId, kind: "approval" }, cause)),
      ),
    );
    expect(refusals.filter((code) => code === "answered_meanwhile")).to.have.length(1);
    expect(world.log.all.filter(({ type }) => type === "DraftQueued")).to.have.length(1);
  });

  it("the second of two drafts is sent after it was approved again, and its approvers are asked once", async () => {
    const { world, one, other } = await twoDrafts();
    await approve(world, one);
    await approve(world, other);
    await runSends(world);
    const [pending] = (await world.state.draft(one)).status === "pending" ? [one] : [other];
    await approve(world, pending as string, bob);
    await runSends(world);
    expect(world.hands).to.have.length(2);
    expect(returnsOf(world, pending as string)).to.have.length(1);
    await expectSound(world, [one, other], ["sent", "sent"]);
  });

  it("a draft that a person approves after its message was answered is sent without another question", async () => {
    const { world, one, other } = await twoDrafts();
    await approve(world, one);
    await runSends(world);
    await approve(world, other, bob);
    await runSends(world);
    expect(returnsOf(world, other)).to.deep.equal([]);
    await expectSound(world, [one, other], ["sent", "sent"]);
  });

  it("a key sends a draft although its message was answered; an approval given before becomes pending again", async () => {
    const { world, one, other } = await twoDrafts({ human: false });
    await approve(world, one);
    await world.drain();
    await queueSend(world.node, { draftId: other, kind: "api_key" }, cause);
    await runSends(world);
    expect(returnsOf(world, one)).to.deep.equal([{ because: "answered_meanwhile", answeredBy: [other] }]);
    const third = await world.submit();
    await queueSend(world.node, { draftId: third, kind: "api_key" }, cause);
    await runSends(world);
    await expectSound(world, [one, other, third], ["pending", "sent", "sent"]);
  });

  it("a draft that a setting approved is sent although its message was answered", async () => {
    const world = await createSendWorld();
    await world.changeIdentity({ autoApproveReplies: true });
    const one = await world.submit();
    await queueSend(world.node, { draftId: one, kind: "api_key" }, cause);
    const other = await world.submit({ autoApproved: true });
    await world.node.drafts.handle(other, { type: "ApplyRules", mode: null, because: "" }, cause);
    await runSends(world);
    expect(returnsOf(world, other)).to.deep.equal([]);
    await expectSound(world, [one, other], ["sent", "sent"]);
  });

  it("a draft is sent without another question if the other draft's send was given up", async () => {
    const { world, one, other } = await twoDrafts();
    const { state: draft } = await world.node.drafts.load(one);
    await approve(world, other);
    const claim = {
      ...{ draftId: one, version: 1, contentSha256: draft.contentSha256, attemptId: "given-up", quotaStream: "q" },
    };
    const command = { type: "ClaimSend", claim, basedOnNumber: draft.basedOnNumber, replaces: null } as const;
    await world.node.threads.handle(draft.threadId, command, cause);
    const release = { type: "ReleaseClaim", draftId: one, attemptId: "given-up", because: "no quota" } as const;
    await world.node.threads.handle(draft.threadId, release, cause);
    await runSends(world);
    expect(returnsOf(world, other)).to.deep.equal([]);
    await expectSound(world, [one, other], ["pending", "sent"]);
  });
});
