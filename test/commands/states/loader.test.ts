import { expect } from "chai";
import type { Dependencies } from "#src/commands/dependencies.ts";
import { cachedStates, freshStates, type Loader, tryCachedFirst } from "#src/commands/states/loader.ts";
import { StreamMoved, Unavailable } from "#src/eventStore/eventStore.ts";
import { Rejected } from "#streams/decider.ts";
import { cause, createSendWorld, identityId, type SendWorld, workspaceId } from "#test/processes/sendWorld.ts";

const paused = async ({ workspaces }: Pick<Dependencies, "workspaces">): Promise<boolean> =>
  (await workspaces.load(workspaceId)).state.sendingPaused;

/** Pauses sending through another instance. */
const pause = ({ elsewhere }: SendWorld, sendingPaused = true) =>
  elsewhere().workspaces.handle(workspaceId, { type: "UpdateWorkspace", sendingPaused }, cause);

/** Work that is only done while sending is not paused. */
const unlessPaused = async (loader: Loader): Promise<undefined> => {
  if (await paused(loader)) throw new Rejected("sending_paused", "paused");
  await loader
    .appending()
    .identities.handle(
      identityId,
      { type: "UpdateIdentity", changes: { displayName: crypto.randomUUID() }, mayLoosen: true },
      cause,
    );
  return undefined;
};

describe("a loader", () => {
  let world: SendWorld;
  /** Streams that were read from the node's store. */
  let asked: string[];
  let node: Dependencies;

  beforeEach(async () => {
    world = await createSendWorld();
    const store = world.node.store;
    asked = [];
    const noting =
      <Rest extends unknown[], T>(read: (stream: string, ...rest: Rest) => T) =>
      (stream: string, ...rest: Rest): T => {
        asked.push(stream.slice(0, stream.indexOf("-")));
        return read(stream, ...rest);
      };
    Object.assign(store, { readPage: noting(store.readPage), readLast: noting(store.readLast) });
    node = world.node;
  });

  describe("a loader of fresh states", () => {
    it("a loader of fresh states reads a stream once, however often and by how many callers it is requested", async () => {
      const loader = freshStates(node);
      await Promise.all([loader.workspaces.load(workspaceId), loader.workspaces.load(workspaceId)]);
      await loader.workspaces.load(workspaceId);
      await loader.identities.load(identityId);
      expect(asked).to.deep.equal(["workspace", "identity"]);
    });

    it("a loader of fresh states reads a stream again on request, and continues with the newer state", async () => {
      const loader = freshStates(node);
      expect(await paused(loader)).to.equal(false);
      await pause(world);
      expect(await paused(loader)).to.equal(false);
      expect((await loader.workspaces.fresh(workspaceId)).state.sendingPaused).to.equal(true);
      expect(await paused(loader)).to.equal(true);
    });

    it("a loader of fresh states reads a stream again after a command to it", async () => {
      const loader = freshStates(node);
      await paused(loader);
      await loader.workspaces.handle(workspaceId, { type: "UpdateWorkspace", sendingPaused: true }, cause);
      expect(await paused(loader)).to.equal(true);
    });

    it("a loader of fresh states knows nothing that another loader has read", async () => {
      expect(await paused(freshStates(node))).to.equal(false);
      await pause(world);
      expect(await paused(freshStates(node))).to.equal(true);
    });

    it("a failed read is not remembered by another loader", async () => {
      const failing = { ...node.workspaces, fresh: () => Promise.reject(new Unavailable("away")) };
      const failed = await paused(freshStates({ ...node, workspaces: failing })).catch((error) => error);
      expect(failed).to.be.instanceOf(Unavailable);
      expect(await paused(freshStates(node))).to.equal(false);
    });
  });

  describe("a loader of kept states", () => {
    it("a loader of kept states reads only what this instance does not keep", async () => {
      await node.workspaces.load(workspaceId);
      await node.identities.load(identityId);
      asked = [];
      const loader = cachedStates(node);
      await loader.workspaces.load(workspaceId);
      await loader.identities.fresh(identityId);
      expect(asked).to.deep.equal([]);
      await loader.members.load("another workspace");
      expect(asked).to.deep.equal(["member"]);
    });

    it("a loader of kept states has one state of each stream, though this instance keeps a newer one meanwhile", async () => {
      await node.workspaces.load(workspaceId);
      const loader = cachedStates(node);
      const before = await loader.workspaces.load(workspaceId);
      await node.workspaces.handle(workspaceId, { type: "UpdateWorkspace", sendingPaused: true }, cause);
      expect((await loader.workspaces.fresh(workspaceId)).revision).to.equal(before.revision);
    });

    it("an append is guarded by the state that was judged, though a newer one was kept during the read", async () => {
      let answer: () => void = () => undefined;
      const answered = new Promise<void>((resolve) => {
        answer = resolve;
      });
      const old = await node.workspaces.load(workspaceId);
      await pause(world);
      let kept = 0;
      const slow = {
        ...node.workspaces,
        // The state is cached only from the second call on.
        kept: (id: string) => (kept++ === 0 ? undefined : node.workspaces.kept(id)),
        fresh: () => answered.then(() => old),
      };
      const loader = cachedStates({ ...node, workspaces: slow });
      const first = unlessPaused(loader).catch((error) => error);
      await node.workspaces.load(workspaceId);
      const second = paused(loader);
      answer();
      expect(await second).to.equal(false);
      expect(await first).to.be.instanceOf(StreamMoved);
    });

    it("a loader of kept states appends and refuses nothing, and waits for nothing that needs no guard", async () => {
      const loader = cachedStates(node);
      const command = { type: "UpdateWorkspace", sendingPaused: true } as const;
      const refused = await Promise.allSettled([
        loader.workspaces.handle(workspaceId, command, cause),
        loader.filings.fresh(identityId),
        (async () => loader.requireFresh())(),
      ]);
      expect(refused.map((each) => each.status === "rejected" && (each.reason as Error).name)).to.deep.equal([
        "Unsure",
        "Unsure",
        "Unsure",
      ]);
    });

    it("a loader of kept states reads no more streams than an append can have guards", async () => {
      const loader = cachedStates(node);
      const append = () => unlessPaused(loader).catch(({ name }) => name);
      for (let n = 1; n <= 7; n++) await loader.contacts.load(`contact ${n}`);
      // The workspace is the eighth guarded stream. The stream that is appended to does not count, nor does one that needs no guard.
      for (const load of [() => loader.identities.load(identityId), () => loader.filings.load(identityId)])
        await load();
      expect(await append()).to.equal(undefined);
      await loader.contacts.load("contact 8");
      expect(await append()).to.equal("Unsure");
    });

    it("an append can be guarded by the loaded states of one noun alone", async () => {
      await node.workspaces.load(workspaceId);
      const loader = cachedStates(node);
      await loader.workspaces.load(workspaceId);
      for (let n = 1; n <= 8; n++) await loader.contacts.load(`contact ${n}`);
      await pause(world);
      const rename = (only: "contacts" | "workspaces") =>
        loader
          .appending(only)
          .identities.handle(
            identityId,
            { type: "UpdateIdentity", changes: { displayName: only }, mayLoosen: true },
            cause,
          );
      expect((await rename("contacts")).changed).to.equal(true);
      expect(await rename("workspaces").catch((error) => error)).to.be.instanceOf(StreamMoved);
    });
  });

  describe("a decision by the states that this instance keeps", () => {
    const revision = async () => (await world.elsewhere().identities.load(identityId)).revision;

    it("a decision by kept states appends without a read", async () => {
      await paused(node);
      await node.identities.load(identityId);
      asked = [];
      const before = await revision();
      await tryCachedFirst(node, unlessPaused);
      expect([asked, await revision()]).to.deep.equal([[], before + 1]);
    });

    it("a decision by kept states is made again with fresh ones once any of its streams has moved", async () => {
      await paused(node);
      await node.identities.load(identityId);
      const before = await revision();
      await pause(world);
      const refused = await tryCachedFirst(node, unlessPaused).catch((error) => error);
      expect(refused).to.be.instanceOf(Rejected);
      expect(await revision()).to.equal(before);
    });

    it("a decision by kept states is made again with fresh ones before it refuses", async () => {
      await pause(world);
      await paused(node);
      await pause(world, false);
      const before = await revision();
      await tryCachedFirst(node, unlessPaused);
      expect(await revision()).to.equal(before + 1);
    });

    it("a store that cannot check guards with the append is not given a decision by kept states", async () => {
      await paused(node);
      await pause(world);
      let judgements = 0;
      const inexact = { ...node, store: { ...node.store, guards: false } };
      const refused = await tryCachedFirst(inexact, async (loader) => {
        judgements += 1;
        await unlessPaused(loader);
      }).catch((error) => error);
      expect([judgements, refused instanceof Rejected]).to.deep.equal([1, true]);
    });

    it("a decision is not made again after a failure with an unknown outcome", async () => {
      let judgements = 0;
      const failed = await tryCachedFirst(node, async () => {
        judgements += 1;
        throw new Unavailable("away");
      }).catch((error) => error);
      expect([judgements, failed instanceof Unavailable]).to.deep.equal([1, true]);
    });
  });
});
