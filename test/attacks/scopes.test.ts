import { expect } from "chai";
import { allScopes, type Scope } from "#src/http/framework/keys/scopes.ts";
import type { Route } from "#src/http/framework/route.ts";
import type { Ask } from "#test/support/asking.ts";
import { type InProcess, startInProcess, type Workspace } from "#test/support/inProcess.ts";
import { realRoutes } from "#test/support/realRoutes.ts";
import { rotated } from "#test/support/rotated.ts";

/** The scopes of the contract; the service has more. */
const ofContract = [
  ...["read:threads", "write:drafts", "write:emails", "read:identities", "write:identities"],
  ...["read:rules", "write:rules", "read:billing"],
];

/**
 * Every route with every scope; in a run that is not full, scopes take turns. The routes are those that `allRoutes` declares, so
 * that no route can be left out.
 */
describe("routes × scopes", () => {
  const routes = realRoutes().filter(({ scope }) => scope !== null);
  let service: InProcess;
  let workspace: Workspace;
  let ask: Ask;
  let asked = 0;
  before(async () => {
    service = await startInProcess();
    workspace = await service.workspace();
    ask = workspace.ask;
  });
  after(async () => {
    await service.stop();
    console.log(`      ${asked} requests: ${routes.length} routes, ${allScopes.length} scopes, and keys that are none`);
  });

  /** The line with a missing id. The body has an unknown field, so that an allowed request changes nothing. */
  const lineOf = ({ method, path }: Route) =>
    `${method} ${path.replaceAll(/:\w+/g, "00000000-0000-7000-8000-000000000002")}`;
  const askRoute = (route: Route, key: string | null) => {
    asked += 1;
    return ask(lineOf(route), { key, json: route.method === "GET" ? undefined : { nothing: 1 } });
  };

  /** The scopes to try for each route: those that open it, and some of the others. */
  const scopesOf = new Map(
    routes.map((route, turn) => {
      const opens = (scope: Scope) => route.scope === "any" || route.scope === scope;
      const others = allScopes.filter((scope) => !opens(scope));
      const own = route.scope === "any" ? rotated(allScopes, turn, 3) : allScopes.filter(opens);
      return [route, new Set([...own, ...rotated(others, turn, 2)])];
    }),
  );

  for (const scope of allScopes) {
    const tag = ofContract.includes(scope) ? `[5 ${scope}]` : `[d1 ${scope}]`;
    it(`the scope ${scope} opens its own routes and no other ${tag} [5 scopes] [7 401 insufficient_scope]`, async () => {
      const key = await workspace.keyOf([scope]);
      await service.caughtUp();
      const asks = routes.filter((route) => scopesOf.get(route)?.has(scope));
      expect(asks).to.not.be.empty;
      for (const route of asks) {
        const { status, json } = await askRoute(route, key);
        const opened = route.scope === "any" || route.scope === scope;
        const said = `${scope} at ${lineOf(route)}: ${status} ${json?.error}`;
        if (opened) {
          expect(json?.error, said).not.to.be.oneOf(["unauthorized", "insufficient_scope"]);
          expect(status, said).to.be.below(500);
        } else {
          expect([status, json?.error], said).to.deep.equal([401, "insufficient_scope"]);
          expect(json.message, said).to.contain(route.scope);
        }
      }
    });
  }

  it("every scope of the contract opens at least one route [5 scopes]", () => {
    const needed = new Set(routes.map(({ scope }) => scope));
    expect(ofContract.filter((scope) => !needed.has(scope as Scope))).to.deep.equal([]);
  });

  it("a key with all scopes except a route's own does not open the route [5 scopes]", async () => {
    const keys = new Map<string, string>();
    for (const scope of allScopes) keys.set(scope, await workspace.keyOf(allScopes.filter((each) => each !== scope)));
    await service.caughtUp();
    for (const route of routes.filter((each) => each.scope !== "any")) {
      const { status, json } = await askRoute(route, keys.get(route.scope as string) as string);
      expect([status, json?.error], lineOf(route)).to.deep.equal([401, "insufficient_scope"]);
    }
  });

  it("no route opens for a missing, malformed or revoked key [5 Authorization header] [5 401 unauthorized] [7 401 unauthorized]", async () => {
    const { key: revoked, id } = (await ask("POST /v1/api-keys", { json: { name: "dead" } })).json;
    await ask(`DELETE /v1/api-keys/${id}`);
    const keys = [
      ...[null, "", "x", revoked, workspace.key.toUpperCase(), `${workspace.key.slice(0, -1)}!`],
      ...[`svc_live_${"a".repeat(31)}`, `svc_live_${"a".repeat(32)}`, `svc_live_${"a".repeat(33)}`],
      ...[`${workspace.key} ${workspace.key}`, `${workspace.key},${workspace.key}`, `svc_live_${"%C3%A9".repeat(16)}`],
    ];
    for (const [turn, route] of routes.entries()) {
      for (const key of rotated(keys, turn, 1)) {
        const { status, json } = await askRoute(route, key);
        expect([status, json?.error], `${lineOf(route)} with ${key}`).to.deep.equal([401, "unauthorized"]);
      }
    }
  });
});
