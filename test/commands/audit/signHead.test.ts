import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "chai";
import { auditTree } from "#projections/auditTree/projector.ts";
import { readCheckpoint } from "#src/audit/checkpoint.ts";
import { readVerifierKey } from "#src/audit/signedNote.ts";
import { beginEpoch } from "#src/commands/audit/beginEpoch.ts";
import { checkCopies, type GrownTreesDependencies, signGrownTrees } from "#src/commands/audit/signGrownTrees.ts";
import { EmptyTree, HeadContradicted, signHead } from "#src/commands/audit/signHead.ts";
import { createStreamServices } from "#src/commands/handle.ts";
import { readWholeLog } from "#src/eventStore/eventStore.ts";
import { headFiles } from "#src/platform/audit/headFiles.ts";
import { postgresHeads } from "#src/platform/audit/postgresHeads.ts";
import { systemClock, systemIds } from "#src/platform/clock.ts";
import { connectDatabase, type Database } from "#src/platform/postgres/database.ts";
import { seeEveryWorkspace } from "#src/platform/postgres/reads.ts";
import { createKeyRing, newRingKey } from "#src/platform/secrets/keyRing.ts";
import { openNote } from "#test/support/auditReading.ts";
import { operator } from "#test/support/cause.ts";
import { createMemoryEventStore } from "#test/support/memoryEventStore.ts";
import { createTestDatabase, type TestDatabase } from "#test/support/postgres.ts";
import { projectorOn } from "#test/support/projecting.ts";

describe("signing the head of an audit tree", () => {
  let testDatabase: TestDatabase;
  let database: Database;
  let folder: string;
  const keys = newRingKey("a");
  const keyRing = createKeyRing(keys);
  let workspaceId: string;
  let trees = 0;

  before(async () => {
    testDatabase = await createTestDatabase({ readModels: true });
    database = connectDatabase(testDatabase);
    folder = await mkdtemp(join(tmpdir(), "countersign-heads-"));
  });
  after(async () => {
    await database.close();
    await testDatabase.drop();
    await rm(folder, { recursive: true });
  });
  beforeEach(() => {
    trees += 1;
    workspaceId = `0193a0aa-0000-7000-8000-${String(trees).padStart(12, "0")}`;
  });

  /** A log in memory with its audit tree, made anew from its first event. Two worlds of one workspace are two histories of it. */
  async function world() {
    const store = createMemoryEventStore();
    await database.owner.query("delete from read.audit_entries where workspace_id = $1", [workspaceId]);
    await database.owner.query("delete from read.audit_trees where workspace_id = $1", [workspaceId]);
    let projectedTo = 0;
    async function project(): Promise<void> {
      for await (const { events, position } of readWholeLog(store)) {
        const unseen = events.filter((event) => event.position > projectedTo);
        projectedTo = Math.max(projectedTo, position);
        if (unseen.length === 0) continue;
        await database.transaction(async (sql) => {
          await sql.query(seeEveryWorkspace);
          await sql.query("set local search_path = read");
          const { tx, written } = projectorOn(sql);
          await auditTree.project(tx, unseen);
          await written();
        });
      }
    }
    const services = createStreamServices({ store, clock: systemClock, ids: systemIds });
    const deps: GrownTreesDependencies = {
      ...services,
      store,
      reads: database.reads,
      auditHeads: postgresHeads(database, headFiles(folder)),
      keyRing,
      clock: systemClock,
      settings: { publicUrl: "https://mail.example.com" } as never,
      projected: async () => {
        await project();
        return true;
      },
    };
    let renamed = 0;
    return {
      deps,
      store,
      async rename(name: string): Promise<void> {
        await store.append(`workspace-${workspaceId}`, renamed - 1, [
          {
            ...{ type: "WorkspaceRenamed", data: { name }, id: systemIds.uuid(), schemaVersion: 1 },
            metadata: { ...operator(workspaceId), workspaceId, at: "2026-01-01T00:00:00.000Z" },
          },
        ]);
        renamed += 1;
        await project();
      },
      sign: () => signHead(deps, workspaceId),
    };
  }

  it("a head names tree, size and root, and its signature is verified by the recorded public key", async () => {
    const { rename, sign, deps } = await world();
    await rename("one");
    const head = await sign();
    const [key] = await deps.auditHeads.verifierKeys();
    const text = openNote(head.checkpoint, [readVerifierKey(key!.verifierKey)]);
    expect(readCheckpoint(text!)).to.deep.equal({
      origin: `mail.example.com/audit/${workspaceId}/1`,
      size: 1,
      root: head.root,
    });
    expect(openNote(head.checkpoint.replace("\n1\n", "\n2\n"), [readVerifierKey(key!.verifierKey)])).to.equal(
      undefined,
    );
    expect(await readFile(join(folder, `audit-head-${workspaceId}.txt`), "utf8")).to.equal(head.checkpoint);
  });

  it("a tree that has not grown keeps its head; one that has grown gets another", async () => {
    const { rename, sign } = await world();
    await rename("one");
    const first = await sign();
    expect((await sign()).checkpoint).to.equal(first.checkpoint);
    await rename("two");
    expect((await sign()).size).to.equal(2);
  });

  it("a head that already covers the asked event is returned as it is", async () => {
    const { rename, sign, deps } = await world();
    await rename("one");
    const first = await sign();
    await rename("two");
    expect((await signHead(deps, workspaceId, first.position)).size).to.equal(1);
    expect((await signHead(deps, workspaceId, first.position + 1)).size).to.equal(2);
  });

  it("a tree without entries has no head", async () => {
    const { sign } = await world();
    await sign().then(
      () => expect.fail("signed"),
      (error) => expect(error).to.be.instanceOf(EmptyTree),
    );
  });

  it("of instances that sign at once, all return heads of one history, and each size is recorded once", async () => {
    const { rename, sign, deps } = await world();
    await rename("one");
    const heads = await Promise.all([sign(), sign(), sign(), sign()]);
    expect(new Set(heads.map(({ root }) => root.toString("hex"))).size).to.equal(1);
    expect(await deps.auditHeads.list(workspaceId, 10)).to.have.length(1);
  });

  it("a head that another instance signs of a grown tree, while one is being signed, contradicts nothing", async () => {
    const { rename, deps } = await world();
    await rename("one");
    await signHead(deps, workspaceId);
    await rename("two");
    let hasGrown = false;
    const copies = {
      ...deps.auditHeads.copies,
      async read(treeId: string) {
        if (!hasGrown) {
          hasGrown = true;
          await rename("three");
          await signHead(deps, treeId);
        }
        return deps.auditHeads.copies.read(treeId);
      },
    };
    const head = await signHead({ ...deps, auditHeads: { ...deps.auditHeads, copies } }, workspaceId);
    expect(head.size).to.equal(3);
    expect(await deps.auditHeads.contradicted()).not.to.include(workspaceId);
  });

  /** Makes a history of two events, and signs it. Returns its head. */
  async function signedHistory() {
    const { rename, sign } = await world();
    await rename("one");
    await rename("two");
    return sign();
  }

  const contradiction = async (sign: () => Promise<unknown>): Promise<void> => {
    await sign().then(
      () => expect.fail("signed"),
      (error) => expect(error).to.be.instanceOf(HeadContradicted),
    );
  };

  it("a history whose events were changed is not signed, and stays unsigned until a new epoch names the old head", async () => {
    const old = await signedHistory();
    const changed = await world();
    await changed.rename("one");
    await changed.rename("another");
    await changed.rename("three");
    await contradiction(changed.sign);
    expect(await changed.deps.auditHeads.contradicted()).to.include(workspaceId);
    await contradiction(changed.sign);

    const cause = operator(workspaceId);
    const head = await beginEpoch(changed.deps, { treeId: workspaceId, reason: "restored" }, cause);
    expect(head).to.include({ epoch: 2, size: 4 });
    expect(await changed.deps.auditHeads.contradicted()).not.to.include(workspaceId);
    const [begun] = await changed.store.read(`auditEpoch-${workspaceId}`);
    expect(begun!.data).to.deep.equal({
      epoch: 2,
      reason: "restored",
      last: { origin: `mail.example.com/audit/${workspaceId}/1`, size: 2, root: old.root.toString("base64") },
    });
    await changed.rename("four");
    expect((await changed.sign()).size).to.equal(5);
  });

  it("a history whose end was cut is not signed", async () => {
    await signedHistory();
    const cut = await world();
    await cut.rename("one");
    await contradiction(cut.sign);
  });

  it("a database that was put back with its heads contradicts the copy outside it", async () => {
    await signedHistory();
    await database.owner.query("delete from work.audit_heads where tree_id = $1", [workspaceId]);
    await database.owner.query("delete from work.audit_signed_heads where tree_id = $1", [workspaceId]);
    const restored = await world();
    await restored.rename("one");
    await contradiction(restored.sign);
    expect(await restored.deps.auditHeads.contradicted()).to.include(workspaceId);
  });

  /** Runs work of the clock, and returns the errors of this tree. */
  async function errorsOf(
    work: typeof checkCopies | typeof signGrownTrees,
    { deps }: Awaited<ReturnType<typeof world>>,
  ): Promise<unknown[]> {
    const errors: unknown[] = [];
    const onError = (error: unknown, treeId: string) => treeId === workspaceId && errors.push(error);
    await work(deps, { onError, stopping: new AbortController().signal });
    return errors;
  }
  const isContradiction = (error: unknown) => error instanceof HeadContradicted;

  it("a tree that is shorter than its head is found by the clock of heads, though it has not grown", async () => {
    await signedHistory();
    const cut = await world();
    await cut.rename("one");
    expect(
      await errorsOf(signGrownTrees, { ...cut, deps: { ...cut.deps, projected: async () => false } }),
    ).to.deep.equal([]);
    expect(await cut.deps.auditHeads.contradicted()).not.to.include(workspaceId);
    expect((await errorsOf(signGrownTrees, cut)).map(isContradiction)).to.deep.equal([true]);
    expect(await cut.deps.auditHeads.contradicted()).to.include(workspaceId);
  });

  it("a database that was put back is found after a start by the copies of its heads, though no tree has grown", async () => {
    const before = await world();
    await before.rename("one");
    await before.sign();
    const old = (await before.deps.auditHeads.newest(workspaceId))!;
    await before.rename("two");
    await before.sign();
    expect(await errorsOf(checkCopies, before)).to.deep.equal([]);
    const restored = await world();
    await restored.rename("one");
    await database.owner.query("delete from work.audit_heads where tree_id = $1", [workspaceId]);
    await database.owner.query("delete from work.audit_signed_heads where tree_id = $1", [workspaceId]);
    await restored.deps.auditHeads.record({ ...old, verifierKey: "any" }, undefined);
    expect(await errorsOf(signGrownTrees, restored)).to.deep.equal([]);
    expect((await errorsOf(checkCopies, restored)).map(isContradiction)).to.deep.equal([true]);
    expect(await restored.deps.auditHeads.contradicted()).to.include(workspaceId);
  });

  it("a database that is put back to before a new epoch gets an epoch after that one", async () => {
    const first = await world();
    await first.rename("one");
    await first.rename("two");
    await first.sign();
    const second = await world();
    await second.rename("one");
    const cause = operator(workspaceId);
    await beginEpoch(second.deps, { treeId: workspaceId, reason: "restored" }, cause);
    const third = await world();
    await third.rename("one");
    await contradiction(third.sign);
    const head = await beginEpoch(third.deps, { treeId: workspaceId, reason: "restored again" }, cause);
    expect(head).to.include({ epoch: 3, size: 2 });
    const [begun] = await third.store.read(`auditEpoch-${workspaceId}`);
    expect(begun!.data).to.deep.include({ epoch: 3 });
    expect((begun!.data.last as { origin: string }).origin).to.match(/\/2$/);
  });

  it("a new epoch whose entry is not in the tree yet is signed by the clock later", async () => {
    const before = await world();
    await before.rename("one");
    await before.rename("two");
    await before.rename("three");
    await before.sign();
    const cut = await world();
    await cut.rename("one");
    await contradiction(cut.sign);
    const behind = { ...cut.deps, projected: async () => false };
    const named = { treeId: workspaceId, reason: "restored" };
    expect(await beginEpoch(behind, named, operator(workspaceId))).to.equal(undefined);
    await cut.deps.projected(1);
    expect(await errorsOf(signGrownTrees, cut)).to.deep.equal([]);
    expect(await cut.deps.auditHeads.newest(workspaceId)).to.include({ epoch: 2, size: 2, contradictedAt: null });
  });
});
