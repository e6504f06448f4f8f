import { expect } from "chai";
import { Unavailable } from "#src/eventStore/eventStore.ts";
import { windowMs } from "#src/http/framework/rateLimits/countHit.ts";
import { createHitCounter } from "#src/http/framework/rateLimits/hitCounter.ts";
import { createLimits } from "#src/http/framework/rateLimits/rateLimits.ts";
import { createUnauthenticatedLimits } from "#src/http/framework/rateLimits/unauthenticatedLimits.ts";
import type { Route } from "#src/http/framework/route.ts";
import { systemClock } from "#src/platform/clock.ts";
import { connectDatabase } from "#src/platform/postgres/database.ts";
import { newRingKey } from "#src/platform/secrets/keyRing.ts";
import { loadConfig } from "#src/settings/config.ts";
import { type InProcess, startInProcess, type Workspace } from "#test/support/inProcess.ts";
import { createTestDatabase } from "#test/support/postgres.ts";
import { realRoutes } from "#test/support/realRoutes.ts";
import { openTenant } from "#test/support/story/story.ts";
import { serveRoutes } from "./support.ts";

const unknown = "0193a0aa-0000-7000-8000-00000000dead";

describe("rate limits", () => {
  let service: InProcess;
  before(async () => {
    const contract = { READ: "60", WRITE: "20", SEND: "10", NOTIFY: "10", TEST_EMAIL: "10" };
    const ofStrangers = { BAD_KEY: "3", BAD_LINK: "3", DOCUMENT: "3" };
    const rates = Object.entries({ ...contract, ...ofStrangers }).map(([name, rate]) => [`RATE_LIMIT_${name}`, rate]);
    service = await startInProcess({ ...Object.fromEntries(rates), TRUST_PROXY: "1" });
  });
  after(() => service.stop());

  const statuses = async (
    ask: Workspace["ask"],
    line: string,
    { times, ...options }: { times: number } & Parameters<Workspace["ask"]>[1],
  ) => {
    const answers = await Promise.all(Array.from({ length: times }, () => ask(line, options)));
    return answers.map(({ status }) => status);
  };
  const limited = (all: number[]): number => all.filter((status) => status === 429).length;

  it("rate limits are those of the contract unless the operator sets others [d12 60/min]", () => {
    const env = { NODE_ENV: "test", SECRETS_KEYS: newRingKey("test") };
    const { rateLimits } = loadConfig(env);
    expect(rateLimits).to.deep.equal({
      read: 60,
      write: 20,
      send: 10,
      notify: 10,
      test_email: 10,
      auth: undefined,
      bad_key: 60,
      bad_link: 30,
      console: 300,
      document: 120,
    });
    expect(loadConfig({ ...env, RATE_LIMIT_READ: "off" }).rateLimits.read).to.equal("off");
  });

  it("every route is counted in its rate limit class [d12 classes]", () => {
    const classOf = ({ method, path }: Route): string => {
      // The test of a rule is a POST because of its body, but changes nothing.
      if (method === "GET" || path === "/v1/rules/test") return "read";
      if (method === "POST" && path.endsWith("/notify")) return "notify";
      if (method === "POST" && /\/test-(email|notification)$/.test(path)) return "test_email";
      const line = path.replace("/v1/", "").replaceAll(/:\w+/g, "{id}");
      const slow = /^(emails\/(send|reply)|drafts\/\{id\}\/send|billing\/.*|domains\/\{id\}\/verify|api-keys)$/;
      return method === "POST" && slow.test(line) ? "send" : "write";
    };
    const routes = realRoutes();
    expect(routes.length).to.be.greaterThan(40);
    for (const route of routes) {
      expect(`${route.method} ${route.path} ${route.limit}`).to.equal(
        `${route.method} ${route.path} ${classOf(route)}`,
      );
    }
  });

  it("a key's 61st read in a minute is refused, and answers have RateLimit headers [8 read endpoints] [7 429 rate_limited]", async () => {
    const { ask } = await service.workspace();
    const first = await ask("GET /v1/workspaces/me");
    expect(first.headers.get("ratelimit")).to.match(/^"read"; r=59; t=(60|59), "read of all keys"; r=299; t=(60|59)$/);
    expect(first.headers.get("ratelimit-policy")).to.match(
      /^"read"; q=60; w=60; pk=:[\w=]+:, "read of all keys"; q=300; w=60; pk=:[\w=]+:$/,
    );
    expect(first.headers.get("retry-after")).to.equal(null);
    expect(limited(await statuses(ask, "GET /v1/threads", { times: 64 }))).to.equal(5);
    const refused = await ask("GET /v1/drafts");
    const seconds = Number(refused.headers.get("retry-after"));
    expect(seconds).to.be.within(1, 60);
    expect(refused.headers.get("ratelimit")).to.match(/^"read"; r=0; t=\d+$/);
    const { request_id, message, ...body } = refused.json;
    expect([refused.status, body, request_id]).to.deep.equal([
      429,
      { error: "rate_limited" },
      refused.headers.get("x-request-id"),
    ]);
    expect(message).to.contain(`wait ${seconds} s`);
  });

  it("a key may write 20 times and send 10 times a minute, and each class is counted separately [8 write endpoints]", async () => {
    const { ask } = await service.workspace();
    const json = { name: "Renamed" };
    expect(limited(await statuses(ask, "PATCH /v1/workspaces/me", { times: 25, json }))).to.equal(5);
    expect(limited(await statuses(ask, `POST /v1/drafts/${unknown}/send`, { times: 12 }))).to.equal(2);
    expect((await ask("POST /v1/api-keys", { json: { name: "no" } })).status).to.equal(429);
    expect((await ask("GET /v1/workspaces/me")).status).to.equal(200);
  });

  it("reads are counted for each key, notifications for each workspace [8 POST /drafts/{id}/notify] [d0 Rate-limit headers]", async () => {
    const tenant = await service.workspace();
    const other = await tenant.keyOf(["write:drafts", "read:threads"]);
    expect(limited(await statuses(tenant.ask, "GET /v1/threads", { times: 60 }))).to.equal(0);
    expect((await tenant.ask("GET /v1/threads", { key: other })).status).to.equal(200);
    const line = `POST /v1/drafts/${unknown}/notify`;
    expect(await statuses(tenant.ask, line, { times: 5 })).to.deep.equal(Array(5).fill(404));
    expect(limited(await statuses(tenant.ask, line, { times: 7, key: other }))).to.equal(2);
    const stranger = await service.workspace();
    expect((await stranger.ask(line)).status).to.equal(404);
  });

  it("all keys of a workspace together have five times the rate of one key, apart from other workspaces", async () => {
    const tenant = await service.workspace();
    const keys = await Promise.all(Array.from({ length: 6 }, () => tenant.keyOf(["write:workspace"])));
    const json = { name: "Renamed" };
    for (const key of keys.slice(0, 5)) {
      expect(limited(await statuses(tenant.ask, "PATCH /v1/workspaces/me", { times: 20, json, key }))).to.equal(0);
    }
    const refused = await tenant.ask("PATCH /v1/workspaces/me", { json, key: keys[5]! });
    expect([refused.status, refused.json.error]).to.deep.equal([429, "rate_limited"]);
    expect(refused.json.message).to.include("at most 100 requests per minute (class write of all keys)");
    expect(Number(refused.headers.get("retry-after"))).to.be.within(1, 60);
    const stranger = await service.workspace();
    expect((await stranger.ask("PATCH /v1/workspaces/me", { json })).status).to.equal(200);
  });

  it("a key that goes on after its limit takes no requests from the workspace's other keys", async () => {
    const tenant = await service.workspace();
    const [greedy, other] = await Promise.all([1, 2].map(() => tenant.keyOf(["write:workspace"])));
    const json = { name: "Renamed" };
    const line = "PATCH /v1/workspaces/me";
    expect(limited(await statuses(tenant.ask, line, { times: 120, json, key: greedy! }))).to.equal(100);
    expect((await tenant.ask(line, { json, key: other! })).status).to.equal(200);
  });

  it("each call of an MCP tool is counted, and a batch of calls in one request is refused", async () => {
    const tenant = await service.workspace();
    const call = (body: unknown) =>
      fetch(new URL("/mcp", service.url), {
        method: "POST",
        headers: {
          ...{ Authorization: `Bearer ${tenant.key}`, "Content-Type": "application/json" },
          Accept: "application/json, text/event-stream",
        },
        body: JSON.stringify(body),
      });
    const message = (id: number) => ({
      ...{ jsonrpc: "2.0", id, method: "tools/call" },
      params: { name: "list_threads", arguments: {} },
    });
    const batch = await call(Array.from({ length: 100 }, (_, id) => message(id)));
    expect([batch.status, (await batch.json()).error.code]).to.deep.equal([400, -32600]);
    const answers = await Promise.all(Array.from({ length: 64 }, async (_, id) => (await call(message(id))).status));
    expect(limited(answers)).to.equal(5);
    expect(answers.filter((status) => status === 200)).to.have.length(59);
  });

  it("every authenticated request is counted whatever its answer; only 401 takes precedence over 429", async () => {
    const tenant = await service.workspace();
    const narrow = await tenant.keyOf(["read:threads"]);
    const ask = (line: string, options = {}) => tenant.ask(line, { key: narrow, ...options });
    expect((await ask("PATCH /v1/workspaces/me", { json: { name: "x" } })).json.error).to.equal("insufficient_scope");
    expect((await ask("POST /v1/nowhere")).status).to.equal(404);
    const patch = `PATCH /v1/threads/${unknown}`;
    expect(limited(await statuses(ask, patch, { times: 18, json: {} }))).to.equal(0);
    // All 20 are used up: a missing scope is still reported, any other request is refused before its checks.
    expect((await ask("PATCH /v1/workspaces/me", { json: { name: "x" } })).json.error).to.equal("insufficient_scope");
    expect((await ask("POST /v1/nowhere")).json.error).to.equal("rate_limited");
    expect((await ask("POST /v1/nowhere", { key: "svc_live_none" })).json.error).to.equal("unauthorized");
  });

  it("requests without a key are counted by client address", async () => {
    const all = await Promise.all(Array.from({ length: 62 }, () => fetch(`${service.url}/nowhere`)));
    expect(limited(all.map(({ status }) => status))).to.equal(2);
  });

  describe("callers without a valid key", () => {
    const from = (address: string) => ({ "X-Forwarded-For": address });
    const get = (path: string, address: string, headers = {}) =>
      fetch(service.url + path, { headers: { ...from(address), ...headers } });
    const thrice = async (path: string, address: string): Promise<number[]> => {
      const all = await Promise.all(Array.from({ length: 3 }, () => get(path, address)));
      return all.map(({ status }) => status);
    };

    it("requests without a valid key are limited by address, and valid keys from that address are not", async () => {
      const tenant = await service.workspace();
      expect(await thrice("/v1/threads", "192.0.2.1")).to.deep.equal([401, 401, 401]);
      for (const Authorization of ["", "Bearer x", `Bearer svc_live_${"z".repeat(32)}`]) {
        const refused = await get("/v1/threads", "192.0.2.1", { Authorization });
        const { error } = (await refused.json()) as { error: string };
        expect([refused.status, error]).to.deep.equal([429, "rate_limited"]);
        expect(Number(refused.headers.get("retry-after"))).to.be.within(1, 60);
      }
      const headers = from("192.0.2.1");
      for (let n = 0; n < 5; n++) expect((await tenant.ask("GET /v1/threads", { headers })).status).to.equal(200);
      expect((await get("/v1/threads", "192.0.2.2")).status).to.equal(401);
    });

    it("a revoked key gets 401 however often it is used, also at /mcp [7 401 unauthorized]", async () => {
      const tenant = await service.workspace();
      const key = await tenant.keyOf(["read:threads"]);
      const { data } = (await tenant.ask("GET /v1/api-keys")).json;
      const { id } = data.find(({ prefix }: { prefix: string }) => key.startsWith(prefix));
      expect((await tenant.ask(`DELETE /v1/api-keys/${id}`)).status).to.equal(200);
      const headers = { ...from("192.0.2.7"), Authorization: `Bearer ${key}` };
      for (const line of [...Array(5).fill("GET /v1/threads"), "GET /v1/nowhere", "POST /mcp"]) {
        const { status, json } = await tenant.ask(line, { headers, key: null });
        expect([line, status, json.error]).to.deep.equal([line, 401, "unauthorized"]);
      }
      // These requests were counted like those of any invalid key: a key that never existed is refused now.
      expect((await get("/v1/threads", "192.0.2.7", { Authorization: "Bearer svc_live_none" })).status).to.equal(429);
    });

    it("addresses of one IPv6 /64 share a limit, and the next /64 has its own", async () => {
      expect(await thrice("/v1/threads", "2001:db8:0:1::1")).to.deep.equal([401, 401, 401]);
      expect((await get("/v1/threads", "2001:db8:0:1:ffff::9")).status).to.equal(429);
      expect((await get("/v1/threads", "2001:db8:0:2::1")).status).to.equal(401);
    });

    it("unknown approval links are limited by address, and a valid link is still shown", async () => {
      const tenant = await openTenant(service, {
        approvalChannel: { type: "email", config: { to: "boss@example.com" } },
      });
      const draft = await tenant.draft(await tenant.mail());
      const link = new URL((await draft.approvalMail()).link()).pathname;
      const unknownLink = `/a/${"x".repeat(43)}`;
      expect(await thrice(unknownLink, "192.0.2.3")).to.deep.equal([404, 404, 404]);
      const refused = await get(unknownLink, "192.0.2.3");
      expect([refused.status, refused.headers.get("content-type")]).to.deep.equal([429, "text/html; charset=utf-8"]);
      for (const path of [
        "/a/short",
        unknownLink.replace("/a/", "/l/"),
        "/l/short",
        `${unknownLink}/attachments/1`,
        "/stop/x",
      ])
        expect((await get(path, "192.0.2.3")).status, path).to.equal(429);
      for (let n = 0; n < 5; n++) expect((await get(link, "192.0.2.3")).status).to.equal(200);
    });

    it("requests for the documents are limited by address, and /healthz is not", async () => {
      expect(await thrice("/docs", "192.0.2.4")).to.deep.equal([200, 200, 200]);
      expect((await get("/openapi.json", "192.0.2.4")).status).to.equal(429);
      expect((await get("/openapi.json", "192.0.2.5")).status).to.equal(200);
      expect((await get("/healthz", "192.0.2.4")).status).to.equal(200);
    });

    it("an address over its limit is refused without another statement, and 401 does not need the database", async () => {
      let statements = 0;
      let away = false;
      const counter = {
        async hit() {
          statements += 1;
          if (away) throw new Unavailable("PostgreSQL: connect ECONNREFUSED");
          return { hits: statements, resetsAt: new Date(Date.now() + 60_000) };
        },
      };
      const strangers = createUnauthenticatedLimits({ counter, rates: { bad_key: 2 }, clock: systemClock });
      const toys = await serveRoutes([], { strangers });
      const ask = async () => (await toys.ask("GET /v1/nowhere", { key: "svc_live_none" })).status;
      expect([await ask(), await ask(), await ask(), await ask()]).to.deep.equal([401, 401, 429, 429]);
      expect(statements).to.equal(3);
      await toys.close();
      away = true;
      const others = await serveRoutes([], {
        strangers: createUnauthenticatedLimits({ counter, rates: { bad_key: 1 }, clock: systemClock }),
      });
      expect((await others.ask("GET /v1/nowhere", { key: null })).status).to.equal(401);
      await others.close();
    });
  });

  it("a rate limit starts again when its minute is over by the database's clock", async () => {
    const { ask } = await service.workspace();
    expect(limited(await statuses(ask, "GET /v1/threads", { times: 61 }))).to.equal(1);
    await service.database.query("update work.rate_limits set resets_at = clock_timestamp()");
    const again = await ask("GET /v1/threads");
    expect([again.status, again.headers.get("ratelimit")]).to.satisfy(
      ([status, header]: [number, string]) => status === 200 && header.startsWith(`"read"; r=59;`),
    );
  });

  describe("rate limits in the database", () => {
    const setUp = async () => {
      const testDatabase = await createTestDatabase();
      const databases = [connectDatabase(testDatabase), connectDatabase(testDatabase)];
      const counters = databases.map((database) =>
        createHitCounter({ database, clock: systemClock, windowMs, onError: () => {} }),
      );
      const close = async () => {
        await Promise.all(databases.map((database) => database.close()));
        await testDatabase.drop();
      };
      return { database: databases[0]!, counters, close };
    };

    it("400 simultaneous hits on two keys from two instances all get different numbers", async () => {
      const { counters, close } = await setUp();
      const hits = await Promise.all(
        Array.from({ length: 400 }, async (_, n) => {
          const key = (n >> 1) % 2 === n % 2 ? "a" : "b";
          return { key, hits: (await counters[n % 2]!.hit(key)).hits };
        }),
      );
      await close();
      for (const key of ["a", "b"]) {
        const numbers = hits.filter((hit) => hit.key === key).map((hit) => hit.hits);
        expect(numbers.sort((x, y) => x - y)).to.deep.equal([...Array(200).keys()].map((n) => n + 1));
      }
    });

    it("rows of expired rate limit windows are removed by a later hit", async () => {
      const { database, close } = await setUp();
      let at = 0;
      const counter = createHitCounter({
        database,
        clock: { ...systemClock, monotonic: () => at },
        windowMs,
        onError: () => {},
      });
      await counter.hit("old");
      await database.query("update work.rate_limits set resets_at = now() - interval '2 minutes'");
      at = 61_000;
      await counter.hit("new");
      const left = async () => (await database.query("select key from work.rate_limits")).rows.map(({ key }) => key);
      while ((await left()).length > 1);
      expect(await left()).to.deep.equal(["new"]);
      await close();
    });

    it("an unreachable database refuses requests with 503, and the next request after it returns is answered", async () => {
      let away = true;
      const database = {
        query: async (_: string, values?: readonly unknown[]) => {
          if (away) throw new Unavailable("PostgreSQL: connect ECONNREFUSED");
          const rows = (values![0] as string[]).map((key) => ({ key, hits: 1, remaining_ms: 60_000 }));
          return { rows, rowCount: rows.length } as never;
        },
      };
      const counter = createHitCounter({ database, clock: systemClock, windowMs, onError: () => {} });
      const toys = await serveRoutes([], { limits: createLimits({ counter, rates: { read: 5 } }) });
      const refused = await toys.ask("GET /v1/nowhere");
      expect([refused.status, refused.json.error]).to.deep.equal([503, "unavailable"]);
      away = false;
      expect((await toys.ask("GET /v1/nowhere")).status).to.equal(404);
      await toys.close();
    });
  });
});
