import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { expect } from "chai";
import pg from "pg";
import { inFull, itInFull } from "#test/support/full.ts";
import { until } from "#test/support/inProcess.ts";
import { createTestDatabase, type TestDatabase } from "#test/support/postgres.ts";
import { endLeasesOfDead, type SecondInstance, startSecondInstance } from "#test/support/secondInstance.ts";
import { startService, type TestService } from "#test/support/service.ts";
import { type Client, createClient } from "../../../scripts/support/client.ts";

const off = Object.fromEntries(["READ", "WRITE", "SEND", "NOTIFY"].map((name) => [`RATE_LIMIT_${name}`, "off"]));
const keys = { SECRETS_KEYS: `k1:${Buffer.alloc(32, 9).toString("base64")}` };

type Asked = { url: string; smtpPort: number };

describe("two instances on one database, one killed on the way", () => {
  let database: TestDatabase;
  let sql: pg.Client;
  /** Runs in this process, because it is not killed. */
  let one: SecondInstance;
  let apiKey: string;
  const running: { stop(): Promise<void> }[] = [];

  const start = async (env: Record<string, string> = {}): Promise<TestService> => {
    const service = await startService({ database, env: { ...keys, ...off, ...env } });
    running.push(service);
    return service;
  };
  const startHere = async (env: Record<string, string> = {}): Promise<SecondInstance> => {
    const service = await startSecondInstance(database, { ...keys, ...off, ...env });
    running.push(service);
    return service;
  };
  const clientOf = (service: Asked): Client => createClient({ ...service, apiKey });

  before(async () => {
    database = await createTestDatabase({ readModels: true });
    sql = new pg.Client({ connectionString: database.ownerUrl });
    await sql.connect();
    await sql.query(
      "insert into work.snapshots values ('quota-gone', 'rules of before', 700, gen_random_uuid(), '{}', now())",
    );
    one = await startHere({ RATE_LIMIT_READ: "60" });
    apiKey = one.apiKey!;
  });
  after(async () => {
    for (const service of running) await service.stop();
    await sql.end();
    await database.drop();
  });

  it("snapshots made by other rules are deleted when an instance starts [of a stream that is gone]", async () => {
    const { rows } = await sql.query("select stream from work.snapshots");
    expect(rows).to.deep.equal([]);
  });

  it("two instances count a key's requests together, also when one of them is killed [d0 Counters]", async () => {
    const two = await start({ RATE_LIMIT_READ: "60" });
    const asked = async (service: Asked): Promise<number> =>
      clientOf(service)
        .api("GET /v1/threads")
        .then(
          ({ status }) => status,
          () => 0,
        );
    const wave = (n: number) => Array.from({ length: n }, (_, i) => asked(i % 2 === 0 ? one : two));
    const first = await Promise.all(wave(30));
    const second = wave(30);
    await two.kill("SIGKILL");
    if (!inFull) await endLeasesOfDead(sql, one);
    const third = await Promise.all(Array.from({ length: 60 }, () => asked(one)));
    const all = [...first, ...(await Promise.all(second)), ...third];
    const count = (wanted: number) => all.filter((status) => status === wanted).length;
    expect(count(200)).to.be.at.most(60);
    // Only requests that the killed instance counted and did not answer may be missing.
    expect(count(200) + count(0)).to.be.at.least(60);
    expect(count(200) + count(0) + count(429)).to.equal(120);
    const { rows } = await sql.query("select hits from work.rate_limits where key like 'read key %'");
    expect(rows).to.have.length(1);
    expect(rows[0].hits).to.be.within(count(200) + count(429), 120);
    await sql.query("update work.rate_limits set resets_at = now()");
  });

  describe("two instances and an Idempotency-Key", () => {
    let basis: Record<string, string>;
    let two: SecondInstance;

    before(async () => {
      // Replace the instance that has a rate limit.
      await one.stop();
      one = await startHere();
      const client = clientOf(one);
      const domain = (await client.ask("GET /v1/domains")).data.find((each: any) => each.sandbox);
      const identity = await client.ask("POST /v1/identities", {
        ...{ domain_id: domain.id, local_part: "agent", display_name: "Agent" },
      });
      await client.mail({ from: "ann@customer.example", to: identity.email_address, subject: "Hello", text: "Where?" });
      await until(async () => (await client.ask("GET /v1/threads")).total === 1);
      const [thread] = (await client.ask("GET /v1/threads")).data;
      const { messages } = await client.ask(`GET /v1/threads/${thread.id}`);
      basis = { thread_id: thread.id, identity_id: identity.id, based_on_message_id: messages[0].id };
    });

    /** Repeats a POST like a client until it is neither 503 nor in flight; returns its answer. */
    async function answered(service: Asked, { line, key, body }: { line: string; key: string; body: unknown }) {
      for (;;) {
        const answer = await clientOf(service).api(`POST ${line}`, body, { "Idempotency-Key": key });
        // A busy machine may answer 503: the next run continues under the same operation.
        const isUnanswered = answer.status === 503 || answer.body.error === "idempotency_in_flight";
        if (!isUnanswered) return answer;
        await pause(50);
      }
    }
    const count = async (where: string, ...values: string[]): Promise<number> =>
      Number((await sql.query(`select count(*) from es.events where ${where}`, values)).rows[0].count);
    const ofOperation = `metadata->>'operation' like (select operation from work.idempotency_keys where key = $1) || '/%'`;

    it("simultaneous POSTs with one Idempotency-Key at two instances make one draft, and one API key", async () => {
      two = await startHere();
      for (const [line, body, type] of [
        ["/v1/drafts", { ...basis, body_text: "Here." }, "DraftSubmitted"],
        ["/v1/api-keys", { name: "once" }, "ApiKeyCreated"],
      ] as const) {
        const key = randomUUID();
        const all = await Promise.all(
          Array.from({ length: inFull ? 40 : 20 }, (_, n) => answered(n % 2 === 0 ? one : two, { line, key, body })),
        );
        const [{ status, body: made }] = all as [(typeof all)[0]];
        expect(status).to.be.oneOf([200, 201]);
        for (const answer of all) expect([answer.status, answer.body]).to.deep.equal([status, made]);
        expect(all.filter(({ headers }) => headers.get("idempotency-replayed") === null)).to.have.length(1);
        expect(await count(`type = $2 and ${ofOperation}`, key, type)).to.equal(1);
      }
    });

    /** Requires that another API key may not repeat a request whose answer has a secret. */
    async function expectRefusedToOtherKey(line: string, key: string, body: unknown): Promise<void> {
      const { key: other } = await clientOf(one).ask("POST /v1/api-keys", { name: "other", scopes: ["write:keys"] });
      const client = createClient({ ...one, apiKey: other });
      const refused = await client.api(`POST ${line}`, body, { "Idempotency-Key": key });
      expect([refused.status, refused.body.error]).to.deep.equal([422, "idempotency_mismatch"]);
    }

    for (const [what, request, types] of [
      ["a draft", async () => ["/v1/drafts", { ...basis, body_text: "Cut off." }], ["DraftSubmitted"]],
      [
        "an API key, with its secret",
        async () => ["/v1/api-keys", { name: "cut off" }],
        ["ApiKeyCreated", "SlotTaken"],
      ],
      [
        "a send",
        async () => {
          const { id } = await clientOf(one).ask("POST /v1/drafts", { ...basis, body_text: "To be sent." });
          return [`/v1/drafts/${id}/send`, undefined];
        },
        ["DraftQueued", "SendClaimed", "QuotaReserved"],
      ],
    ] as [string, () => Promise<[string, unknown]>, string[]][]) {
      (what === "a send" ? it : itInFull)(
        `${what} is made once by a POST whose instance was killed before it recorded its answer`,
        async () => {
          const [line, body] = await request();
          const doomed = await start({ CRASH_AT: "http:effect-done" });
          const key = randomUUID();
          const lost = await answered(doomed, { line, key, body }).catch(() => undefined);
          expect(lost).to.equal(undefined);
          if (!inFull) await endLeasesOfDead(sql, one, two);
          const early = await clientOf(one).api(`POST ${line}`, body, { "Idempotency-Key": key });
          expect(early.body.error).to.equal("idempotency_in_flight");
          // The lease of the killed instance expires.
          await sql.query("update work.idempotency_keys set owned_until = now() where key = $1", [key]);
          if (line === "/v1/api-keys") await expectRefusedToOtherKey(line, key, body);
          const all = await Promise.all(
            Array.from({ length: 10 }, (_, n) => answered(n % 2 === 0 ? one : two, { line, key, body })),
          );
          const [{ status, body: made }] = all as [(typeof all)[0]];
          expect(status).to.be.oneOf([200, 201, 202]);
          for (const answer of all) expect([answer.status, answer.body]).to.deep.equal([status, made]);
          for (const type of types) expect(await count(`type = $2 and ${ofOperation}`, key, type), type).to.equal(1);
          if (made.key) {
            expect((await createClient({ ...one, apiKey: made.key }).api("GET /v1/workspaces/me")).status).to.equal(
              200,
            );
          }
          if (status === 202) {
            const draft = () => clientOf(one).ask(`GET /v1/drafts/${made.draft_id}`);
            await until(async () => (await draft()).status === "sent", 60_000);
            const mails = (await clientOf(one).outbox()).filter(({ text }) => text.includes("To be sent."));
            expect(mails).to.have.length(1);
          }
        },
      );
    }
  });
});
