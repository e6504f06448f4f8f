import { expect } from "chai";
import { auditTree } from "#projections/auditTree/projector.ts";
import { entriesAt, entryEvents, nodesOf, tileOf } from "#projections/auditTree/queries.ts";
import type { Reads } from "#projections/reads.ts";
import { entryOf } from "#src/audit/leaf.ts";
import { foldHashes, hashEntry, rootOf } from "#src/audit/merkle.ts";
import type { Sql } from "#src/platform/postgres/database.ts";
import type { Recorded } from "#streams/event.ts";
import { makeTables, project, unseenTables } from "#test/support/projecting.ts";

const [one, other] = ["0193a0aa-0000-7000-8000-000000000001", "0193a0aa-0000-7000-8000-000000000002"];

const note = (n: number, workspaceId: string | null): Recorded => ({
  type: "WorkspaceRenamed",
  id: `0193a0aa-0000-7000-9000-${String(n).padStart(12, "0")}`,
  stream: `workspace-${workspaceId}`,
  revision: n,
  position: 10 + 3 * n,
  schemaVersion: 1,
  data: { name: `Name ${n}` },
  metadata: {
    workspaceId,
    actor: { kind: "operator", id: "test" },
    correlationId: "c",
    causationId: "c",
    at: "2026-01-01T00:00:00.000Z",
  },
});

const readsOn = (tx: Sql): Reads => ({ of: () => tx }) as unknown as Reads;

describe("the audit tree's read model", () => {
  const unseen = unseenTables();
  const saltKey = async (tx: Sql, id: string): Promise<Buffer> => {
    const { rows } = await tx.query<{ key: Buffer }>("select key from work.audit_salts where tree_id = $1", [id]);
    return rows[0]!.key;
  };

  it("holds the entries of each workspace in the order of the log, and the same root however they were batched", async () => {
    await unseen(async (tx) => {
      const events = Array.from({ length: 1200 }, (_, n) => note(n, n % 5 === 0 ? other : one));
      await makeTables(auditTree, tx);
      for (const [from, to] of [
        [0, 1],
        [1, 300],
        [300, 319],
        [319, 320],
        [320, 1200],
      ] as const)
        await project(auditTree, tx, events.slice(from, to));
      for (const id of [one, other]) {
        const own = events.filter(({ metadata }) => metadata.workspaceId === id);
        const key = await saltKey(tx, id);
        const hashes = own.map((event) => hashEntry(entryOf(event, key).bytes));
        for (const size of [1, 2, 239, 240, ...(id === one ? [255, 256, 257, 511, 512, 960] : [])]) {
          const expected = await rootOf(async (nodes) => {
            return nodes.map(({ level, number }) =>
              foldHashes(hashes.slice(number * 2 ** level, (number + 1) * 2 ** level)),
            );
          }, size);
          const found = await rootOf(nodesOf(readsOn(tx), id), size);
          expect(found.toString("hex"), `${id} ${size}`).to.equal(expected.toString("hex"));
        }
        const at = await entriesAt(readsOn(tx), id, [own[7]!.position, 1]);
        expect([...at]).to.deep.equal([[own[7]!.position, 7]]);
        expect(await entryEvents(readsOn(tx), id, { from: 3, to: 5 })).to.deep.equal(
          [3, 4].map((entry) => {
            const { position, stream, revision } = own[entry]!;
            return { entry, position, stream, revision };
          }),
        );
      }
      const tile = await tileOf(readsOn(tx), one, { level: 1, number: 0, width: 3 });
      expect(tile).to.have.length(96);
    });
  });

  it("events of no workspace are entries of the installation's tree", async () => {
    await unseen(async (tx) => {
      await makeTables(auditTree, tx);
      await project(auditTree, tx, [note(0, null), note(1, one)]);
      const { rows } = await tx.query("select workspace_id::text as id, size from audit_trees order by 1");
      expect(rows).to.deep.equal([
        { id: "00000000-0000-0000-0000-000000000000", size: 1 },
        { id: one, size: 1 },
      ]);
    });
  });
});
