import { createPostgresEventStore } from "#src/eventStore/postgres/store.ts";
import { appendForSure, newEvent, newStream, upTo } from "../contract/support.ts";

// A separate instance: ten writers append `appends` events together, two per append. Prints a line when it begins.
const [connectionString = "", category = "", appends = ""] = process.argv.slice(2);
const store = createPostgresEventStore({ connectionString, timeoutMs: 20_000 });
let left = Number(appends);
await store.head();
process.send?.("begins");
await Promise.all(
  upTo(10).map(async () => {
    const stream = newStream(category);
    let revision = -1;
    while (left > 0) {
      left -= 2;
      const pair = [newEvent({ pid: process.pid }), newEvent({ pid: process.pid })];
      ({ revision } = await appendForSure(store, { stream, revision, events: pair }));
    }
  }),
);
await store.close();
process.disconnect();
