import { expect } from "chai";
import { approveDraft, rejectDraft } from "#src/commands/drafts/drafts.ts";
import { first, send } from "#test/processes/sendSoundness.ts";
import { cause, createSendWorld, identityId, refusal, type SendWorld, workspaceId } from "#test/processes/sendWorld.ts";

describe("the count of answers that no person approved [d13 loop guard]", () => {
  /** Limits the answers to an address to this number in an hour. */
  function limit({ node }: SendWorld, count: number): void {
    Object.assign(node.settings, { autoAnswers: [{ count, seconds: 3_600 }] });
  }
  const counted = ({ log }: SendWorld): string[] =>
    log.all.filter(({ type }) => type === "AddressAnswered").map(({ data }) => data.by as string);

  /** Returns the categories of the streams that a node reads while it works. */
  async function readsOf({ node: { store } }: SendWorld, work: () => Promise<unknown>): Promise<string[]> {
    const read: string[] = [];
    const { readPage, readLast } = store;
    const noting =
      <Rest extends unknown[], T>(reading: (stream: string, ...rest: Rest) => T) =>
      (stream: string, ...rest: Rest): T => {
        read.push(stream.slice(0, stream.indexOf("-")));
        return reading(stream, ...rest);
      };
    Object.assign(store, { readPage: noting(readPage), readLast: noting(readLast) });
    await work().finally(() => Object.assign(store, { readPage, readLast }));
    return read.sort();
  }

  /** Answers the newest mail by key; returns what the node read for it. */
  async function answer(world: SendWorld, isApproved: boolean): Promise<string[]> {
    const draftId = await world.submit();
    const reads = await readsOf(world, async () => {
      if (isApproved) await approveDraft(world.node, { workspaceId, draftId, ifVersion: null }, cause);
      await send(world, draftId);
    });
    await world.run();
    expect((await world.state.draft(draftId)).status).to.equal("sent");
    return reads;
  }

  for (const isApproved of [true, false])
    it(`a key's send of a draft that ${isApproved ? "a key approved" : "nobody decided about"} is judged by cached states, and reads no count`, async () => {
      const world = await createSendWorld();
      limit(world, 10);
      await answer(world, isApproved);
      await world.advance(1_000);
      await world.acknowledge(2, [first]);
      await world.drain();
      await world.node.inboxes.load(identityId);
      const reads = await answer(world, isApproved);
      for (const category of ["answeredAddress", "inbox", "thread"]) expect(reads).to.not.include(category);
      expect(counted(world)).to.deep.equal(["key", "key"]);
    });

  it("an approval by key that is refused is not counted", async () => {
    const world = await createSendWorld();
    limit(world, 1);
    const draftId = await world.submit();
    const approve = (ifVersion: number | null) =>
      refusal(approveDraft(world.node, { workspaceId, draftId, ifVersion }, cause));
    expect(await approve(7)).to.equal("version_mismatch");
    const changes = { type: "RequestChanges", text: "Say when.", ifVersion: 1, contentSha256: null } as const;
    await world.node.drafts.handle(draftId, { ...changes, tokenSha256: null, requester: "session:ann" }, cause);
    expect(await approve(null)).to.equal("changes_requested");
    await rejectDraft(world.node, { workspaceId, draftId, reason: null }, cause);
    expect(await approve(null)).to.equal("invalid_status");
    expect(counted(world)).to.deep.equal([]);
  });

  it("a draft that another instance counted is not counted again", async () => {
    const world = await createSendWorld();
    limit(world, 1);
    const draftId = await world.submit();
    const other = world.createNode();
    Object.assign(other.settings, world.node.settings);
    await approveDraft(other, { workspaceId, draftId, ifVersion: null }, cause);
    expect(await refusal(send(world, draftId))).to.equal("not refused");
    expect(counted(world)).to.deep.equal(["key"]);
  });
});
