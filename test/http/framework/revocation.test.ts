import { randomUUID } from "node:crypto";
import { Readable } from "node:stream";
import { expect } from "chai";
import Type from "typebox";
import { createRequestsInFlight } from "#src/http/framework/keys/requestsInFlight.ts";
import { createRevocation } from "#src/http/framework/keys/revocation.ts";
import { reply } from "#src/http/framework/reply.ts";
import { route } from "#src/http/framework/route.ts";
import { systemClock } from "#src/platform/clock.ts";
import { connectDatabase, type Database } from "#src/platform/postgres/database.ts";
import { Rejected } from "#streams/decider.ts";
import { createTestDatabase, type TestDatabase } from "#test/support/postgres.ts";
import { barrier, keyId, serveRoutes, validKey } from "./support.ts";

const Anything = Type.Unknown();

describe("revocation of API keys", () => {
  let created: TestDatabase;
  let database: Database;
  const running: { close(): Promise<void> }[] = [];

  before(async () => {
    created = await createTestDatabase();
    database = connectDatabase(created);
  });
  afterEach(async () => {
    await Promise.all(running.splice(0).map((instance) => instance.close()));
    await database.query("delete from work.revocations");
  });
  after(async () => {
    await database.close();
    await created.drop();
  });

  /**
   * Starts an instance with a separate clock, routes that wait for `gate`, and the DELETE of a key, which waits up to `drainMs` for the
   * key's requests; the default is long enough for a busy machine.
   */
  async function startInstance({ drainMs = 60_000 } = {}) {
    let suspendedMs = 0;
    const clock = { ...systemClock, monotonic: () => performance.now() + suspendedMs };
    const inFlight = createRequestsInFlight();
    const revocation = createRevocation({ database, instanceId: randomUUID(), inFlight, clock });
    const entered = barrier<void>();
    const gate = barrier<void>();
    const seen = { entered: 0, aborted: 0 };
    const common = { limit: "write", summary: "", answers: Anything } as const;
    const routes = [
      route("GET /v1/parked", { ...common, scope: "read:threads" }, async ({ signal }) => {
        seen.entered += 1;
        entered.open();
        signal.addEventListener("abort", () => {
          seen.aborted += 1;
        });
        await Promise.race([gate.opened, new Promise((_, reject) => signal.addEventListener("abort", reject))]);
        return "done";
      }),
      route("GET /v1/stubborn", { ...common, scope: "read:threads" }, async () => {
        seen.entered += 1;
        entered.open();
        await gate.opened;
        return "done";
      }),
      route("GET /v1/quick", { ...common, scope: "read:threads" }, async () => "quick"),
      route("DELETE /v1/keys/:id", { ...common, scope: "write:keys" }, async ({ params, callId }) => {
        if (await revocation.drain(params.id, { exclude: callId, timeoutMs: drainMs })) return "revoked";
        throw new Rejected("unavailable", "requests of this key are still ending", { recorded: true, id: params.id });
      }),
    ];
    await revocation.start();
    const server = await serveRoutes(routes, { inFlight, upToDate: revocation.upToDate });
    let closed: Promise<void> | undefined;
    const close = () => {
      gate.open();
      closed ??= server.close(500).then(() => revocation.stop());
      return closed;
    };
    running.push({ close });
    return {
      ...server,
      close,
      seen,
      entered: entered.opened,
      open: gate.open,
      suspend: (ms: number) => {
        suspendedMs += ms;
      },
    };
  }

  const someKey = "0193a0aa-0000-7000-8000-0000000000cc";

  it("a revocation turns 200 requests in flight into 401 before it answers, and every later one too", async () => {
    const instance = await startInstance();
    const parked = Array.from({ length: 200 }, () => instance.ask("GET /v1/parked"));
    while (instance.seen.entered < 200) await new Promise(setImmediate);
    const deleted = await instance.ask(`DELETE /v1/keys/${keyId}`);
    expect(deleted.json).to.equal("revoked");
    const answers = await Promise.all(parked);
    expect(new Set(answers.map(({ status, json }) => `${status} ${json.error}`))).to.deep.equal(
      new Set(["401 unauthorized"]),
    );
    expect(instance.seen.aborted).to.equal(200);
    const began = instance.seen.entered;
    expect((await instance.ask("GET /v1/parked")).status).to.equal(401);
    expect(instance.seen.entered).to.equal(began);
    expect((await instance.ask(`DELETE /v1/keys/${keyId}`)).status).to.equal(401);
  });

  it("a request with the same X-Request-Id as the DELETE of its key is ended too", async () => {
    const instance = await startInstance();
    const headers = { "X-Request-Id": "same" };
    const parked = instance.ask("GET /v1/parked", { headers });
    await instance.entered;
    expect((await instance.ask(`DELETE /v1/keys/${keyId}`, { headers })).status).to.equal(200);
    expect((await parked).status).to.equal(401);
  });

  it("a revocation is answered 503 if a request of the key does not end, and that request's caller gets 401", async () => {
    const instance = await startInstance({ drainMs: 500 });
    const stubborn = instance.ask("GET /v1/stubborn");
    await instance.entered;
    const deleting = instance.ask(`DELETE /v1/keys/${keyId}`);
    expect((await stubborn).status).to.equal(401);
    const deleted = await deleting;
    expect([deleted.status, deleted.json.recorded]).to.deep.equal([503, true]);
  });

  it("a revocation on one instance ends the key's requests on another one, and waits for them", async () => {
    const [here, there] = [await startInstance(), await startInstance()];
    const parked = there.ask("GET /v1/parked");
    const quiet = there.ask("GET /v1/stubborn");
    while (there.seen.entered < 2) await new Promise(setImmediate);
    const deleting = here.ask(`DELETE /v1/keys/${keyId}`);
    expect((await parked).status).to.equal(401);
    expect((await quiet).status).to.equal(401);
    const first = await Promise.race([
      deleting.then(() => "deleted"),
      new Promise((resolve) => setImmediate(resolve, "waiting")),
    ]);
    expect(first).to.equal("waiting");
    there.open();
    expect((await deleting).status).to.equal(200);
    expect((await there.ask("GET /v1/quick")).status).to.equal(401);
  });

  it("a revocation does not wait for an instance that has stopped", async () => {
    const [here, gone] = [await startInstance(), await startInstance()];
    await gone.close();
    expect((await here.ask(`DELETE /v1/keys/${someKey}`)).status).to.equal(200);
  });

  it("an instance that was suspended reads missed revocations before it answers", async () => {
    const [here, there] = [await startInstance(), await startInstance()];
    const stubborn = there.ask("GET /v1/stubborn");
    await there.entered;
    // The suspended instance has not read this row when it continues.
    await database.query("insert into work.revocations (key_id) values ($1)", [keyId]);
    there.suspend(60_000);
    there.open();
    expect((await stubborn).status).to.equal(401);
    expect((await here.ask(`DELETE /v1/keys/${someKey}`, { key: null })).status).to.equal(401);
  });

  it("two instances on which a key revokes itself at the same time both answer", async () => {
    const [here, there] = [await startInstance(), await startInstance()];
    const answers = await Promise.all([here.ask(`DELETE /v1/keys/${keyId}`), there.ask(`DELETE /v1/keys/${keyId}`)]);
    for (const { status } of answers) expect(status).to.be.oneOf([200, 401]);
    expect(answers.some(({ status }) => status === 200)).to.equal(true);
  });

  it("a revocation cuts off the key's streamed answers", async () => {
    const inFlight = createRequestsInFlight();
    const endless = new Readable({ read() {} });
    const download = { mediaType: "text/plain", description: "" };
    const service = await serveRoutes(
      [
        route("GET /v1/stream", { scope: "read:events", limit: "read", summary: "", answers: download }, async () => {
          endless.push("first");
          return reply({ stream: endless, headers: { "Content-Type": "text/plain" } });
        }),
      ],
      { inFlight },
    );
    running.push(service);
    const streaming = await fetch(`${service.url}/v1/stream`, { headers: { Authorization: `Bearer ${validKey}` } });
    expect(streaming.status).to.equal(200);
    inFlight.revoke(keyId);
    await inFlight.ended(keyId);
    const outcome = await streaming.text().then(
      () => "complete",
      () => "cut off",
    );
    expect(outcome).to.equal("cut off");
  });

  it("a revocation two days old is deleted by a later one", async () => {
    const instance = await startInstance();
    await database.query("insert into work.revocations (key_id, revoked_at) values ('old', now() - interval '2 days')");
    await instance.ask(`DELETE /v1/keys/${someKey}`);
    const { rows } = await database.query("select 1 from work.revocations where key_id = 'old'");
    expect(rows).to.deep.equal([]);
  });
});
