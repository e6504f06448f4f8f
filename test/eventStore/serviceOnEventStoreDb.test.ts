import { randomUUID } from "node:crypto";
import { status } from "@grpc/grpc-js";
import { expect } from "chai";
import { pino } from "pino";
import { projections } from "#projections/index.ts";
import { createApiKey } from "#src/commands/apiKeys.ts";
import { createWorkspace } from "#src/commands/workspaces.ts";
import { type Composition, compose } from "#src/compose.ts";
import { allScopes } from "#src/http/framework/keys/scopes.ts";
import { postgresBlobs } from "#src/platform/blobs/postgresBlobs.ts";
import { postgresSweep } from "#src/platform/blobs/postgresSweep.ts";
import { sweepBlobs } from "#src/platform/blobs/sweep.ts";
import { tablesFile } from "#src/runtime/projections/projectionTables.ts";
import { rebuild } from "#src/runtime/projections/rebuild.ts";
import { verify } from "#src/runtime/projections/verify.ts";
import { loadConfig } from "#src/settings/config.ts";
import type { Recorded } from "#streams/event.ts";
import { operator } from "#test/support/cause.ts";
import { EventStoreDbStandIn } from "#test/support/eventStoreDbStandIn/standIn.ts";
import { inFull, itInFull } from "#test/support/full.ts";
import { createTestDatabase, type TestDatabase } from "#test/support/postgres.ts";
import { knownAddress, type SecondInstance, startSecondInstance } from "#test/support/secondInstance.ts";
import { approvalLink, type Client, createClient, type OutboxMail, until } from "../../scripts/support/client.ts";

const customer = "ada@customer.example";

/** The service on an event log in EventStoreDB, and a second set of the same parts for the test to read with. */
class World {
  database!: TestDatabase;
  service!: SecondInstance;
  /** Lines that the service logs. */
  readonly lines: string[] = [];
  composition!: Composition;
  client!: Client;
  workspaceId!: string;
  readonly #env: Record<string, string>;

  constructor(eventStoreUrl: string) {
    this.#env = {
      EVENT_STORE_URL: eventStoreUrl,
      SECRETS_KEYS: `k1:${Buffer.alloc(32, 7).toString("base64")}`,
      NOTIFY_THROTTLE_SECONDS: "0",
      ...Object.fromEntries(["READ", "WRITE", "SEND", "NOTIFY"].map((name) => [`RATE_LIMIT_${name}`, "off"])),
    };
  }

  async open(): Promise<this> {
    this.database = await createTestDatabase({ readModels: true });
    const urls = { DATABASE_URL: this.database.serviceUrl, DATABASE_OWNER_URL: this.database.ownerUrl };
    const config = loadConfig({ NODE_ENV: "test", ...this.#env, ...urls });
    this.composition = compose(config, this.database, { logger: pino({ level: "silent" }) });
    await this.startService();
    const { deps } = this.composition;
    const workspace = { name: "Test", plan: "agency", betaOverride: true } as const;
    this.workspaceId = (await createWorkspace(deps, workspace, operator())).workspaceId;
    this.client = await this.clientWithNewKey();
    return this;
  }

  async startService(): Promise<void> {
    const settings = { ...this.#env, ...(await knownAddress()), LOG_LEVEL: "info" };
    this.service = await startSecondInstance(this.database, settings, { log: (line) => this.lines.push(line) });
    if (this.client) this.client = createClient({ ...this.service, apiKey: this.#apiKey });
  }

  #apiKey = "";
  async clientWithNewKey(): Promise<Client> {
    const wish = { workspaceId: this.workspaceId, name: "test key", scopes: allScopes };
    const { key, position } = await createApiKey(this.composition.deps, wish, operator(this.workspaceId));
    if (!(await this.composition.deps.projected(position))) throw new Error("the key is not known in time");
    this.#apiKey ||= key;
    return createClient({ ...this.service, apiKey: key });
  }

  /** Returns the position that each read model and each process reports. */
  async checkpoints(): Promise<Map<string, number>> {
    const { rows } = await this.composition.database.query<{ name: string; position: number }>(
      "select name, position from work.checkpoints union all select name, planned from work.planned",
    );
    return new Map(rows.map(({ name, position }) => [name, position]));
  }

  async close(): Promise<void> {
    await this.service?.stop();
    await this.composition?.close();
    await this.database?.drop();
  }
}

/** Delivers a customer's question, and submits a draft about it whose approver was asked. */
async function draftAsked(world: World, identity: any, subject = `Order ${randomUUID()}`) {
  const { client } = world;
  await patiently(() => client.mail({ from: customer, to: identity.email_address, subject, text: "Where is it?" }));
  const thread = await until("the thread", async () => {
    const { body } = await client.api("GET /v1/threads?limit=100");
    return body.data?.find((each: any) => each.subject === subject);
  });
  return { thread, subject, ...(await submit(world, identity, thread)) };
}

async function submit({ client }: World, identity: any, { id }: { id: string }) {
  const { messages } = await patiently(() => client.ask(`GET /v1/threads/${id}`));
  const newest = messages.findLast((message: any) => message.direction === "inbound");
  const text = `Here it is: ${randomUUID()}`;
  // A submission that was answered 503 may have been recorded: repeated under its key, it makes no second draft.
  const key = { "idempotency-key": randomUUID() };
  const about = { thread_id: id, identity_id: identity.id, based_on_message_id: newest.id, body_text: text };
  const draft = await patiently(() => client.ask("POST /v1/drafts", about, key));
  const asking = await until("the approval mail", async () =>
    (await outbox(client)).find((mail) => mail.to.includes("approver@example.com") && mail.text.includes(text)),
  );
  return { draft, asking, text };
}

const outbox = (client: Client): Promise<OutboxMail[]> => client.outbox();

const sentCopies = async (client: Client, text: string): Promise<number> =>
  (await outbox(client)).filter((mail) => mail.to.includes(customer) && mail.text.includes(text)).length;

/** Waits until the draft has the wanted status. Otherwise fails with the history of the draft and its attempts. */
async function reaches(world: World, { id, timeoutMs }: { id: string; timeoutMs?: number }, wanted: string) {
  const look = async () => (await world.client.api(`GET /v1/drafts/${id}`)).body.status === wanted;
  await until(`draft ${id} to be ${wanted}`, look, timeoutMs).catch(async (error: Error) => {
    const { store } = world.composition;
    const draft: readonly Recorded[] = await store.read(`draft-${id}`);
    const attempts = new Set(draft.flatMap(({ data }) => (data.attemptId as string | undefined) ?? []));
    const deliveries = await Promise.all([...attempts].map((attemptId) => store.read(`delivery-${attemptId}`)));
    const told = [...draft, ...deliveries.flat()].map(({ type, metadata }) => `${type} at ${metadata.at}`);
    throw new Error(`${error.message}; recorded: ${told.join(", ")}; the log ends at ${await store.head()}`);
  });
}

/** Repeats a request that is answered with the advice to retry. */
async function patiently<T>(ask: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await ask();
    } catch (error) {
      if (tries === 20 || !/ 503 |451|ECONN|idempotency_in_flight/.test(String(error))) throw error;
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
  }
}

async function expectReadModelsEqualAReplay({ composition }: World): Promise<void> {
  const { store, database } = composition;
  const replay = { store, database, tablesSql: tablesFile, signal: AbortSignal.timeout(300_000) };
  for (const projection of projections) {
    const { differences } = await verify(replay, projection);
    expect(differences, projection.name).to.deep.equal([]);
  }
}

type Log = { url: string; interfere(): void; close(): void };

/** `more`: tests that only this log allows, on the same service. */
function serviceOn(name: string, open: () => Promise<Log>, more?: (world: () => World) => void): void {
  describe(`The whole service on ${name}`, () => {
    let log: Log;
    let world: World;
    let identity: any;

    before(async () => {
      log = await open();
      log.interfere();
      world = await new World(log.url).open();
      identity = await world.client.identity();
    });
    after(async () => {
      await world?.close();
      log?.close();
    });

    it("the service sends once what was approved by the link, and stops what is stale or rejected", async () => {
      const first = await draftAsked(world, identity);
      log.interfere();
      await world.client.press(approvalLink(first.asking, "approve"), "approve");
      await reaches(world, first.draft, "sent");
      expect(await sentCopies(world.client, first.text)).to.equal(1);

      const overtaken = await draftAsked(world, identity);
      const { body: thread } = await world.client.api(`GET /v1/threads/${overtaken.thread.id}`);
      await world.client.mail({
        from: customer,
        to: identity.email_address,
        subject: `Re: ${overtaken.subject}`,
        text: "Stop!",
        inReplyTo: thread.messages[0].rfc_message_id,
      });
      log.interfere();
      await world.client.press(approvalLink(overtaken.asking, "approve"), "approve");
      await reaches(world, overtaken.draft, "stale");
      expect(await sentCopies(world.client, overtaken.text)).to.equal(0);

      const unwanted = await draftAsked(world, identity);
      await world.client.press(approvalLink(unwanted.asking, "reject"), "reject", "Too curt.");
      await reaches(world, unwanted.draft, "rejected");
      const history = await world.client.ask(`GET /v1/drafts/${first.draft.id}/history?limit=100`);
      const positions = history.data.map((event: any) => event.position);
      expect(positions).to.deep.equal(positions.toSorted((a: number, b: number) => a - b));
      expect(history.data.map((event: any) => event.type)).to.include.members([
        "DraftSubmitted",
        "DraftApproved",
        "DraftSent",
      ]);
    });

    it("the service never shows a thread without the message that opened it", async () => {
      const { client } = world;
      const identity = await client.identity();
      const ask = `select count(*)::int as threads, count(*) filter (where not exists (
        select from messages where messages.thread_id = threads.id))::int as empty from threads where identity_id = $1`;
      const send = async (number: number): Promise<void> => {
        const mail = {
          from: customer,
          to: identity.email_address,
          subject: `Question ${number}`,
          text: "Where is it?",
        };
        await patiently(() => client.mail(mail));
      };
      const mails = 40;
      const watch = async (): Promise<void> => {
        for (let seen = 0; seen < mails; ) {
          const { rows } = await world.composition.deps.reads.ofAll.query<{ threads: number; empty: number }>(ask, [
            identity.id,
          ]);
          expect(rows[0]!.empty, `empty ones of ${rows[0]!.threads}`).to.equal(0);
          seen = rows[0]!.threads;
        }
      };
      await Promise.all([watch(), ...Array.from({ length: mails }, (_, number) => send(number))]);
    });

    it("the service's read models equal a replay, also after a rebuild", async () => {
      if (inFull) await expectReadModelsEqualAReplay(world);
      const { store, database } = world.composition;
      const replay = { store, database, tablesSql: tablesFile, signal: AbortSignal.timeout(300_000) };
      // In a sample every second read model is rebuilt, so that one comparison covers followed and rebuilt ones.
      for (const projection of projections.filter((_, n) => inFull || n % 2 === 0)) await rebuild(replay, [projection]);
      await draftAsked(world, identity);
      // The read models are compared again after the faults; a sample compares them only then.
      if (inFull || !more) await expectReadModelsEqualAReplay(world);
    });

    it("every checkpoint reaches the end of a log that ends with foreign events", async () => {
      log.interfere();
      const head = await world.composition.store.head();
      await until("everybody at the end", async () => Math.min(...(await world.checkpoints()).values()) >= head);
      expect(await world.composition.deps.projected(head)).to.equal(true);
    });

    it("the service's blob sweep removes what no event in this log names, and nothing else", async () => {
      const { store, database, deps } = world.composition;
      const nobodys = await deps.blobs.put(Buffer.from(randomUUID()));
      await database.owner.query("update work.blobs set touched_at = now() - interval '25 hours'");
      const swept = postgresSweep(database.owner);
      log.interfere();
      expect(await sweepBlobs({ store, blobs: deps.blobs, swept })).to.deep.equal({ blobs: 1, bytes: 36 });
      // Reads through another object, as another process would, because this instance caches new blobs for a moment.
      expect(await postgresBlobs(database).get(nobodys)).to.equal(undefined);
      const [{ id }] = (await world.client.ask("GET /v1/inbound")).data;
      expect((await world.client.api(`GET /v1/inbound/${id}/raw`)).status).to.equal(200);
    });

    itInFull("goes on from its checkpoints after a restart, and repeats nothing", async () => {
      const before = await draftAsked(world, identity);
      await world.client.press(approvalLink(before.asking, "approve"), "approve");
      await reaches(world, before.draft, "sent");
      const mails = (await outbox(world.client)).length;
      const left = await world.checkpoints();
      await world.service.stop();
      log.interfere();
      await world.startService();
      const mail = await draftAsked(world, identity);
      await world.client.press(approvalLink(mail.asking, "approve"), "approve");
      await reaches(world, mail.draft, "sent");
      expect(await sentCopies(world.client, before.text)).to.equal(1);
      expect((await outbox(world.client)).length, "one approval mail and one reply more").to.equal(mails + 2);
      for (const [who, position] of await world.checkpoints()) expect(position, who).to.be.at.least(left.get(who)!);
      expect(world.lines.join("")).not.to.include("not the one that was read before");
    });

    it("the service appends nothing for an API key once its DELETE has answered", async () => {
      const doomed = await world.clientWithNewKey();
      const { data } = await world.client.ask("GET /v1/api-keys?limit=100");
      const keyId: string = data.at(-1).created_at > data[0].created_at ? data.at(-1).id : data[0].id;
      let answered = false;
      let inUse = 0;
      const writer = async (n: number): Promise<number> => {
        for (let written = 0; ; written++, inUse++) {
          // The answer to a request in progress may arrive after the answer to DELETE; its events are checked below.
          const begunLate = answered;
          const { status: code } = await doomed.api(`PATCH /v1/identities/${identity.id}`, {
            display_name: `${n} ${written}`,
          });
          if (code === 401) return written;
          expect(begunLate && code < 300, "an answer after the key was gone").to.equal(false);
        }
      };
      const writers = Array.from({ length: 8 }, (_, n) => writer(n));
      await until("the key to be in use", async () => inUse >= writers.length);
      const { status: code, body } = await world.client.api(`DELETE /v1/api-keys/${keyId}`);
      answered = true;
      const head = await world.composition.store.head();
      // 503 means that a request under the key did not end in time on a busy machine. The key is revoked nevertheless.
      expect(code === 503 ? body.recorded : code, JSON.stringify(body)).to.be.oneOf([200, 204, true]);
      const written = (await Promise.all(writers)).reduce((a, b) => a + b);
      expect(written, "the key was in use").to.be.greaterThan(0);
      const later: string[] = [];
      const end = await world.composition.store.head();
      const { signal } = new AbortController();
      if (end > head)
        for await (const batch of world.composition.store.subscribe({ after: head, signal })) {
          later.push(...batch.events.filter(({ metadata }) => metadata.actor.id === keyId).map(({ type }) => type));
          if (batch.position >= end) break;
        }
      expect(later).to.deep.equal([]);
    });

    more?.(() => world);
  });
}

const server = new EventStoreDbStandIn();
async function openStandIn(): Promise<Log> {
  await server.start();
  return {
    url: server.url,
    interfere() {
      server.writeForeign(3);
      server.writeForeign(2, "draft-ofAnotherApplication");
      server.writeForeign(40, "$stats-127.0.0.1:2113");
    },
    close: () => server.stop(),
  };
}
serviceOn("EventStoreDB, stand-in", openStandIn, (world) => inTrouble(server, world));

const realServer = process.env.EVENT_STORE_TEST_URL;
if (realServer) {
  serviceOn("EventStoreDB, real server", async () => ({ url: realServer, interfere() {}, close() {} }));
} else {
  console.log("EventStoreDB: EVENT_STORE_TEST_URL is not set. The whole service is NOT tested against a real server.");
}

function inTrouble(server: EventStoreDbStandIn, theWorld: () => World): void {
  describe("The whole service on EventStoreDB in trouble", function () {
    this.timeout(400_000);
    let world: World;
    before(() => {
      world = theWorld();
    });

    it("each process of the service has one subscription, which wakes the planner and every read model", async () => {
      await world.client.identity();
      // The service's subscription, and this test's if it has followed the log too.
      expect(server.calls.subscriptions.size).to.be.within(1, 2);
    });

    it("the service loses and repeats nothing while EventStoreDB drops, refuses, forgets to answer and restarts", async () => {
      const identity = await world.client.identity();
      const { appendFaults } = server.calls;
      const troubles = [
        () => server.dropSubscriptions(),
        () => appendFaults.push({ written: false, code: status.UNAVAILABLE }),
        () => appendFaults.push({ written: true, code: status.UNAVAILABLE }),
        () => appendFaults.push({ written: true }),
        () => server.dropSubscriptions(status.ABORTED),
        () => appendFaults.push({ written: false }, { written: true, code: status.INTERNAL }),
        () => void server.restart(),
        () => server.writeForeign(20),
      ];
      let made = 0;
      // Each fault happens a few times (about once in a sample), and then no more: between two faults a busy machine would otherwise make
      // no progress.
      const most = inFull ? 3 * troubles.length : troubles.length + 1;
      // An append that gets no answer takes its caller 5 s. Faults that are armed faster than appends meet them would pile up until every
      // append hangs and no claim is young enough to be used. So the next fault is armed after the last one was met.
      const trouble = setInterval(() => {
        if (appendFaults.length === 0 && made < most) troubles[made++ % troubles.length]!();
      }, 250);
      try {
        const approve = async () => {
          const asked = await draftAsked(world, identity);
          await patiently(async () => {
            const { status: code } = await world.client.press(approvalLink(asked.asking, "approve"), "approve");
            // The page has no button any more: a press that was answered 503 had been recorded.
            if (code === 0 && (await world.client.ask(`GET /v1/drafts/${asked.draft.id}`)).status !== "pending") return;
            if (code !== 200) throw new Error(`the press was answered 503 or ${code}`.replace("503", " 503 "));
          });
          return asked;
        };
        // Repeats rounds until each fault has happened at least once.
        do {
          const all = await Promise.all(Array.from({ length: inFull ? 6 : 3 }, approve));
          for (const { draft } of all) await reaches(world, { ...draft, timeoutMs: 200_000 }, "sent");
          for (const { text } of all) expect(await sentCopies(world.client, text), text).to.equal(1);
        } while (made <= troubles.length);
      } finally {
        clearInterval(trouble);
      }
      await expectReadModelsEqualAReplay(world);
      expect(server.calls.batchAppends, "the client's other way to append").to.equal(0);
    });

    it("the service answers 503 while EventStoreDB is away, names it, and continues when it is back", async () => {
      const { id } = await world.client.identity();
      server.stop();
      const [written, ready] = await Promise.all([
        world.client.api(`PATCH /v1/identities/${id}`, { display_name: "Changed" }),
        fetch(`${world.service.url}/readyz`),
      ]);
      expect(written.status).to.equal(503);
      expect(written.body.error).to.equal("unavailable");
      expect(Number(written.headers.get("retry-after"))).to.be.greaterThan(0);
      expect(((await ready.json()) as { not_ready: string[] }).not_ready).to.include("event_store");
      await server.start();
      await until("ready again", async () => (await fetch(`${world.service.url}/readyz`)).status === 200);
      await patiently(() => world.client.ask(`PATCH /v1/identities/${id}`, { display_name: "Changed" }));
    });
  });
}
