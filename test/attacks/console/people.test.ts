import { expect } from "chai";
import { allScopes } from "#src/http/framework/keys/scopes.ts";
import { makeTenant, type Tenant, webhookHost } from "#test/support/examples/world.ts";
import { sized } from "#test/support/full.ts";
import { type InProcess, startInProcess } from "#test/support/inProcess.ts";
import { realDocument } from "#test/support/realRoutes.ts";
import { askingAs, personOf, roles } from "./askAs.ts";
import { cellsOf, holeIn, type RoutesWorld } from "./routes.ts";

/** What people may do, by their role: in the API's routes, which the console asks, and in its pages. */
describe("people × routes × foreign ids", function () {
  this.timeout(120_000);
  let service: InProcess;
  let tenant: Tenant;
  let stranger: Tenant;
  let people: ReturnType<typeof askingAs>;
  let world: RoutesWorld;

  before(async () => {
    service = await startInProcess({ WEBHOOK_ALLOWED_HOSTS: webhookHost });
    const document = realDocument();
    [tenant, stranger] = [await makeTenant(service, document), await makeTenant(service, document)];
    people = askingAs(service);
    world = { ...people, document, tenant, stranger };
  });
  after(async () => {
    await people?.close();
    await service?.stop();
  });

  it("every role at every route, with its own ids, another workspace's and those of nothing: no hole", async () => {
    const cells = cellsOf(world, { every: sized(3, 1) });
    const head = await service.store.head();
    const holes: string[] = [];
    for (const cell of cells) {
      const hole = await holeIn(cell);
      if (hole !== undefined) holes.push(hole);
    }
    const kinds = new Map<string, number>();
    for (const { kind } of cells) kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
    console.log(
      `      ${cells.length} cells of ${roles.length} roles × ${world.routes.length} routes: ${[...kinds].map(([kind, count]) => `${count} ${kind}`).join(", ")}; ${holes.length} holes`,
    );
    expect(holes, holes.join("\n")).to.deep.equal([]);
    const written = await service.database.query(
      "select type from es.events where position > $1 and metadata -> 'actor' ->> 'kind' = 'session'",
      [head],
    );
    expect(written.rows).to.deep.equal([]);
  });

  it("an auditor changes nothing, an approver nothing but drafts and threads, and money and keys are the owner's", () => {
    const open = (role: (typeof roles)[number]) =>
      world.routes
        .filter(({ scope }) => scope !== null && personOf("", role).scopes.includes(scope))
        .filter(({ method, scope }) => method !== "GET" && !scope?.startsWith("read:"))
        .map(({ method, path }) => `${method} ${path}`);
    expect(open("auditor")).to.deep.equal([]);
    expect(open("approver").filter((line) => !/^\w+ \/v1\/(drafts|threads)\b/.test(line))).to.deep.equal([]);
    const ownersOwn = open("owner").filter((line) => !open("admin").includes(line));
    expect(ownersOwn.filter((line) => !/^\w+ \/v1\/(api-keys|billing)\b/.test(line))).to.deep.equal([]);
    expect(ownersOwn).to.include.members(["POST /v1/api-keys", "POST /v1/billing/checkout", "POST /v1/billing/portal"]);
    expect(personOf("", "owner").scopes).to.include.members(allScopes);
  });
});
