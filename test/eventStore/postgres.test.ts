import { createPostgresEventStore } from "#src/eventStore/postgres/store.ts";
import { createTestDatabase } from "#test/support/postgres.ts";
import { eventStoreContract } from "./contract.ts";
import { cutConnections } from "./postgres/support.ts";

eventStoreContract("PostgreSQL", async () => {
  const database = await createTestDatabase();
  const open = () => createPostgresEventStore({ connectionString: database.serviceUrl });
  const store = open();
  return {
    store,
    makeAnother: async () => open(),
    interrupt: async () => void (await cutConnections(database)),
    async dispose() {
      await store.close();
      await database.drop();
    },
  };
});
