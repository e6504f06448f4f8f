import { createEventStoreDbStore } from "#src/eventStore/eventStoreDb/store.ts";
import { EventStoreDbStandIn } from "#test/support/eventStoreDbStandIn/standIn.ts";
import { eventStoreContract } from "./contract.ts";

eventStoreContract("EventStoreDB, stand-in", async () => {
  const server = await new EventStoreDbStandIn().start();
  const make = () => createEventStoreDbStore({ connectionString: server.url });
  const store = make();
  return {
    store,
    makeAnother: async () => make(),
    interrupt: () => server.restart(),
    async dispose() {
      await store.close();
      server.stop();
    },
  };
});

const realServer = process.env.EVENT_STORE_TEST_URL;

if (realServer) {
  eventStoreContract("EventStoreDB, real server", async () => {
    const make = () => createEventStoreDbStore({ connectionString: realServer, timeoutMs: 30_000 });
    const store = make();
    return { store, makeAnother: async () => make(), dispose: () => store.close() };
  });
} else {
  console.log(
    "EventStoreDB: EVENT_STORE_TEST_URL is not set. NOT tested against a real server, only against the stand-in.",
  );
}
