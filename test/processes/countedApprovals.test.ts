import { expect } from "chai";
import { approveDraft } from "#src/commands/drafts/drafts.ts";
import { approveByPerson, editAndApprove } from "#src/commands/drafts/signedInDecisions.ts";
import { sendDirectly } from "#src/commands/emails/directSends.ts";
import type { Cause } from "#src/commands/handle.ts";
import { systemIds } from "#src/platform/clock.ts";
import { draftContent } from "#test/support/draftContent.ts";
import { requireHuman, send } from "./sendSoundness.ts";
import { ann, bob, cause, createSendWorld, identityId, refusal, type SendWorld, workspaceId } from "./sendWorld.ts";

type Approve = (world: SendWorld, draftId: string) => Promise<unknown>;

const approve =
  (who: Cause): Approve =>
  ({ node }, draftId) =>
    approveByPerson(node, { workspaceId, draftId, ifVersion: 1 }, who);
const edit: Approve = ({ node }, draftId) => {
  const changes = { bodyText: "On Friday." };
  return editAndApprove(node, { workspaceId, draftId, ifVersion: 1, changes, threadSubject: "Parcel" }, ann);
};
const approveByKey: Approve = ({ node }, draftId) => approveDraft(node, { workspaceId, draftId, ifVersion: 1 }, cause);

const required = (world: SendWorld, approvalsRequired: number) => world.changeIdentity({ approvalsRequired });

/** Makes the changes after the approval was counted and before it is appended. */
async function whileAppended<T>({ node }: SendWorld, approval: () => Promise<T>, changes: () => Promise<unknown>) {
  const { reached, release } = node.faulty.pause("draft");
  const approving = approval();
  await reached;
  await changes();
  release();
  return approving;
}

async function openDraft() {
  const world = await createSendWorld();
  return { world, draftId: await world.submit() };
}

/** Writes and sends a mail in one call. */
async function writeAndSend(world: SendWorld, draftId: string, by: Cause) {
  const { messageId, number } = (await world.state.thread()).newestWord!;
  const receivedAt = new Date(0).toISOString();
  const basedOn = { messageId, number, receivedAt, answers: { threadId: world.threadId(), revision: 1 } };
  const letter = { content: draftContent(), making: { htmlRemoved: [] }, metadata: null };
  const draft = {
    kind: "send",
    draftId,
    workspaceId,
    identityId,
    threadId: world.threadId(),
    basedOn,
    ...letter,
  } as const;
  return sendDirectly(world.node, draft, by);
}

describe("an approval while its identity is changed to require two", () => {
  for (const [what, by] of Object.entries({ "a person": approve(ann), "a person's edit": edit, "a key": approveByKey }))
    it(`an approval by ${what} counts as one of two if two become required while it is recorded`, async () => {
      const { world, draftId } = await openDraft();
      await whileAppended(
        world,
        () => by(world, draftId),
        () => required(world, 2),
      );
      await world.run();
      expect(await world.state.draft(draftId)).to.deep.include({ status: "pending", approval: null });
      expect((await world.state.draft(draftId)).votes).to.have.length(1);
      expect(world.hands).to.deep.equal([]);
    });

  for (const [what, by] of Object.entries({ "a person": ann, "a key": cause }))
    it(`a mail that ${what} writes and sends stays pending if two approvals become required meanwhile`, async () => {
      const world = await createSendWorld();
      const draftId = systemIds.uuid();
      await whileAppended(
        world,
        () => writeAndSend(world, draftId, by),
        () => required(world, 2),
      );
      await world.run();
      expect(await world.state.draft(draftId)).to.deep.include({ status: "pending", approval: null });
      expect(world.hands).to.deep.equal([]);
    });

  it("a key's send counts as one of three approvals if three become required while it is recorded", async () => {
    const { world, draftId } = await openDraft();
    await required(world, 2);
    await approve(ann)(world, draftId);
    const sending = () => refusal(send(world, draftId));
    expect(await whileAppended(world, sending, () => required(world, 3))).to.equal("approvals_missing");
    expect((await world.state.draft(draftId)).votes).to.have.length(2);
  });
});

describe("a key's send while its identity is changed to require two approvals", () => {
  it("a key's send counts as one of two approvals and leaves no claim and no reserved quota", async () => {
    const { world, draftId } = await openDraft();
    const sending = () => refusal(send(world, draftId));
    expect(await whileAppended(world, sending, () => required(world, 2))).to.equal("approvals_missing");
    await world.run();
    const draft = await world.state.draft(draftId);
    expect([draft.status, draft.votes.length, draft.reservation]).to.deep.equal(["pending", 1, null]);
    expect((await world.state.thread()).claims).to.deep.equal({});
    expect(world.hands).to.deep.equal([]);
  });

  it("a key's send is queued if another setting of the identity changes meanwhile", async () => {
    const { world, draftId } = await openDraft();
    await whileAppended(
      world,
      () => send(world, draftId),
      () => world.changeIdentity({ threadHistoryDepth: 3 }),
    );
    await world.run();
    expect(world.hands).to.have.length(1);
  });
});

describe("an approval by two people and a key", () => {
  it("a removed member's approval is not replaced by a key's if a person has become required", async () => {
    const { world, draftId } = await openDraft();
    await required(world, 3);
    await approveByKey(world, draftId);
    await approve(ann)(world, draftId);
    await required(world, 2);
    await approve(bob)(world, draftId);
    expect((await world.state.draft(draftId)).status).to.equal("approved");
    await requireHuman(world);
    const removed = { type: "RemoveMember", memberId: "member-ann", by: "operator" } as const;
    await world.elsewhere().members.handle(workspaceId, removed, cause);
    await world.advance(10_000);
    await world.run();
    expect((await world.state.draft(draftId)).status).to.equal("pending");
    expect(world.hands).to.deep.equal([]);
  });
});

describe("the second of two approvals", () => {
  it("an approval next to a key's is not enough if a person becomes required while it is recorded", async () => {
    const { world, draftId } = await openDraft();
    await required(world, 2);
    await approveByKey(world, draftId);
    await whileAppended(
      world,
      () => approve(ann)(world, draftId),
      () => requireHuman(world),
    );
    expect((await world.state.draft(draftId)).status).to.equal("pending");
    await approve(bob)(world, draftId);
    await world.advance(10_000);
    await world.run();
    expect(world.hands).to.have.length(1);
  });

  it("an approval is not enough if the first approver is removed as a member while it is recorded", async () => {
    const { world, draftId } = await openDraft();
    await required(world, 2);
    await approve(ann)(world, draftId);
    const removed = { type: "RemoveMember", memberId: "member-ann", by: "operator" } as const;
    const remove = () => world.elsewhere().members.handle(workspaceId, removed, cause);
    await whileAppended(world, () => approve(bob)(world, draftId), remove);
    await world.advance(10_000);
    await world.run();
    expect((await world.state.draft(draftId)).status).to.equal("pending");
    expect(world.hands).to.deep.equal([]);
    // A key's approval is the missing one.
    await approveByKey(world, draftId);
    expect((await world.state.draft(draftId)).status).to.equal("approved");
  });
});
