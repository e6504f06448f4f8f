import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "chai";
import { createStreamServices } from "#src/commands/handle.ts";
import { createStates } from "#src/commands/states/states.ts";
import { createPostgresEventStore } from "#src/eventStore/postgres/store.ts";
import { systemClock, systemIds } from "#src/platform/clock.ts";
import { connectDatabase, type Database } from "#src/platform/postgres/database.ts";
import { postgresSnapshots } from "#src/platform/snapshots/postgresSnapshots.ts";
import { rulesOfStreams } from "#src/platform/snapshots/rules.ts";
import { streams } from "#streams/index.ts";
import { mailReceived } from "#test/support/examples/index.ts";
import { sized } from "#test/support/full.ts";
import { createTestDatabase, type TestDatabase } from "#test/support/postgres.ts";
import { fillInbox, fillThread } from "./longStreams.ts";
import { cause, counted } from "./support.ts";

const { inboxes, threads } = streams;
const log = { info() {}, warn() {} };

describe("a long stream on PostgreSQL", () => {
  let database: TestDatabase;
  let sql: Database;
  let store: ReturnType<typeof createPostgresEventStore>;
  before(async () => {
    database = await createTestDatabase();
    sql = connectDatabase(database);
    store = createPostgresEventStore({ connectionString: database.serviceUrl });
  });
  after(async () => {
    await store.close();
    await sql.close();
    await database.drop();
  });

  /** Makes a service that has just started. */
  function started() {
    const counting = counted(store);
    const states = createStates({
      store: counting,
      snapshots: { kept: postgresSnapshots(sql), rules: rulesOfStreams(), log },
    });
    const services = createStreamServices({ store: counting, states, clock: systemClock, ids: systemIds });
    return { ...services, states, counts: counting.counts };
  }

  /** Waits until the stream's snapshot is stored; snapshots are written in the background. */
  async function untilKept(stream: string): Promise<void> {
    const isKept = async () =>
      (await sql.query("select from work.snapshots where stream = $1", [stream])).rows.length > 0;
    while (!(await isKept())) await sleep(5);
  }

  it("a long inbox takes its next mail without being read", async () => {
    const mails = sized(1_500, 200_000);
    const ids = { identityId: "long", workspaceId: "w", rawSha256: "hash" };
    await fillInbox(database.ownerUrl, inboxes.name("long"), mails);
    const service = started();
    const mail = mailReceived({ number: 1, references: [], ...ids });
    const { revision } = await service.inboxes.handle("long", { type: "ReceiveMail", mail }, cause);
    expect(revision).to.equal(mails);
    expect(service.counts).to.include({ events: 0, lasts: 1 });
  });

  it("a long thread takes a claim from the snapshot that its first load made", async () => {
    const messages = sized(300, 50_000);
    await fillThread(database.ownerUrl, threads.name("long"), { messages, bytes: 15_000 });
    const first = started();
    const { state, revision } = await first.threads.load("long");
    expect([state.newestNumber, revision]).to.deep.equal([messages, 2 * messages]);
    expect(first.counts.events).to.equal(2 * messages + 1);
    // One page, the event that fills it, and the memory that their JSON text needs.
    expect(first.counts.mostBytes).to.be.lessThan(2_500_000);
    await untilKept(threads.name("long"));

    const service = started();
    const claim = { draftId: "d", version: 1, contentSha256: "hash", attemptId: "a", quotaStream: "q" };
    const claimed = await service.threads.handle(
      "long",
      { type: "ClaimSend", claim, basedOnNumber: messages, replaces: null },
      cause,
    );
    expect(claimed.revision).to.equal(2 * messages + 1);
    expect(Object.keys(claimed.state.claims)).to.deep.equal(["d"]);
    // The first page, and the snapshot's event.
    expect(service.counts.events).to.be.lessThan(102);
  });
});
