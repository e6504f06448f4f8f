import { expect } from "chai";
import type { DatabaseRole } from "#src/platform/postgres/database.ts";
import type { LaneClaim } from "#src/runtime/work/lane.ts";
import { extendClaims, makeDueLanesReady, makeWaitingLanesReady } from "#src/runtime/work/lanes.ts";
import { wakeLanesOfEndedObstacles } from "#src/runtime/work/setAside.ts";
import { eventually } from "../projections/support.ts";
import { useWorkTable } from "./support.ts";

const now = new Date("2026-01-01T00:00:00Z");
const obstacle = "workspace-1";
/** Neither in ascending nor in descending order of the keys, so that no plan of PostgreSQL returns them in order by chance. */
const keys = ["toy-z", "toy-m", "toy-a", "toy-t"];

/** Two transactions that lock the same lanes in one order never deadlock. */
describe("the locks of lanes that are changed together", () => {
  const work = useWorkTable();

  type Changes = { by: string; lanes: string; change(sql: DatabaseRole, lanes: LaneClaim[]): Promise<unknown> };
  const all: readonly Changes[] = [
    {
      by: "an instance that extends its claims",
      lanes: "state = 'claimed', claim = gen_random_uuid(), holder = 'here', claimed_until = now() + interval '1 hour'",
      change: extendClaims,
    },
    {
      by: "the end of a wait for read models",
      lanes: "state = 'waiting', due_at = 'infinity', retry_at = 'infinity'",
      change: makeWaitingLanesReady,
    },
  ];

  /** Returns the lanes in the order of their creation, which is also their order in the table and its indexes. */
  async function lanes(set: string): Promise<LaneClaim[]> {
    for (const key of keys) {
      await work.database.query(
        "insert into work.lanes (process, key, workspace, state, turn) values ('toyRule', $1, 'w', 'ready', 1)",
        [key],
      );
      await work.database.query(`update work.lanes set ${set} where key = $1`, [key]);
    }
    const made = await work.database.query<LaneClaim>(
      "select process, key, workspace, claim, generation from work.lanes",
    );
    return keys.map((key) => made.rows.find((lane) => lane.key === key)!);
  }

  const free = "select key from work.lanes where key <> 'toy-m' order by key for update skip locked";

  for (const { by, lanes: set, change } of all) {
    it(`lanes are locked in the order of their keys by ${by}`, async () => {
      const given = await lanes(set);
      let changing: Promise<unknown> | undefined;
      await work.database.transaction(async (tx) => {
        await tx.query("select from work.lanes where key = 'toy-m' for update");
        changing = change(work.database, given);
        await eventually(work.waitsForLock);
        expect(await work.rows(free)).to.deep.equal([{ key: "toy-t" }, { key: "toy-z" }]);
      });
      await changing;
    });
  }

  const pages: readonly { when: string; lanes: string; bringBack(): Promise<unknown> }[] = [
    {
      when: "their time arrives",
      lanes: `state = 'waiting', due_at = '${now.toISOString()}'`,
      bringBack: () => makeDueLanesReady(work.database, { now, takesOver: false }),
    },
    {
      when: "their obstacle has ended",
      lanes: `state = 'waiting', due_at = 'infinity', obstacles = array['${obstacle}']`,
      bringBack: () => wakeLanesOfEndedObstacles(work.database),
    },
  ];
  for (const { when, lanes: set, bringBack } of pages)
    it(`lanes that others hold are not waited for if ${when}; a later run brings them back`, async () => {
      await lanes(set);
      await work.database.query(
        "insert into work.tags (stream, revision, wake_before) values ($1, 1, nextval('work.places'))",
        [obstacle],
      );
      const ready = "select key from work.lanes where state = 'ready' order by key";
      await work.database.transaction(async (tx) => {
        await tx.query("select from work.lanes where key = 'toy-m' for update");
        let over = false;
        const bringing = bringBack().finally(() => {
          over = true;
        });
        await eventually(async () => over || (await work.waitsForLock()));
        expect(over).to.equal(true);
        await bringing;
        expect(await work.rows(ready)).to.deep.equal([{ key: "toy-a" }, { key: "toy-t" }, { key: "toy-z" }]);
      });
      await bringBack();
      expect(await work.rows(ready)).to.have.length(4);
    });
});
