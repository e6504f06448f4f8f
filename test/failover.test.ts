import { randomUUID } from "node:crypto";
import { expect } from "chai";
import pg from "pg";
import { createPostgresEventStore } from "#src/eventStore/postgres/store.ts";
import { createTestDatabase } from "#test/support/postgres.ts";
import { startService } from "#test/support/service.ts";
import { until } from "../scripts/support/client.ts";
import { append, newEvent } from "./runtime/projections/support.ts";

describe("a failover that loses the last event", () => {
  it("an instance that knew an event lost in a failover ends, though the log has grown to the same end since", async () => {
    const database = await createTestDatabase({ readModels: true });
    const service = await startService({ database });
    const other = createPostgresEventStore({ connectionString: database.serviceUrl });
    const owner = new pg.Client({ connectionString: database.ownerUrl });
    try {
      await owner.connect();
      const lost = await append(other, `toy-${randomUUID()}`, newEvent("Happened", { number: 1 }));
      const isRead = "select 1 from work.front where position >= $1";
      await until("the event to be read", async () => (await owner.query(isRead, [lost])).rowCount === 1);
      await owner.query("begin; alter table es.events disable trigger append_only");
      await owner.query("delete from es.events where position = $1", [lost]);
      await owner.query("alter table es.events enable trigger append_only; commit");
      expect(await append(other, `toy-${randomUUID()}`, newEvent("Happened", { number: 2 }))).to.equal(lost);
      expect(await service.ended).to.equal(1);
      expect(service.logs.at(-1)!.msg).to.equal("the event log has lost events that this instance knows, ending");
    } finally {
      await service.stop();
      await other.close();
      await owner.end();
      await database.drop();
    }
  });
});
