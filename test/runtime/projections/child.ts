import { appendFileSync } from "node:fs";
import { createPostgresEventStore } from "#src/eventStore/postgres/store.ts";
import { systemClock } from "#src/platform/clock.ts";
import { connectDatabase, inBackground } from "#src/platform/postgres/database.ts";
import { createProjectionRunner } from "#src/runtime/projections/projectionRunner.ts";
import { createProcessRunner } from "#src/runtime/work/runner.ts";
import { accounts, counts, quietLog, toyTables } from "./support.ts";

/**
 * A separate instance, to be killed and suspended: `child.ts projections|processes INSTANCE`. The environment names the database, and the
 * file into which a handler writes its lines.
 */
const { SERVICE_URL: serviceUrl = "", OWNER_URL: ownerUrl = "", LINES: lines = "" } = process.env;
const [, , what, instanceId = ""] = process.argv;

const logger = quietLog();
const store = createPostgresEventStore({ connectionString: serviceUrl, logger });
const database = inBackground(connectDatabase({ serviceUrl, ownerUrl }));
const common = { store, database, logger, instanceId };

if (what === "projections") {
  const projections = [accounts, counts];
  const runner = createProjectionRunner({ ...common, projections, tablesSql: toyTables, batchSize: 20 });
  await runner.start();
} else {
  const toyRule = {
    name: "toyRule",
    categories: ["toy"],
    keyOf: ({ stream }: { stream: string }) => stream,
    on: {
      Happened: async ({ stream, data }: { stream: string; data: { number: number } }) => {
        await new Promise((resolve) => setTimeout(resolve, 2));
        appendFileSync(lines, `${instanceId} ${stream} ${data.number}\n`);
      },
    },
  };
  createProcessRunner({ ...common, clock: systemClock, processes: [toyRule], projected: async () => true }).start();
}
process.stdout.write("running\n");
setInterval(() => {}, 60_000);
