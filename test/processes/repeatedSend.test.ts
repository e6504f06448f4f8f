import { expect } from "chai";
import { approveDraft } from "#src/commands/drafts/drafts.ts";
import { queueSend } from "#src/commands/sends/queueSend.ts";
import { Unavailable } from "#src/eventStore/eventStore.ts";
import { Rejected } from "#streams/decider.ts";
import { draftStream } from "#streams/draft/events.ts";
import { Crashed } from "#test/support/faultyEventStore.ts";
import { cause, createSendWorld, identityId, workspaceId } from "./sendWorld.ts";

const operation = { ...cause, operation: "o1" };
const repetition = { ...operation, repeated: true };

type World = Awaited<ReturnType<typeof createSendWorld>>;
const codeOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => "none",
    (error) => (error instanceof Rejected ? error.code : error.name),
  );
async function refusalOf(work: Promise<unknown>): Promise<Rejected> {
  const error = await work.then(
    () => undefined,
    (refused: unknown) => refused,
  );
  if (error instanceof Rejected) return error;
  throw error ?? new Error("not refused");
}
async function renameIdentity(world: World, displayName: string): Promise<void> {
  const command = { type: "UpdateIdentity", changes: { displayName }, mayLoosen: true } as const;
  await world.node.identities.handle(identityId, command, cause);
}
const approveByKey = (world: World, draftId: string) =>
  approveDraft(world.node, { workspaceId, draftId, ifVersion: null }, cause);
const typesOf = (world: World, type: string) => world.log.all.filter((event) => event.type === type);

/** A send that was cut off and is repeated, as under an Idempotency-Key. */
describe("a repeated send", () => {
  it("a repeated send ends as the first one did, whatever happened since", async () => {
    const world = await createSendWorld();
    const draftId = await world.submit();
    const first = await queueSend(world.node, { draftId, kind: "api_key" }, operation);
    await world.run();
    const again = await queueSend(world.createNode(), { draftId, kind: "api_key" }, repetition);
    expect([again.threadId, again.attemptId, again.queuedAt]).to.deep.equal([
      first.threadId,
      first.attemptId,
      typesOf(world, "DraftQueued")[0]!.metadata.at,
    ]);
    expect(world.hands).to.have.length(1);
  });

  it("a repeated send is refused for changed content like the first, although the new version could be sent", async () => {
    const world = await createSendWorld();
    const draftId = await world.submit();
    await approveByKey(world, draftId);
    await renameIdentity(world, "Another");
    const first = await refusalOf(queueSend(world.node, { draftId, kind: "api_key" }, operation));
    await approveByKey(world, draftId);
    const again = await refusalOf(queueSend(world.createNode(), { draftId, kind: "api_key" }, repetition));
    expect([again.code, again.details]).to.deep.equal([first.code, first.details]);
    const { version, contentSha256, status } = await world.state.draft(draftId);
    expect([again.code, again.details, status]).to.deep.equal([
      "content_changed",
      { version: 2, content_sha256: contentSha256 },
      "approved",
    ]);
    expect(version).to.equal(2);
    expect(
      await codeOf(queueSend(world.createNode(), { draftId, kind: "api_key" }, { ...cause, operation: "o2" })),
    ).to.equal("none");
  });

  it("a repeated send continues after the first was cut off once it had made the new version", async () => {
    for (const when of ["before", "after"] as const) {
      const world = await createSendWorld({ tickMs: 500 });
      const draftId = await world.submit();
      await renameIdentity(world, "Another");
      const crashing = world.createNode({ at: when === "before" ? 2 : 1, when, how: "crash" });
      expect(await codeOf(queueSend(crashing, { draftId, kind: "api_key" }, operation))).to.equal("Crashed");
      expect((await world.state.draft(draftId)).version, "the first made the new version").to.equal(2);
      await queueSend(world.createNode(), { draftId, kind: "api_key" }, repetition);
      expect(typesOf(world, "DraftQueued").map(({ data }) => data.version)).to.deep.equal([2]);
    }
  });

  it("a repeated send returns the first one's attempt if that was only slow", async () => {
    const world = await createSendWorld();
    const draftId = await world.submit();
    const node = world.createNode();
    const read = node.store.read.bind(node.store);
    let first: ReturnType<typeof queueSend> | undefined;
    node.store.read = async (...asked) => {
      const page = await read(...asked);
      if (asked[0] === draftStream(draftId)) {
        first ??= queueSend(world.node, { draftId, kind: "api_key" }, operation);
        await first;
      }
      return page;
    };
    const again = await queueSend(node, { draftId, kind: "api_key" }, repetition);
    expect(again.attemptId).to.equal((await first)!.attemptId);
    expect(typesOf(world, "DraftQueued")).to.have.length(1);
  });

  for (const when of ["before", "after"] as const) {
    for (const recovered of [false, true]) {
      const moment = recovered ? "after the recovery" : "at once";
      it(`a repeated send after a crash ${when} any append of the first, ${moment}, queues and sends once`, async () => {
        for (let at = 1, crashed = true; crashed; at++) {
          const world = await createSendWorld({ tickMs: 500 });
          const draftId = await world.submit();
          const doomed = world.createNode({ at, when, how: "crash" });
          crashed = await queueSend(doomed, { draftId, kind: "api_key" }, operation).then(
            () => false,
            (error) => {
              if (!(error instanceof Crashed)) throw error;
              return true;
            },
          );
          if (recovered) await world.run();
          const repeat = () => queueSend(world.createNode(), { draftId, kind: "api_key" }, repetition);
          const again = await repeat().catch(async (error) => {
            // The first send's claim is not undone yet: the answer is 503 and is not stored.
            if (!(error instanceof Unavailable)) throw error;
            expect(recovered, `append ${at}`).to.equal(false);
            await world.run();
            return repeat();
          });
          await world.run();
          const queued = typesOf(world, "DraftQueued");
          expect(queued, `append ${at}`).to.have.length(1);
          expect(again.attemptId).to.equal(queued[0]!.data.attemptId);
          expect((await world.state.draft(draftId)).status).to.equal("sent");
          expect([world.hands.length, await world.state.quota()]).to.deep.equal([1, 1]);
          expect(at).to.be.below(30);
        }
      });
    }
  }
});
