import { expect } from "chai";
import { allScopes } from "#src/http/framework/keys/scopes.ts";
import { browserAt, type Desk, deskOf } from "#test/support/desk.ts";
import { type InProcess, startInProcess, type Workspace } from "#test/support/inProcess.ts";

const password = "a long enough secret";

describe("the console's settings", () => {
  let service: InProcess;
  let workspace: Workspace;
  before(async () => {
    service = await startInProcess({ RATE_LIMIT_AUTH: "3" });
    workspace = await service.workspace();
  });
  after(() => service?.stop());

  const desk = (options: Parameters<typeof deskOf>[2] = {}) => deskOf(service, workspace.id, options);
  /** Follows what a form leads to. */
  const follow = (browser: Desk, { location }: { location: string | null }) => browser.get(location as string);

  it("the settings page links its parts, and only those that the member's role may open", async () => {
    const { status, text } = await (await desk()).get("/settings");
    expect(status).to.equal(200);
    for (const path of ["/settings/keys", "/settings/workspace", "/settings/sessions", "/settings/members", "/billing"])
      expect(text).to.contain(`href="${path}"`);
    const approvers = (await (await desk({ role: "approver" })).get("/settings")).text;
    for (const path of ["/settings/keys", "/settings/workspace", "/billing"])
      expect(approvers).not.to.contain(`href="${path}"`);
    expect(approvers).to.contain('href="/settings/sessions"');
  });

  describe("API keys", () => {
    it("an owner creates an API key with full access, which is shown once with a call that works [d15 keys]", async () => {
      const owner = await desk();
      await owner.get("/settings/keys/new");
      const made = await owner.post("/settings/keys/new", { name: "My <b>agent</b>", access: "all" });
      expect(made.status).to.equal(200);
      const [key = ""] = made.text.match(/svc_live_[0-9A-Za-z]{32}/) ?? [];
      expect(made.page).to.contain(
        `curl -H "Authorization: Bearer ${key}" ${service.deps.settings.publicUrl}/v1/threads`,
      );
      await service.caughtUp();
      for (const line of ["GET /v1/threads", "GET /v1/api-keys", "GET /v1/members"])
        expect((await workspace.ask(line, { key })).status, line).to.equal(200);
      const list = await owner.get("/settings/keys");
      expect(list.text).to.contain("My &lt;b&gt;agent&lt;/b&gt;").and.not.contain(key);
      expect(list.page).to.contain(key.slice(0, 13)).and.contain("Full access");
    });

    it("the form for an API key offers an agent's scopes first, ticked, and preselects neither kind of access", async () => {
      const owner = await desk();
      const { text, page } = await owner.get("/settings/keys/new");
      expect(page.indexOf("For an agent")).to.be.within(1, page.indexOf("Full access"));
      const inputs = [...text.matchAll(/<input type="(radio|checkbox)"[^>]*>/g)].map(([input]) => input);
      const chosen = inputs
        .filter((input) => / checked/.test(input))
        .map((input) => /value="([^"]*)"/.exec(input)?.[1]);
      expect(inputs.filter((input) => /radio/.test(input))).to.have.length(2);
      expect(chosen).to.have.members([
        "read:threads",
        "write:drafts",
        "write:emails",
        "read:identities",
        "read:events",
      ]);
      // The contract's default.
      await owner.post("/settings/keys/new", { name: "No choice" });
      const { data } = (await workspace.ask("GET /v1/api-keys")).json;
      const made = data.find(({ name }: { name: string }) => name === "No choice");
      expect(made.scopes).to.have.members(allScopes);
    });

    it("an API key gets exactly the ticked scopes, and a form without a ticked scope is refused", async () => {
      const owner = await desk();
      await owner.get("/settings/keys/new");
      const none = await owner.post("/settings/keys/new", { name: "Empty", access: "chosen" });
      expect([none.status, none.page.includes("Choose at least one")]).to.deep.equal([422, true]);
      expect(none.text).to.contain('value="Empty"');
      const fields = { name: "Reader", access: "chosen", scope: ["read:threads", "read:identities", "made:up"] };
      const made = await owner.post("/settings/keys/new", fields);
      expect(made.text).to.match(/svc_live_[0-9A-Za-z]{32}/);
      const { data } = (await workspace.ask("GET /v1/api-keys")).json;
      expect(data.find(({ name }: { name: string }) => name === "Reader").scopes).to.have.members([
        "read:threads",
        "read:identities",
      ]);
      const nameless = await owner.post("/settings/keys/new", { name: "", access: "all" });
      expect([nameless.status, /aria-describedby="[^"]*name-error"/.test(nameless.text)]).to.deep.equal([422, true]);
    });

    it("an API key is revoked after a confirmation, and stops working at once", async () => {
      const key = await workspace.keyOf(["read:threads"]);
      await service.caughtUp();
      const [{ id }] = (await workspace.ask("GET /v1/api-keys")).json.data;
      const owner = await desk();
      const asked = await owner.get(`/settings/keys/${id}/revoke`);
      expect(asked.page).to.contain("Revoke this API key?");
      expect((await workspace.ask("GET /v1/threads", { key })).status, "looking changes nothing").to.equal(200);
      const done = await owner.post(`/settings/keys/${id}/revoke`);
      expect((await workspace.ask("GET /v1/threads", { key })).status).to.equal(401);
      expect((await follow(owner, done)).page).to.contain("The key is revoked");
      expect((await owner.get(`/settings/keys/${id}/revoke`)).status).to.equal(404);
    });

    it("an admin sees API keys and can neither create nor revoke one; an approver does not see them", async () => {
      const admin = await desk({ role: "admin" });
      const list = await admin.get("/settings/keys");
      expect(list.status).to.equal(200);
      expect(list.text).not.to.contain("/settings/keys/new").and.not.contain("/revoke");
      expect((await admin.get("/settings/keys/new")).status).to.equal(403);
      const before = await service.store.head();
      expect((await admin.post("/settings/keys/new", { name: "Mine", access: "all" })).status).to.equal(403);
      const [{ id }] = (await workspace.ask("GET /v1/api-keys")).json.data;
      expect((await admin.get(`/settings/keys/${id}/revoke`)).status).to.equal(403);
      expect((await admin.post(`/settings/keys/${id}/revoke`)).status).to.equal(403);
      expect(await service.store.head()).to.equal(before);
      expect((await (await desk({ role: "approver" })).get("/settings/keys")).status).to.equal(403);
    });

    it("creating and revoking an API key ask for the password again", async () => {
      const owner = await desk();
      await owner.get("/settings/keys");
      const [{ id }] = (await workspace.ask("GET /v1/api-keys")).json.data;
      service.clock.advance(11 * 60_000);
      const before = await service.store.head();
      for (const path of ["/settings/keys/new", `/settings/keys/${id}/revoke`]) {
        expect((await owner.get(path)).location).to.equal(`/settings/confirm?next=${encodeURIComponent(path)}`);
        expect((await owner.post(path, { name: "x", access: "all" })).location).to.match(/^\/settings\/confirm\?/);
      }
      expect(await service.store.head()).to.equal(before);
    });
  });

  describe("the workspace's settings", () => {
    it("a workspace is renamed, and a refused name stays in its field with the reason", async () => {
      const admin = await desk({ role: "admin" });
      await admin.get("/settings/workspace");
      const done = await admin.post("/settings/workspace", { name: "Night shift" });
      expect((await follow(admin, done)).page)
        .to.contain("Saved.")
        .and.contain("Night shift");
      const refused = await admin.post("/settings/workspace", { name: "x".repeat(300) });
      expect(refused.status).to.equal(422);
      expect(refused.text)
        .to.contain(`value="${"x".repeat(300)}"`)
        .and.contain('aria-invalid="true"');
      expect((await workspace.ask("GET /v1/workspaces/me")).json.name).to.equal("Night shift");
    });

    it("a workspace starts to require a person after a question, and stops only after the password is given", async () => {
      const admin = await desk({ role: "admin" });
      await admin.get("/settings/workspace/require-approval");
      const required = async () => (await workspace.ask("GET /v1/workspaces/me")).json.require_human_approval;
      expect(await required()).to.equal(false);
      await admin.post("/settings/workspace/require-approval");
      expect(await required()).to.equal(true);
      service.clock.advance(11 * 60_000);
      await admin.get("/settings/workspace");
      expect((await admin.get("/settings/workspace/waive-approval")).location).to.match(/^\/settings\/confirm/);
      expect((await admin.post("/settings/workspace/waive-approval")).location).to.match(/^\/settings\/confirm/);
      expect(await required()).to.equal(true);
      await service.deps.accounts.passwords.set(admin.user.id, password);
      await admin.get("/settings/confirm?next=/settings/workspace/waive-approval");
      const confirmed = await admin.post("/settings/confirm", { password, next: "/settings/workspace/waive-approval" });
      await follow(admin, confirmed);
      await admin.post("/settings/workspace/waive-approval");
      expect(await required()).to.equal(false);
    });

    it("sending is paused and resumed, and the page says who paused it and why", async () => {
      const admin = await desk({ role: "admin", name: "Joan" });
      await admin.get("/settings/workspace");
      const back = { back: "/settings/workspace" };
      const paused = await follow(admin, await admin.post("/review/pause", { ...back, pause_reason: "A <b>loop</b>" }));
      expect(paused.page).to.contain("Joan paused it").and.contain("A <b>loop</b>");
      expect((await workspace.ask("GET /v1/workspaces/me")).json.sending_paused).to.equal(true);
      const resumed = await follow(admin, await admin.post("/review/resume", back));
      expect(resumed.page).to.contain("Pause all sending").and.not.contain("Sending is paused");
    });

    it("an auditor sees the workspace's settings and can change nothing", async () => {
      const auditor = await desk({ role: "auditor" });
      const { status, text } = await auditor.get("/settings/workspace");
      expect(status).to.equal(200);
      expect(text).not.to.contain('action="/settings/').and.not.contain("-approval");
      expect((await auditor.post("/settings/workspace", { name: "Mine" })).status).to.equal(403);
    });
  });

  describe("the page that asks for the password again", () => {
    it("a confirmed password leads only to a page of this service, and a wrong password to none", async () => {
      const owner = await desk();
      await service.deps.accounts.passwords.set(owner.user.id, password);
      service.clock.advance(11 * 60_000);
      for (const [next, to] of [
        ["/settings/keys/new", "/settings/keys/new?done=password_confirmed"],
        ["https://evil.example/", "/settings?done=password_confirmed"],
        ["//evil.example", "/settings?done=password_confirmed"],
        ["", "/settings?done=password_confirmed"],
      ] as [string, string][]) {
        await owner.get(`/settings/confirm?next=${encodeURIComponent(next)}`);
        expect((await owner.post("/settings/confirm", { password, next })).location).to.equal(to);
      }
      service.clock.advance(11 * 60_000);
      const asked = await owner.get("/settings/confirm?next=https://evil.example/");
      expect(asked.text).not.to.contain("evil.example");
      const wrong = await owner.post("/settings/confirm", { password: "another secret", next: "/settings/keys/new" });
      expect([wrong.status, / That password is not right\./.test(wrong.page)]).to.deep.equal([422, true]);
      expect(wrong.text).not.to.contain("another secret");
      expect((await owner.get("/settings/keys/new")).location).to.match(/^\/settings\/confirm/);
    });

    it("wrong passwords have the limit of sign-in, after which even the right one is refused [d12 rates]", async () => {
      const owner = await desk();
      await service.deps.accounts.passwords.set(owner.user.id, password);
      await owner.get("/settings/confirm");
      const guesses = await Promise.all(
        Array.from({ length: 5 }, (_, n) => owner.post("/settings/confirm", { password: `a wrong guess ${n}` })),
      );
      const statuses = guesses.map(({ status }) => status);
      expect(statuses.filter((status) => status === 422)).to.have.length(3);
      expect(statuses.filter((status) => status === 429)).to.have.length(2);
      const right = await owner.post("/settings/confirm", { password });
      expect([right.status, /wait \d+ s/.test(right.page)]).to.deep.equal([429, true]);
    });
  });

  describe("a member's sign-ins", () => {
    const another = async (owner: Desk, agent: string) => {
      const of = { userId: owner.user.id, workspaceId: workspace.id, agent };
      const { token, session } = await service.deps.accounts.sessions.start(of);
      return { ...browserAt(service.url, token), id: session.id };
    };

    it("sign-ins are listed by browser, and each can be ended", async () => {
      const owner = await desk();
      const phone = await another(owner, "Mozilla/5.0 (Linux; Android 15) <script>Chrome/150.0 Mobile Safari/537.36");
      const { page, text } = await owner.get("/settings/sessions");
      expect(page).to.contain("Chrome on Android").and.contain("this one");
      expect(text).not.to.contain("<script>Chrome");
      const done = await owner.post(`/settings/sessions/${phone.id}/end`);
      expect((await follow(owner, done)).page)
        .to.contain("That device is signed out")
        .and.not.contain("Android");
      expect((await phone.get("/settings")).location).to.match(/^\/sign-in/);
      expect((await owner.get("/settings")).status).to.equal(200);
    });

    it("the page does not say that a sign-in has ended if it continues under another id", async () => {
      const owner = await desk();
      const phone = await another(owner, "phone");
      await owner.get("/settings/sessions");
      await service.deps.accounts.sessions.choose(phone.id, workspace.id);
      const done = await owner.post(`/settings/sessions/${phone.id}/end`);
      expect((await follow(owner, done)).page)
        .to.contain("check the list below")
        .and.not.contain("has ended.");
      expect((await phone.get("/settings")).status).to.equal(200);
    });

    it("a member can end all other sign-ins at once", async () => {
      const owner = await desk();
      const others = [await another(owner, "one"), await another(owner, "two")];
      await owner.get("/settings/sessions");
      await owner.post("/settings/sessions/end-others");
      for (const other of others) expect((await other.get("/settings")).location).to.match(/^\/sign-in/);
      expect((await owner.get("/settings/sessions")).status).to.equal(200);
    });

    it("the sign-ins of other members are neither shown nor ended", async () => {
      const owner = await desk();
      const colleague = await desk({ role: "admin", email: "colleague@people.example" });
      const { text } = await owner.get("/settings/sessions");
      expect(text).not.to.contain(colleague.sessionId);
      await another(owner, "so that there is a form");
      await owner.get("/settings/sessions");
      await owner.post(`/settings/sessions/${colleague.sessionId}/end`);
      await owner.post("/settings/sessions/no-id/end");
      expect((await colleague.get("/settings")).status).to.equal(200);
    });
  });

  describe("the console's billing page", () => {
    it("the billing page shows a member the plan and its usage, and a stranger the plans", async () => {
      const { status, page } = await (await desk()).get("/billing");
      expect(status).to.equal(200);
      expect(page).to.contain("Your plan: Business (agency)").and.contain("Mails sent");
      expect(page).to.contain("not connected to a payment processor");
      const nobody = await browserAt(service.url).get("/billing");
      expect([nobody.status, nobody.page.includes("Builder pack: free")]).to.deep.equal([200, true]);
      expect((await (await desk({ role: "auditor" })).get("/billing")).page).to.contain(
        "Only an owner may change the plan",
      );
    });

    it("the billing page refuses an unknown checkout, and a checkout without a payment processor", async () => {
      const owner = await desk();
      const unknown = await owner.get("/billing?session_id=cs_test_made_up_by_somebody");
      expect([unknown.status, unknown.page.includes("Checkout not found")]).to.deep.equal([404, true]);
      await owner.get("/settings/workspace");
      const refused = await owner.post("/billing/checkout", { plan: "pro", interval: "monthly" });
      expect([refused.status, refused.text.includes('role="alert"')]).to.deep.equal([502, true]);
    });
  });
});
