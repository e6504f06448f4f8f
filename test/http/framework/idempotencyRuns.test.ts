import { randomUUID } from "node:crypto";
import { expect } from "chai";
import Type from "typebox";
import type { Cause } from "#src/commands/handle.ts";
import { Unavailable } from "#src/eventStore/eventStore.ts";
import { createIdempotency } from "#src/http/framework/idempotency/idempotency.ts";
import { reply } from "#src/http/framework/reply.ts";
import { route } from "#src/http/framework/route.ts";
import { systemClock } from "#src/platform/clock.ts";
import { connectDatabase, type Database } from "#src/platform/postgres/database.ts";
import { Rejected } from "#streams/decider.ts";
import type { HttpAnswer } from "#test/support/asking.ts";
import { createTestDatabase, type TestDatabase } from "#test/support/postgres.ts";
import { barrier, serveRoutes } from "./support.ts";

type Run = (cause: Cause, n: number) => Promise<unknown>;

/** Each test sets `run`, the handler of both routes. */
describe("runs under an Idempotency-Key", () => {
  let testDatabase: TestDatabase;
  let database: Database;
  let away = false;
  let service: Awaited<ReturnType<typeof serveRoutes>>;
  let run: Run;
  let runs: Cause[];
  const errors: unknown[] = [];

  before(async () => {
    testDatabase = await createTestDatabase();
    database = connectDatabase(testDatabase);
    const query: Database["query"] = (...asked) =>
      away ? Promise.reject(new Unavailable("PostgreSQL: gone")) : database.query(...asked);
    const common = {
      scope: "write:drafts",
      limit: "write",
      summary: "",
      body: Type.Object({ n: Type.Integer() }),
    } as const;
    service = await serveRoutes(
      [
        route("POST /v1/toys", { ...common, answers: Type.Unknown(), bodyLimit: 100 }, async ({ cause, body }) => {
          runs.push(cause);
          return run(cause, body.n);
        }),
        route(
          "POST /v1/secrets",
          { ...common, answers: Type.Unknown(), secretAnswer: true },
          async ({ cause, body, secretOnce }) => {
            runs.push(cause);
            const secret = await secretOnce(() => randomUUID());
            return { secret, ...((await run(cause, body.n)) as object) };
          },
        ),
      ],
      {
        checkResponses: false,
        idempotency: createIdempotency({
          ...{ database: { query }, clock: systemClock, hours: 24 },
          onError: (error) => errors.push(error),
        }),
      },
    );
  });
  beforeEach(() => {
    runs = [];
    run = async (_, n) => ({ n });
  });
  after(async () => {
    await service.close();
    await database.close();
    await testDatabase.drop();
  });

  const post = (key: string, n: unknown = 1): Promise<HttpAnswer> =>
    service.ask("POST /v1/toys", { json: { n }, headers: { "Idempotency-Key": key } });
  const replayed = ({ headers }: HttpAnswer) => headers.get("idempotency-replayed");
  const timeIsUp = (key: string) =>
    database.query("update work.idempotency_keys set owned_until = now() where key = $1", [key]);

  it("a POST repeated during the first run is refused with 409, and gets its answer afterwards", async () => {
    const [key, entered, gate] = [randomUUID(), barrier(), barrier()];
    run = async (_, n) => {
      entered.open();
      await gate.opened;
      return { n };
    };
    const first = post(key);
    await entered.opened;
    const meanwhile = await post(key);
    expect([meanwhile.status, meanwhile.json.error]).to.deep.equal([409, "idempotency_in_flight"]);
    expect(meanwhile.headers.get("retry-after")).to.equal("1");
    expect((await post(key, 2)).json.error).to.equal("idempotency_mismatch");
    gate.open();
    expect((await first).json).to.deep.equal({ n: 1 });
    const after = await post(key);
    expect([after.json, replayed(after), runs.length]).to.deep.equal([{ n: 1 }, "true", 1]);
  });

  it("a run past its lease is taken over under the same operation, and answers with the second run's answer", async () => {
    const [key, entered, gate] = [randomUUID(), barrier(), barrier()];
    run = async ({ repeated }) => {
      if (repeated) return { by: "the second" };
      entered.open();
      await gate.opened;
      return { by: "the first" };
    };
    const slow = post(key);
    await entered.opened;
    await timeIsUp(key);
    const second = await post(key);
    gate.open();
    const first = await slow;
    expect([second.json, first.json]).to.deep.equal([{ by: "the second" }, { by: "the second" }]);
    expect([replayed(second), replayed(first)]).to.deep.equal([null, "true"]);
    expect(runs.map(({ repeated }) => repeated)).to.deep.equal([false, true]);
    expect(runs[0]!.operation).to.be.a("string").and.to.equal(runs[1]!.operation);
  });

  for (const [what, error, status] of [
    ["503", new Unavailable("PostgreSQL: gone"), 503],
    ["500", new TypeError("a bug"), 500],
    ["429", new Rejected("rate_limited", "a moment ago", { retryAfter: 1 }), 429],
    ["401", new Rejected("unauthorized", "revoked meanwhile"), 401],
  ] as const) {
    it(`a run that ended with ${what} is not replayed: the next runs at once under the same operation`, async () => {
      const key = randomUUID();
      run = async () => {
        throw error;
      };
      expect((await post(key)).status).to.equal(status);
      run = async () => ({ fine: true });
      const next = await post(key);
      expect([next.json, replayed(next)]).to.deep.equal([{ fine: true }, null]);
      expect(runs[0]!.operation).to.equal(runs[1]!.operation);
      expect(runs.map(({ repeated }) => repeated)).to.deep.equal([false, true]);
    });
  }

  it("a replayed answer that is not JSON has the same bytes, status and headers", async () => {
    const key = randomUUID();
    run = async () =>
      reply({ bytes: Buffer.from([0, 255, 128]), headers: { "Content-Type": "image/x", ETag: '"7"' }, status: 202 });
    await post(key);
    const again = await fetch(`${service.url}/v1/toys`, {
      method: "POST",
      headers: {
        Authorization: `Bearer svc_live_${"a1B2".repeat(8)}`,
        "Content-Type": "application/json",
        "Idempotency-Key": key,
      },
      body: JSON.stringify({ n: 1 }),
    });
    expect([again.status, again.headers.get("etag"), again.headers.get("content-type")]).to.deep.equal([
      202,
      '"7"',
      "image/x",
    ]);
    expect([...new Uint8Array(await again.arrayBuffer())]).to.deep.equal([0, 255, 128]);
  });

  it("a run does not start without the database, and answers if the database is lost before its answer is stored", async () => {
    const key = randomUUID();
    away = true;
    expect((await post(key)).status).to.equal(503);
    expect(runs).to.have.length(0);
    away = false;
    run = async (_, n) => {
      away = true;
      return { n };
    };
    expect((await post(key)).json).to.deep.equal({ n: 1 });
    away = false;
    expect(errors).to.have.length(1);
    expect((await post(key)).json.error).to.equal("idempotency_in_flight");
    await timeIsUp(key);
    run = async (_, n) => ({ n });
    expect((await post(key)).json).to.deep.equal({ n: 1 });
    expect(runs.map(({ repeated }) => repeated)).to.deep.equal([false, true]);
  });

  it("a body over the limit is refused with 413, and its Idempotency-Key stays unused", async () => {
    const key = randomUUID();
    expect((await post(key, "x".repeat(200))).status).to.equal(413);
    expect((await post(key)).json).to.deep.equal({ n: 1 });
  });

  describe("runs that generate a secret", () => {
    const ask = (key: string): Promise<HttpAnswer> =>
      service.ask("POST /v1/secrets", { json: { n: 1 }, headers: { "Idempotency-Key": key } });
    const kept = async (key: string) =>
      (await database.query<{ secret: Buffer }>("select secret from work.idempotency_keys where key = $1", [key]))
        .rows[0]!.secret;

    it("a generated secret is stored encrypted before the run uses it, and a repetition gets the same one", async () => {
      const key = randomUUID();
      let before: Buffer | undefined;
      run = async () => {
        before = await kept(key);
        throw new Unavailable("PostgreSQL: gone");
      };
      expect((await ask(key)).status).to.equal(503);
      expect(before, "kept before the effect").to.be.instanceOf(Buffer);
      run = async () => ({});
      const answer = await ask(key);
      expect((await kept(key)).equals(before!), "still the same one").to.equal(true);
      expect(before!.toString("latin1")).not.to.contain(answer.json.secret);
      expect(runs.map(({ repeated }) => repeated)).to.deep.equal([false, true]);
    });

    it("a run that is taken over and the run that takes over answer with the same secret", async () => {
      const [key, entered, gate] = [randomUUID(), barrier(), barrier()];
      run = async ({ repeated }) => {
        if (repeated) return {};
        entered.open();
        await gate.opened;
        return {};
      };
      const slow = ask(key);
      await entered.opened;
      const first = await kept(key);
      await timeIsUp(key);
      const second = await ask(key);
      gate.open();
      expect((await slow).json).to.deep.equal(second.json);
      expect((await kept(key)).equals(first)).to.equal(true);
    });

    it("another Idempotency-Key, or an expired record, gets another secret", async () => {
      const key = randomUUID();
      run = async () => ({});
      const first = (await ask(key)).json.secret;
      const other = (await ask(randomUUID())).json.secret;
      await database.query("update work.idempotency_keys set expires_at = now() where key = $1", [key]);
      const next = (await ask(key)).json.secret;
      for (const secret of [first, other, next]) expect(secret).to.be.a("string");
      expect(new Set([first, other, next]).size).to.equal(3);
    });
  });

  it("expired idempotency records are deleted by a later run", async () => {
    let at = 0;
    const idempotency = createIdempotency({
      ...{ database, clock: { ...systemClock, monotonic: () => at }, hours: 1 },
      onError: (error) => errors.push(error),
    });
    const other = await serveRoutes(
      [
        route(
          "POST /v1/toys",
          { scope: "any", limit: "write", summary: "", answers: Type.Unknown() },
          async () => ({}),
        ),
      ],
      { idempotency },
    );
    const ask = (key: string) => other.ask("POST /v1/toys", { headers: { "Idempotency-Key": key } });
    await ask("old");
    await database.query("update work.idempotency_keys set expires_at = now() - interval '2 hours' where key = 'old'");
    at = 601_000;
    await ask("new");
    const left = () => database.query("select 1 from work.idempotency_keys where key = 'old'");
    while ((await left()).rows.length > 0);
    expect((await database.query("select 1 from work.idempotency_keys where key = 'new'")).rows).to.have.length(1);
    await other.close();
  });
});
