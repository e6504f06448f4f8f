import { expect } from "chai";
import type { Browser } from "playwright-core";
import { allScopes } from "#src/http/framework/keys/scopes.ts";
import { scopesOf } from "#src/http/framework/roles.ts";
import {
  axeFindings,
  complaintsOf,
  needsBrowser,
  openWindow,
  sidewaysScroll,
  sizes,
  startBrowser,
  type WindowOptions,
} from "#test/support/browser.ts";
import { operator } from "#test/support/cause.ts";
import { browserAt, deskOf } from "#test/support/desk.ts";
import { makeTenant, type Tenant, webhookHost } from "#test/support/examples/world.ts";
import { itInFull, sized } from "#test/support/full.ts";
import { type InProcess, startInProcess } from "#test/support/inProcess.ts";
import { realDocument } from "#test/support/realRoutes.ts";
import { rotated } from "#test/support/rotated.ts";
import { askingAs, personOf, roles } from "./askAs.ts";
import { attachOne, type HostileTenant, makeHostileTenant, putOneAside, sendOne } from "./hostileTenant.ts";
import { cookieFaults, headerFaults, pageFaults } from "./pageFaults.ts";
import { mayCause, pathOfPage } from "./pages.ts";
import { cellsOf, holeIn, nothing, type RoutesWorld } from "./routes.ts";
import {
  doors,
  fieldsOf,
  fileFaults,
  foreignPaths,
  forms,
  formsOffered,
  isFile,
  isHtml,
  pages,
  shapeOf,
} from "./visits.ts";

const allLooks: readonly WindowOptions[] = [
  { size: "phone", colours: "light" },
  { size: "desktop", colours: "dark" },
  { size: "phone", colours: "dark" },
  { size: "desktop", colours: "light" },
];

/** Rights of each role, tested on the API's routes and the console's pages. */
describe("people × routes × foreign ids", () => {
  let service: InProcess;
  let tenant: HostileTenant;
  let stranger: Tenant;
  let people: ReturnType<typeof askingAs>;
  let world: RoutesWorld;

  before(async () => {
    service = await startInProcess({ WEBHOOK_ALLOWED_HOSTS: webhookHost });
    const document = realDocument();
    [tenant, stranger] = [await makeHostileTenant(service, document), await makeTenant(service, document)];
    for (const each of [tenant, stranger]) {
      each.ids.sessions = (await deskOf(service, each.workspaceId)).sessionId;
      each.ids["sent drafts"] = await sendOne(service, each);
      each.ids["drafts with files"] = await attachOne(each);
      each.ids.aside = await putOneAside(service, each);
      const test = await each.ask(`POST /v1/identities/${each.ids.identities}/test-notification`, {
        json: { channel: "primary" },
      });
      each.ids["test notifications"] = test.json.task_id;
    }
    people = askingAs(service);
    world = { ...people, document, tenant, stranger };
  });
  after(async () => {
    await people?.close();
    await service?.stop();
  });

  /** Returns the events that these users caused after `position`. */
  async function eventsSince(position: number, users: readonly string[]): Promise<{ stream: string; type: string }[]> {
    const { rows } = await service.database.query<{ stream: string; type: string }>(
      `select stream_id as stream, type from es.events
       where position > $1 and metadata -> 'actor' ->> 'kind' = 'session' and metadata -> 'actor' ->> 'id' = any($2)`,
      [position, users],
    );
    return rows;
  }

  it("no role gets more from a route than its scopes allow, for own, foreign and missing ids", async () => {
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

  it("auditors change nothing, approvers only drafts, threads, mail put aside and their own settings, and only owners change keys and billing", () => {
    const open = (role: (typeof roles)[number]) =>
      world.routes
        .filter(({ scope }) => scope !== null && personOf("", role).scopes.includes(scope))
        .filter(({ method, scope }) => method !== "GET" && !scope?.startsWith("read:"))
        .map(({ method, path }) => `${method} ${path}`);
    expect(open("auditor")).to.deep.equal([]);
    expect(
      open("approver").filter((line) => !/^\w+ \/v1\/(drafts|threads|inbound|members\/me)\b/.test(line)),
    ).to.deep.equal([]);
    const ownersOwn = open("owner").filter((line) => !open("admin").includes(line));
    expect(ownersOwn.filter((line) => !/^\w+ \/v1\/(api-keys|billing)\b/.test(line))).to.deep.equal([]);
    expect(ownersOwn).to.include.members(["POST /v1/api-keys", "POST /v1/billing/checkout", "POST /v1/billing/portal"]);
    expect(personOf("", "owner").scopes).to.include.members(allScopes);
  });

  it("every console page with hostile words has only the console's own markup and links, under strict headers", async () => {
    const owner = await deskOf(service, tenant.workspaceId, { role: "owner", name: tenant.told.write("people name") });
    const nobody = browserAt(service.url);
    const faults: string[] = [];
    let marks = 0;
    for (const { path } of pages) {
      const seen = await owner.get(pathOfPage(path, tenant));
      if (seen.status !== 200) faults.push(`${path}: ${seen.status} ${seen.page.slice(0, 200)}`);
      const found = isHtml(seen) ? [...pageFaults(seen.text), ...headerFaults(seen.headers)] : fileFaults(seen);
      faults.push(...found.map((fault) => `${path}: ${fault}`));
      marks += [...tenant.told.words.values()].filter(({ mark }) => seen.text.includes(mark)).length;
    }
    expect(doors).to.include.members(["/sign-in", "/sign-up", "/workspaces"]);
    expect(doors.filter((path) => /^\/(invitation|confirm|reset|new-email)\/x/.test(path))).to.have.length(4);
    for (const [browser, path] of [...doors.map((each) => [nobody, each] as const), [owner, "/workspaces"] as const]) {
      const seen = await browser.get(path);
      if (seen.status >= 400 && seen.status !== 404) faults.push(`${path}: ${seen.status}`);
      if (seen.status === 303) continue;
      faults.push(...[...pageFaults(seen.text), ...headerFaults(seen.headers)].map((fault) => `${path}: ${fault}`));
      faults.push(...cookieFaults(seen.headers, { https: false }).map((fault) => `${path}: ${fault}`));
    }
    console.log(
      `      ${pages.length} pages, ${doors.length} at the door, ${tenant.told.words.size} hostile strings shown ${marks} times; ${faults.length} faults`,
    );
    expect(faults, faults.join("\n")).to.deep.equal([]);
  });

  it("every page shows each role its own things, or refuses; foreign ids are answered like missing ones", async () => {
    const holes: string[] = [];
    let asked = 0;
    for (const role of roles) {
      const browser = await deskOf(service, stranger.workspaceId, { role });
      for (const { path } of rotated(pages, roles.indexOf(role), 9)) {
        const own = await browser.get(pathOfPage(path, stranger));
        asked += 1;
        if (role === "owner" ? own.status !== 200 : own.status !== 200 && own.status !== 403)
          holes.push(`${role} ${path}: ${own.status} ${own.page.slice(0, 200)}`);
        for (const { foreign, missing, id } of foreignPaths(path, stranger, tenant)) {
          const [theirs, none] = [await browser.get(foreign), await browser.get(missing)];
          asked += 2;
          if (shapeOf(theirs, id) !== shapeOf(none, nothing) || (theirs.status !== 404 && theirs.status !== 403))
            holes.push(
              `${role} ${path}: ${theirs.status} ${theirs.page.slice(0, 200)}, of a missing one ${none.status}`,
            );
        }
      }
    }
    console.log(`      ${asked} looks at ${pages.length} pages as ${roles.length} roles; ${holes.length} holes`);
    expect(holes, holes.join("\n")).to.deep.equal([]);
  });

  it("every console page is closed to people who are signed out or removed, and to requests for JSON", async () => {
    const removed = await deskOf(service, stranger.workspaceId, { role: "admin" });
    const { memberId } = removed.user;
    await service.deps.members.handle(
      stranger.workspaceId,
      { type: "RemoveMember", memberId, by: "operator" },
      operator(stranger.workspaceId),
    );
    const nobody = browserAt(service.url);
    for (const { path, options } of pages) {
      const address = pathOfPage(path, stranger);
      expect((await removed.get(address)).status, path).to.equal(403);
      if (options.alsoSignedOut) continue;
      expect((await nobody.get(address)).location, path).to.match(/^\/sign-in\?next=/);
      expect((await removed.get(address, { Accept: "application/json" })).status, path).to.equal(404);
    }
  });

  it("every console form refuses forged tokens, sessions, origins and sites, and changes nothing", async () => {
    const owner = await deskOf(service, stranger.workspaceId, { role: "owner" });
    const other = await deskOf(service, stranger.workspaceId, { role: "owner" });
    const tokenOf = async (browser: typeof owner) =>
      /name="form_token" value="([^"]+)"/.exec((await browser.get("/settings")).text)?.[1] as string;
    const [own, others] = [await tokenOf(owner), await tokenOf(other)];
    const offered = await formsOffered(owner, stranger);
    const noSite = { "Sec-Fetch-Site": "" };
    const forged: [string, Record<string, string>, Record<string, string>][] = [
      ["no token", { form_token: "" }, {}],
      ["another session's token", { form_token: others }, {}],
      ["another site", { form_token: own }, { "Sec-Fetch-Site": "cross-site" }],
      ["a neighbour", { form_token: own }, { "Sec-Fetch-Site": "same-site" }],
      ["another origin", { form_token: own }, { ...noSite, Origin: "https://evil.example" }],
      ["the origin null", { form_token: own }, { ...noSite, Origin: "null" }],
      ["no origin", { form_token: own }, noSite],
    ];
    const head = await service.store.head();
    const holes: string[] = [];
    for (const [turn, route] of rotated(forms, 0, 12).entries()) {
      const address = pathOfPage(route.path, stranger);
      for (const [what, token, headers] of rotated(forged, turn, 2)) {
        const { status } = await owner.post(address, { ...fieldsOf(offered.get(route)), ...token }, headers);
        if (status !== 403) holes.push(`${route.path} with ${what}: ${status}`);
      }
      const nobody = await browserAt(service.url).post(address, { ...fieldsOf(offered.get(route)), form_token: own });
      if (nobody.status !== 303 || !nobody.location?.startsWith("/sign-in"))
        holes.push(`${route.path}: nobody ${nobody.status}`);
    }
    console.log(
      `      ${forms.length} forms, ${offered.size} of them as pages offer them × ${forged.length + 1} forgeries; ${holes.length} holes`,
    );
    expect(holes, holes.join("\n")).to.deep.equal([]);
    expect(await eventsSince(head, [owner.user.id])).to.deep.equal([]);
  });

  it("every console form has no effect beyond the sender's role and treats foreign ids like missing ones", async () => {
    const owner = await deskOf(service, stranger.workspaceId, { role: "owner" });
    const offered = await formsOffered(owner, stranger);
    const holes: string[] = [];
    // The form to leave the workspace is left out: the person could send no other form afterwards.
    const staying = forms.filter(({ path }) => path !== "/settings/members/leave");
    const senders: string[] = [];
    let sent = 0;
    for (const role of ["auditor", "approver", "admin", "owner"] as const) {
      const browser = await deskOf(service, stranger.workspaceId, { role });
      senders.push(browser.user.id);
      const head = await service.store.head();
      for (const route of rotated(staying, senders.length, 6)) {
        const fields = fieldsOf(offered.get(route));
        await browser.get("/settings");
        for (const { foreign, missing, id } of foreignPaths(route.path, stranger, tenant)) {
          const [theirs, none] = [await browser.post(foreign, fields), await browser.post(missing, fields)];
          sent += 2;
          if (shapeOf(theirs, id) !== shapeOf(none, nothing) || theirs.status >= 500)
            holes.push(
              `${role} ${route.path}: ${theirs.status} ${theirs.page.slice(0, 200)}, of a missing one ${none.status}`,
            );
        }
        // Owners may send every form; the tests of the pages check the effects.
        if (role === "owner") continue;
        const { status, page } = await browser.post(pathOfPage(route.path, stranger), fields);
        sent += 1;
        if (status >= 500) holes.push(`${role} ${route.path}: ${status} ${page.slice(0, 200)}`);
      }
      const scopes = scopesOf(role);
      for (const { stream, type } of await eventsSince(head, [browser.user.id])) {
        if (!mayCause(stream, scopes)) holes.push(`${role} caused ${type} on ${stream}`);
      }
    }
    const theirs = await service.database.query(
      `select stream_id, type from es.events
       where metadata ->> 'workspaceId' = $1 and metadata -> 'actor' ->> 'id' = any($2)`,
      [tenant.workspaceId, senders],
    );
    console.log(`      ${sent} forms sent; ${holes.length} holes`);
    expect(holes, holes.join("\n")).to.deep.equal([]);
    expect(theirs.rows).to.deep.equal([]);
  });

  describe("console pages in a real browser", () => {
    let browser: Browser;
    before(async function () {
      needsBrowser(this);
      browser = await startBrowser();
    });
    after(() => browser?.close());

    for (const [turn, look] of allLooks.entries()) {
      const title = `every console page in ${look.colours} colours on a ${look.size}: no axe finding, policy error or sideways scroll`;
      const looking: Mocha.AsyncFunc = async () => {
        const name = tenant.told.write("people name");
        const owner = await deskOf(service, tenant.workspaceId, { role: "owner", name });
        const own = pages.filter(({ path }) => !isFile(path)).map(({ path }) => pathOfPage(path, tenant));
        const shown = rotated([...own, ...doors.map((path) => `${path}?again=1`)], turn, 2);
        const window = await openWindow(browser, look);
        await window.addCookies([...owner.cookies].map(([key, value]) => ({ name: key, value, url: service.url })));
        const page = await window.newPage();
        const complaints = complaintsOf(page);
        const faults: string[] = [];
        for (const path of shown) {
          await page.goto(service.url + path);
          const found = [...complaints.splice(0), ...(await axeFindings(page))];
          await page.setViewportSize(sizes.narrow);
          found.push(
            ...(await sidewaysScroll(page)).map((element) => `wider than ${sizes.narrow.width} px: ${element}`),
          );
          await page.setViewportSize(sizes[look.size]);
          faults.push(...found.map((fault) => `${path}: ${fault}`));
        }
        await window.close();
        console.log(`        ${shown.length} pages; ${faults.length} faults`);
        expect(faults, faults.join("\n")).to.deep.equal([]);
      };
      (turn === 0 ? it : itInFull)(title, looking);
    }
  });
});
