import { readWholeLog } from "#src/eventStore/eventStore.ts";
import { createPostgresEventStore } from "#src/eventStore/postgres/store.ts";
import type { Bench } from "./bench.ts";
import { measureFill } from "./workspace.ts";

/** Fills all read models of a service from nothing; its start is counted with it. The reference reads the same log in this process. */
export const bench: Bench = {
  size: 4_000,
  unit: "threads, about 15 events each",
  async run(server, size) {
    const { database } = await measureFill(server, { threads: size, workspaces: 1 });
    const store = createPostgresEventStore({ connectionString: database.serviceUrl });
    server.atEnd(() => store.close());
    await server.measure("reference: event merely read", { pid: process.pid, database }, async () => {
      let events = 0;
      for await (const batch of readWholeLog(store)) events += batch.events.length;
      return events;
    });
  },
};
