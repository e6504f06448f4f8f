import { setImmediate as turn } from "node:timers/promises";
import { expect } from "chai";
import Type from "typebox";
import { updateWorkspace } from "#src/commands/workspaces.ts";
import { allScopes, defaultScopes, firstKeyScopes, namedScopes } from "#src/http/framework/keys/scopes.ts";
import { route } from "#src/http/framework/route.ts";
import { Rejected } from "#streams/decider.ts";
import { sized } from "#test/support/full.ts";
import { barrier } from "./framework/support.ts";
import { type Nouns, serveNouns, type Tenant } from "./nounsSupport.ts";

describe("API keys over HTTP", () => {
  let service: Nouns;
  let tenant: Tenant;
  /** The outcome of each parked request; `entered` is called when one begins. */
  let parked: { ends: string[]; entered: () => void };

  before(async () => {
    service = await serveNouns({
      more: (deps) => [
        // Waits until its key is revoked, and then continues as if it were not.
        route(
          "POST /v1/test/parked",
          { scope: "any", limit: "write", summary: "", answers: Type.Unknown() },
          async ({ workspaceId, signal, callId, cause }) => {
            const { ends, entered } = parked;
            const aborted = new Promise((resolve) => signal.addEventListener("abort", resolve));
            entered();
            await aborted;
            const rename = updateWorkspace(deps, { workspaceId, name: callId }, cause);
            ends.push(
              await rename.then(
                () => "appended",
                (error) => (error instanceof Rejected ? error.code : String(error)),
              ),
            );
            return {};
          },
        ),
      ],
    });
    tenant = await service.workspace();
  });
  after(() => service.close());

  const create = async (json: unknown, ask = tenant.ask) => ask("POST /v1/api-keys", { json });
  const eventsOf = async (keyId: string, after: number): Promise<number> => {
    const { rows } = await service.database.query<{ count: number }>(
      "select count(*)::int as count from es.events where metadata->'actor'->>'id' = $1 and position > $2",
      [keyId, after],
    );
    return rows[0]!.count;
  };

  describe("creation of an API key", () => {
    it("a new API key is shown once; lists show only its prefix, and no event contains it [4 POST /v1/api-keys] [4 GET /v1/api-keys] [5 key format] [8 API key body]", async () => {
      const { status, json } = await create({ name: "agent" });
      expect(status).to.equal(200);
      expect(json).to.have.keys("id", "name", "key", "prefix", "scopes", "created_at");
      expect(json.key).to.match(/^svc_live_[0-9A-Za-z]{32}$/);
      expect(json.prefix).to.equal(json.key.slice(0, 13));
      expect(json.scopes).to.have.members(
        allScopes.filter(
          (scope) => !["write:approvals", "write:keys", "read:members", "write:members"].includes(scope),
        ),
      );
      const list = await tenant.ask("GET /v1/api-keys");
      expect(list.text).not.to.contain(json.key);
      expect(list.json.data[0]).to.deep.equal({
        id: json.id,
        name: "agent",
        prefix: json.prefix,
        scopes: json.scopes,
        created_at: json.created_at,
        last_used_at: null,
      });
      const stored = await service.database.query("select * from es.events where stream_id = $1", [
        `apiKey-${json.id}`,
      ]);
      expect(JSON.stringify(stored.rows)).not.to.contain(json.key);
    });

    it("a new key has its maker's scopes by default; write:approvals and write:keys only if they are named [d1 scopes of a new key]", async () => {
      const agent = (await create({ name: "agent" })).json;
      const own = await service.ask("POST /v1/api-keys", { key: agent.key, json: { name: "of an agent" } });
      expect(own.outcome).to.equal("401 insufficient_scope");
      const named = await create({ name: "named", scopes: ["write:keys", "write:approvals", "read:keys"] });
      expect(named.json.scopes).to.have.members(["write:keys", "write:approvals", "read:keys"]);
      const made = await service.ask("POST /v1/api-keys", { key: named.json.key, json: { name: "by a named one" } });
      expect([made.status, made.json.scopes]).to.deep.equal([200, ["read:keys"]]);
      const exceeding = await create({ name: "more", scopes: ["write:approvals"] }, async (line, options) =>
        service.ask(line, { key: (await create({ name: "maker", scopes: ["write:keys"] })).json.key, ...options }),
      );
      expect([exceeding.status, exceeding.json.field]).to.deep.equal([422, "scopes"]);
      expect((await create({ name: "nothing", scopes: [] })).json.scopes).to.deep.equal([]);
    });

    it("a workspace's first key has every scope except those over members [d1 first key]", () => {
      expect(firstKeyScopes).to.deep.equal(allScopes.filter((scope) => !scope.endsWith(":members")));
      expect(allScopes.filter((scope) => !defaultScopes(allScopes).includes(scope))).to.deep.equal(namedScopes);
    });

    it("a key with more scopes than its maker's is refused [d1 scopes of a new key]", async () => {
      const narrow = await service.workspace({ scopes: ["write:keys", "read:keys", "read:threads"] });
      const same = await create({ name: "same" }, narrow.ask);
      expect(same.json.scopes).to.have.members(["read:keys", "read:threads"]);
      const fewer = await create({ name: "fewer", scopes: ["read:threads", "read:threads"] }, narrow.ask);
      expect(fewer.json.scopes).to.deep.equal(["read:threads"]);
      const more = await create({ name: "more", scopes: ["read:threads", "write:emails"] }, narrow.ask);
      expect([more.outcome, more.json.field]).to.deep.equal(["422 invalid_request", "scopes"]);
      expect(more.json.message).to.contain("write:emails");
      const refused = await service.ask("GET /v1/api-keys", { key: fewer.json.key });
      expect(refused.outcome).to.equal("401 insufficient_scope");
    });

    for (const [what, body] of [
      ["no name", {}],
      ["an empty name", { name: "" }],
      ["a number for a name", { name: 1 }],
      ["a name that is too long", { name: "x".repeat(256) }],
      ["a scope that does not exist", { name: "a", scopes: ["write:everything"] }],
      ["an unknown field", { name: "a", key: "svc_live_x" }],
    ] as const) {
      it(`a new API key with ${what} is refused`, async () => {
        const { outcome } = await create(body);
        expect(outcome).to.equal("422 invalid_request");
      });
    }

    it("a workspace has at most 100 live keys, also when asked in parallel; a revoked one makes room", async () => {
      const full = await service.workspace();
      const answers = await Promise.all(Array.from({ length: 120 }, (_, n) => create({ name: `key ${n}` }, full.ask)));
      const made = answers.filter(({ status }) => status === 200);
      expect(made).to.have.length(99);
      for (const { outcome } of answers.filter((answer) => !made.includes(answer))) {
        expect(outcome).to.equal("422 invalid_request");
      }
      expect((await full.ask("GET /v1/api-keys?limit=1")).json.total).to.equal(100);
      await full.ask(`DELETE /v1/api-keys/${made[0]!.json.id}`);
      const two = await Promise.all([create({ name: "one" }, full.ask), create({ name: "two" }, full.ask)]);
      expect(two.map(({ status }) => status)).to.have.members([200, 422]);
    });
  });

  it("an API key shows when it was last used; the time is written at most once a minute", async () => {
    const { json: made } = await create({ name: "used" });
    const lastUse = async () => {
      const { json } = await tenant.ask("GET /v1/api-keys?limit=100");
      return json.data.find(({ id }: { id: string }) => id === made.id).last_used_at;
    };
    await service.ask("GET /v1/workspaces/me", { key: made.key });
    let first = await lastUse();
    while (first === null) first = await lastUse();
    expect(Date.now() - Date.parse(first)).to.be.within(-1000, 60_000);
    await service.database.query("update work.api_key_uses set last_used_at = last_used_at - interval '30 seconds'");
    const moved = await lastUse();
    await service.ask("GET /v1/workspaces/me", { key: made.key });
    await service.ask("GET /v1/workspaces/me", { key: made.key });
    expect(await lastUse()).to.equal(moved);
  });

  it("another workspace's API key is answered like one that does not exist", async () => {
    const other = await service.workspace();
    const unknown = "0193a0aa-0000-7000-8000-00000000dead";
    const answers = await Promise.all(
      [tenant.keyId, unknown, "nonsense"].map((id) => other.ask(`DELETE /v1/api-keys/${id}`)),
    );
    for (const { status, json } of answers) {
      const { request_id: _, ...body } = json;
      expect([status, body]).to.deep.equal([404, { error: "not_found", message: "no such resource" }]);
    }
    expect((await other.ask("GET /v1/api-keys")).json.data.map(({ id }: { id: string }) => id)).to.deep.equal([
      other.keyId,
    ]);
    expect((await tenant.ask("GET /v1/workspaces/me")).status).to.equal(200);
  });

  describe("revocation of an API key", () => {
    it("a key can revoke itself; a revoked key is refused and no longer listed [4 DELETE /v1/api-keys/{id}] [5 keys made and revoked]", async () => {
      const { json: made } = await create({ name: "short-lived", scopes: ["write:keys", "read:workspace"] });
      const own = await service.ask(`DELETE /v1/api-keys/${made.id}`, { key: made.key });
      expect([own.status, own.json]).to.deep.equal([200, { id: made.id, deleted: true }]);
      const refused = await service.ask("GET /v1/workspaces/me", { key: made.key });
      expect(refused.outcome).to.equal("401 unauthorized");
      expect((await tenant.ask(`DELETE /v1/api-keys/${made.id}`)).status).to.equal(404);
      expect((await tenant.ask("GET /v1/api-keys?limit=100")).text).not.to.contain(made.id);
    });

    it("of five parallel requests to revoke one key, one succeeds and the others are answered 404", async () => {
      const { json: made } = await create({ name: "contended" });
      const answers = await Promise.all(Array.from({ length: 5 }, () => tenant.ask(`DELETE /v1/api-keys/${made.id}`)));
      expect(answers.map(({ status }) => status).sort()).to.deep.equal([200, 404, 404, 404, 404]);
    });

    it("a revoked key cannot revoke another key", async () => {
      const { json: victim } = await create({ name: "victim" });
      const { json: revoked } = await create({ name: "revoked", scopes: ["write:keys"] });
      await tenant.ask(`DELETE /v1/api-keys/${revoked.id}`);
      expect((await service.ask(`DELETE /v1/api-keys/${victim.id}`, { key: revoked.key })).status).to.equal(401);
      expect((await service.ask("GET /v1/workspaces/me", { key: victim.key })).status).to.equal(200);
    });

    it("of 200 requests in flight when their key is revoked, none succeeds after the answer to the revocation [4 DELETE /v1/api-keys/{id}]", async () => {
      // Five rounds with --full.
      for (let round = 0; round < sized(2, 5); round++) {
        const { json: made } = await create({ name: `round ${round}` });
        const begun = barrier();
        let waiting = 0;
        parked = {
          ends: [],
          entered: () => {
            waiting += 1;
            if (waiting === 20) begun.open();
          },
        };
        let answered = false;
        const late: number[] = [];
        const requests = Array.from({ length: 200 }, async (_, n) => {
          const asked = { key: made.key };
          const { status } =
            n % 5 === 0
              ? await service.ask("POST /v1/test/parked", asked)
              : n % 5 === 1
                ? await service.ask("GET /v1/api-keys", asked)
                : await service.ask("PATCH /v1/workspaces/me", { ...asked, json: { name: `${round} ${n}` } });
          if (answered) late.push(status);
        });
        await begun.opened;
        let deleted = await tenant.ask(`DELETE /v1/api-keys/${made.id}`);
        // A DELETE waits for the requests in flight; on a busy machine it gives up with 503, and a repeated one finds no key.
        const gone = deleted.status === 503 ? 404 : 200;
        while (deleted.status === 503) deleted = await tenant.ask(`DELETE /v1/api-keys/${made.id}`);
        expect(deleted.status).to.equal(gone);
        const head = await service.store.head();
        // Requests that reached this process before the DELETE's answer are read first.
        await turn();
        answered = true;
        const after = Array.from({ length: 10 }, () =>
          service.ask("PATCH /v1/workspaces/me", { key: made.key, json: { name: "late" } }),
        );
        for (const { status } of await Promise.all(after)) expect(status).to.equal(401);
        await Promise.all(requests);
        expect(late.filter((status) => status !== 401)).to.deep.equal([]);
        expect(parked.ends.filter((end) => end !== "unauthorized")).to.deep.equal([]);
        expect(parked.ends.length).to.be.at.least(20);
        expect(await eventsOf(made.id, head)).to.equal(0);
      }
    });
  });
});
