import { expect } from "chai";
import { useWorkTable } from "./support.ts";

describe("the time since which a lane is ready", () => {
  const table = useWorkTable();
  const stamps = async () =>
    (await table.rows("select key, ready_at::text as at from work.lanes order by key")) as {
      key: string;
      at: string;
    }[];

  it("each lane has its own ready time, also within one transaction, which changes only when it is ready again", async () => {
    await table.database.query(
      `insert into work.lanes (process, key, workspace, state)
       select 'toyRule', key, 'w', 'ready' from unnest(array['a', 'b', 'c']) as key`,
    );
    const first = await stamps();
    expect(new Set(first.map(({ at }) => at)).size).to.equal(3);
    await table.database.query("update work.lanes set state = 'waiting' where key <> 'a'");
    await table.database.query("update work.lanes set state = 'ready' where key <> 'c'");
    const then = await stamps();
    expect(then.map(({ at }, index) => at !== first[index]!.at)).to.deep.equal([false, true, false]);
  });
});
