import { randomUUID } from "node:crypto";
import { request } from "node:http";
import { expect } from "chai";
import express from "express";
import { pino } from "pino";
import { button, form } from "#src/html/forms.ts";
import { html } from "#src/html/html.ts";
import { consoleForm, consolePage, seeOther, shown } from "#src/http/console/framework/page.ts";
import { createConsole } from "#src/http/console/index.ts";
import { httpDependencies } from "#src/http/dependencies.ts";
import { createBodyParser } from "#src/http/framework/body/bodyParser.ts";
import { createInProcess } from "#src/http/framework/inProcess.ts";
import { createRequestsInFlight } from "#src/http/framework/keys/requestsInFlight.ts";
import { ownPath } from "#src/http/framework/sameOrigin.ts";
import { listen } from "#src/http/framework/server.ts";
import { allRoutes } from "#src/http/routes.ts";
import { consoleAssets } from "#src/http/web/assets.ts";
import { operator } from "#test/support/cause.ts";
import { browserAt, deskOf } from "#test/support/desk.ts";
import { type InProcess, startInProcess, type Workspace } from "#test/support/inProcess.ts";

/** The frame that every page stands in, tried on pages of the test's own. */
describe("the console's framework", () => {
  let service: InProcess;
  let workspace: Workspace;
  let url: string;
  let close: () => Promise<void>;
  const logger = pino({ level: "silent" });
  const inFlight = createRequestsInFlight();
  let entered: () => void = () => {};
  let gate: Promise<void> = Promise.resolve();
  let counted: () => void = () => {};

  const pages = [
    consolePage("GET /review", async (visit) =>
      shown({
        title: "Try",
        main: html`<h1>${visit.principal.name}</h1>${form(visit, { action: "/review/rename" }, button("Do"))}`,
      }),
    ),
    consoleForm("POST /review/rename", async (visit) => {
      const refused = await visit.attempt(() =>
        visit.ask("PATCH /v1/workspaces/me", { body: { name: visit.form.get("name") } }),
      );
      if (refused) return shown({ title: "No", main: html`<h1>${refused.message}</h1>`, status: refused.status });
      return seeOther("/review", "saved");
    }),
    consolePage("GET /review/slow", async (visit) => {
      entered();
      await gate;
      return shown({ title: "Slow", main: html`<h1>${(await visit.ask("GET /v1/workspaces/me")).name}</h1>` });
    }),
    consolePage("GET /review/secret", async () => shown({ title: "Secret", main: html`<h1>Secret</h1>` }), {
      sensitive: true,
    }),
  ];

  before(async () => {
    service = await startInProcess();
    workspace = await service.workspace();
    const { deps, database, clock } = service;
    const http = httpDependencies(deps, {
      database,
      revocation: { drain: async () => true, upToDate: () => {} },
      webhookDeliveries: {} as never,
      closing: new AbortController().signal,
    });
    const bodies = createBodyParser();
    const app = express();
    app.disable("x-powered-by");
    app.use(
      createConsole(
        {
          assets: consoleAssets(),
          deps: { ...http, limits: { guarding: (_account, _request, { work }) => work() } },
          ...{ inFlight, clock, logger, rate: 300 },
          publicUrl: "http://desk.example",
          production: true,
          upToDate: () => {},
          counter: {
            hit: async () => {
              counted();
              return { hits: 1, resetsAt: new Date() };
            },
          },
          askRoute: createInProcess({ ...http, routes: allRoutes(http), bodies, checkResponses: true }),
        },
        pages,
      ),
    );
    app.use((_, response) => void response.status(404).json({ error: "not_found" }));
    const server = await listen(app, { host: "127.0.0.1", port: 0 } as never);
    url = server.url;
    close = async () => {
      await server.close();
      await bodies.close();
    };
  });
  after(async () => {
    await close?.();
    await service?.stop();
  });

  const desk = (options: Parameters<typeof deskOf>[2] = {}) => deskOf({ ...service, url }, workspace.id, options);
  const nameNow = async () => (await workspace.ask("GET /v1/workspaces/me")).json.name;

  it("a page's links are in its header and in the menu for phones, which opens without script, and sign out by one form", async () => {
    const { text } = await (await desk()).get("/review");
    const header = text.slice(text.indexOf("<header"), text.indexOf("</header>"));
    const [wide = "", menu = ""] = header.split('<details class="menu">');
    const linksIn = (part: string) => [...part.matchAll(/<li><a href="([^"]+)"/g)].map(([, path]) => path);
    expect(linksIn(wide)).to.include.members(["/review", "/settings"]);
    expect(linksIn(menu)).to.deep.equal(linksIn(wide));
    expect(header.match(/<form /g)).to.have.length(1);
    expect(wide).to.contain('id="sign-out"');
    expect(menu)
      .to.match(/^<summary>Menu<\/summary>/)
      .and.to.contain('form="sign-out"');
  });

  it("the page of all components is served in development, and not in production", async () => {
    const developed = await (await deskOf(service, workspace.id)).get("/console/components");
    expect(developed.status).to.equal(200);
    expect(developed.text).to.contain("--space-xl").and.to.contain("&lt;div class=&quot;field switch&quot;&gt;");
    expect((await (await desk()).get("/console/components")).status).to.equal(404);
  });

  it("a signed-in member gets a page, others are sent to sign in, and requests for JSON are left to the API", async () => {
    const ann = await desk({ name: "Ann <b>" });
    const seen = await ann.get("/review");
    expect(seen.status).to.equal(200);
    expect(seen.text).to.contain("Ann &lt;b&gt;").and.not.contain("<b>");
    expect((await browserAt(url).get("/review?draft=1")).location).to.equal("/sign-in?next=%2Freview%3Fdraft%3D1");
    expect((await browserAt(url, "x".repeat(43)).get("/review")).location).to.equal("/sign-in?next=%2Freview");
    for (const headers of [{ Accept: "application/json" }, { Authorization: `Bearer ${workspace.key}` }]) {
      const { status, text } = await ann.get("/review", headers as never);
      expect([status, text]).to.deep.equal([404, '{"error":"not_found"}']);
    }
    expect((await ann.get("/review/nothing")).page).to.contain("Page not found");
  });

  it("a posted form runs its route's rules, and the next page confirms it", async () => {
    const ann = await desk();
    await ann.get("/review");
    const done = await ann.post("/review/rename", { name: "Desk" });
    expect([done.status, done.location]).to.deep.equal([303, "/review?done=saved"]);
    expect((await ann.get(done.location!)).page).to.contain("Saved.");
    expect(await nameNow()).to.equal("Desk");
    const refused = await ann.post("/review/rename", { name: "x".repeat(5_000) });
    expect([refused.status, await nameNow()]).to.deep.equal([422, "Desk"]);
  });

  it("a form that the member's role does not allow is refused", async () => {
    const auditor = await desk({ role: "auditor" });
    await auditor.get("/review");
    const { status, page } = await auditor.post("/review/rename", { name: "Auditor's" });
    expect(status).to.equal(403);
    expect(page).to.contain("your role in this workspace (auditor) does not allow this");
    expect(await nameNow()).to.equal("Desk");
  });

  it("a form from another site, with another session's token or without a token is refused", async () => {
    const ann = await desk();
    const ben = await desk();
    await ben.get("/review");
    const bens = (await ben.get("/review")).text.match(/form_token" value="([^"]+)"/)![1]!;
    await ann.get("/review");
    const forged: [Record<string, string>, Record<string, string>][] = [
      [{ form_token: "" }, {}],
      [{ form_token: bens }, {}],
      [{}, { "Sec-Fetch-Site": "cross-site" }],
      [{}, { "Sec-Fetch-Site": "same-site" }],
      [{}, { "Sec-Fetch-Site": "none" }],
    ];
    const before = await service.store.head();
    for (const [fields, headers] of forged) {
      expect((await ann.post("/review/rename", { name: "Forged", ...fields }, headers)).status).to.equal(403);
    }
    expect(await service.store.head()).to.equal(before);
  });

  it("a removed member's sessions end, including for a page that is being loaded", async () => {
    const ann = await desk();
    const ben = await desk({ role: "admin" });
    let release = () => {};
    gate = new Promise((resolve) => (release = resolve));
    const reached = new Promise<void>((resolve) => (entered = resolve));
    const slow = ben.get("/review/slow");
    await reached;
    const cause = { ...operator(workspace.id) };
    await service.deps.members.handle(
      workspace.id,
      { type: "RemoveMember", memberId: ben.user.memberId, by: { userId: ann.user.id } },
      cause,
    );
    for (const id of await service.deps.accounts.sessions.renew(ben.user.id, workspace.id)) inFlight.revoke(id);
    release();
    expect((await slow).status).to.equal(401);
    const after = await ben.get("/review");
    expect([after.status, after.page.includes("You are not a member of a workspace")]).to.deep.equal([403, true]);
  });

  it("the form of a stranger who is not signed in is not read", async () => {
    const large = { name: "x".repeat(1_100_000) };
    const stranger = await browserAt(url, "x".repeat(43)).post("/review/rename", large, { Referer: `${url}/review` });
    expect([stranger.status, stranger.location]).to.deep.equal([303, "/sign-in?next=%2Freview"]);
    expect((await (await desk()).post("/review/rename", large)).status).to.equal(413);
  });

  it("a form whose session ends while it is being received changes nothing", async () => {
    const ann = await desk();
    const { text } = await ann.get("/review");
    const formToken = /form_token" value="([^"]+)"/.exec(text)![1]!;
    const body = new URLSearchParams({ form_token: formToken, name: "Too late" }).toString();
    const reached = new Promise<void>((resolve) => (counted = resolve));
    const post = request(new URL("/review/rename", url), {
      method: "POST",
      headers: {
        Accept: "text/html",
        "Sec-Fetch-Site": "same-origin",
        "Content-Type": "application/x-www-form-urlencoded",
        "Content-Length": body.length,
        Cookie: `countersign=${ann.cookies.get("countersign")}`,
      },
    });
    const status = new Promise((resolve, reject) => {
      post.once("response", (response) => resolve(response.resume().statusCode)).once("error", reject);
    });
    post.write(body.slice(0, 10));
    await reached;
    const before = await service.store.head();
    await service.deps.accounts.sessions.end(ann.user.id, ann.sessionId);
    inFlight.revoke(ann.sessionId);
    post.end(body.slice(10));
    expect(await status).to.equal(401);
    await inFlight.ended(ann.sessionId);
    expect(await service.store.head()).to.equal(before);
  });

  it("a session whose rights changed gets a new cookie, and its old cookie works for 30 seconds more", async () => {
    const ann = await desk({ role: "admin" });
    const old = ann.cookies.get("countersign")!;
    await service.deps.accounts.sessions.renew(ann.user.id, workspace.id);
    expect((await ann.get("/review")).status).to.equal(200);
    expect(ann.cookies.get("countersign")).to.not.equal(old);
    expect((await browserAt(url, old).get("/review")).status).to.equal(200);
    service.clock.advance(31_000);
    expect((await browserAt(url, old).get("/review")).status).to.equal(303);
    expect((await ann.get("/review")).status).to.equal(200);
  });

  it("concurrent requests of a renewed session get one session, whose forms are accepted", async () => {
    const ann = await desk({ role: "admin" });
    const { sessions } = service.deps.accounts;
    const { rotate } = sessions;
    await sessions.renew(ann.user.id, workspace.id);
    // Another request rotates the session first.
    sessions.rotate = async (id) => {
      sessions.rotate = rotate;
      await rotate(id);
      return rotate(id);
    };
    expect((await ann.get("/review")).status).to.equal(200);
    expect((await ann.post("/review/rename", { name: "Together" })).status).to.equal(303);
  });

  it("a sensitive page asks for the password again after ten minutes", async () => {
    const ann = await desk();
    expect((await ann.get("/review/secret")).page).to.contain("Secret");
    service.clock.advance(11 * 60_000);
    expect((await ann.get("/review/secret")).location).to.equal("/settings/confirm?next=%2Freview%2Fsecret");
  });

  it("a session ends after 12 hours without a request, and after 14 days in any case", async () => {
    const ann = await desk();
    for (let hour = 0; hour < 14 * 24; hour += 11) {
      expect((await ann.get("/review")).status, `${hour} h`).to.equal(200);
      service.clock.advance(11 * 3_600_000);
    }
    expect((await ann.get("/review")).status).to.equal(303);
    const cleo = await desk();
    for (let hour = 0; hour < 12; hour += 4) {
      expect((await cleo.get("/review", { "HX-Request": "true" })).status, `the script at ${hour} h`).to.equal(200);
      service.clock.advance(4 * 3_600_000 + 30_000);
    }
    expect((await cleo.get("/review")).status, "an open page alone").to.equal(303);
    const ben = await desk();
    service.clock.advance(12 * 3_600_000 + 61_000);
    expect((await ben.get("/review")).status).to.equal(303);
  });

  it("the console's styles and scripts are immutable files, and its policy allows no unsafe script", async () => {
    const { text, headers } = await (await desk()).get("/review");
    expect(headers.get("content-security-policy")).to.contain("script-src 'self';").and.not.contain("unsafe");
    const files = [...text.matchAll(/(?:src|href)="(\/console\/assets\/[^"]+)"/g)].map((match) => match[1]!);
    expect(files.length).to.be.greaterThan(1);
    for (const file of files) {
      const response = await fetch(new URL(file, url));
      expect([file, response.status]).to.deep.equal([file, 200]);
      expect(response.headers.get("cache-control")).to.contain("immutable");
      await response.text();
    }
  });

  it("a redirect after a form leads only to a path of this service", () => {
    for (const own of ["/review", "/threads?q=a%20b", "/drafts/1#step-2"]) expect(ownPath(own)).to.equal(own);
    const others = [
      "",
      "review",
      "//evil.example",
      "/\\evil.example",
      "https://evil.example",
      "/ review",
      "/a\tb",
      "/a\n",
      "/é",
    ];
    for (const other of [
      ...others,
      "/..//evil.example",
      "/a/../..//evil.example",
      null,
      `/${randomUUID().repeat(100)}`,
    ]) {
      expect(ownPath(other), String(other)).to.equal(undefined);
    }
  });
});
