import { randomUUID } from "node:crypto";
import { expect } from "chai";
import pg from "pg";
import { type InProcess, startInProcess, until } from "#test/support/inProcess.ts";
import { startSecondInstance } from "#test/support/secondInstance.ts";

describe("snapshots that other rules made", () => {
  let service: InProcess;
  const clients: pg.Client[] = [];
  const client = async (): Promise<pg.Client> => {
    const connected = new pg.Client(service.urls.ownerUrl);
    await connected.connect();
    clients.push(connected);
    return connected;
  };
  before(async () => {
    // This instance plans nothing, so that the planner's lease is free for the instances under test.
    service = await startInProcess({ ROLES: "projections,api" });
  });
  after(async () => {
    await Promise.all(clients.map((each) => each.end()));
    await service?.stop();
  });

  for (const roles of ["api", "smtp", "processes"]) {
    it(`snapshots of other rules are made again before an instance with the role ${roles} takes work`, async () => {
      const [holder, watcher] = [await client(), await client()];
      const rowsOf = async (sql: string) => (await watcher.query(sql)).rowCount;
      const snapshots = "select 1 from work.snapshots where rules = 'other rules'";
      // A snapshot of a stream that the log does not contain: rebuilding removes it.
      await holder.query(
        `insert into work.snapshots (stream, rules, revision, event_id, state) values ($1, 'other rules', 700, $2, '{}')`,
        [`thread-${randomUUID()}`, randomUUID()],
      );
      await holder.query("begin; select 1 from work.snapshots for update");
      let isStarted = false;
      const starting = startSecondInstance(service.urls, { ROLES: roles }).then((beside) => {
        isStarted = true;
        return beside;
      });
      try {
        const waiting = `select 1 from pg_stat_activity
          where datname = current_database() and cardinality(pg_blocking_pids(pid)) > 0`;
        await until(async () => (await rowsOf(waiting)) === 1);
        expect(isStarted).to.equal(false);
        expect(await rowsOf("select 1 from work.leases where name = 'planning' and expires_at > now()")).to.equal(0);
      } finally {
        await holder.query("rollback");
        await (await starting).stop();
      }
      expect(await rowsOf(snapshots)).to.equal(0);
    });
  }
});
