import { expect } from "chai";
import { type Counts, updateCounts } from "#projections/counts.ts";
import { projectorOn, unseenTables } from "#test/support/projecting.ts";
import { seeded } from "../../scripts/support/random.ts";

describe("the counts of a list", () => {
  const unseen = unseenTables();

  it("counts equal counting the rows, after any changes in any batches, without a row of zero", async () => {
    const counts: Counts = { table: "toy_counts", dimensions: ["kind", "done"] };
    const random = seeded(3);
    const any = (of: readonly string[]) => of[Math.floor(random() * of.length)] as string;
    await unseen(async (tx) => {
      await tx.query("create table toy_counts (kind text, done boolean, count int not null, primary key (kind, done))");
      const rows = new Map<number, Record<string, unknown>>();
      for (let batch = 0; batch < 60; batch++) {
        const touched = Array.from({ length: Math.floor(random() * 8) }, () => Math.floor(random() * 30));
        const before = [...new Set(touched)].flatMap((id) =>
          rows.has(id) ? [rows.get(id) as Record<string, unknown>] : [],
        );
        for (const id of touched) {
          if (random() < 0.3) rows.delete(id);
          else rows.set(id, { kind: any(["a", "b", "c"]), done: random() < 0.5 });
        }
        const after = [...new Set(touched)].flatMap((id) =>
          rows.has(id) ? [rows.get(id) as Record<string, unknown>] : [],
        );
        const projector = projectorOn(tx);
        updateCounts(projector.tx, counts, { before, after });
        await projector.written();
        const expected = new Map<string, number>();
        for (const { kind, done } of rows.values())
          expected.set(`${kind} ${done}`, (expected.get(`${kind} ${done}`) ?? 0) + 1);
        const stored = (await tx.query("select kind, done, count from toy_counts")).rows;
        expect(new Map(stored.map(({ kind, done, count }) => [`${kind} ${done}`, count]))).to.deep.equal(expected);
      }
    });
  });
});
