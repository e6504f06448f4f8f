import { expect } from "chai";
import { workspacesOfUser } from "#projections/members/queries.ts";
import { acceptInvitation, findInvitation, firstOwnerLink } from "#src/commands/members/invitations.ts";
import { changeRole, invite } from "#src/commands/members/members.ts";
import { updateWorkspace } from "#src/commands/workspaces.ts";
import { BadLink } from "#src/platform/accounts/links.ts";
import { Rejected } from "#streams/decider.ts";
import { memberStream } from "#streams/member/events.ts";
import { operator } from "#test/support/cause.ts";
import { type Desk, deskOf } from "#test/support/desk.ts";
import { type InProcess, startInProcess, until, type Workspace } from "#test/support/inProcess.ts";
import { barrier } from "./framework/support.ts";

const dayMs = 86_400_000;

describe("members over HTTP", () => {
  let service: InProcess;
  let tenant: Workspace;
  let olga: Desk;
  let count = 0;

  before(async () => {
    service = await startInProcess();
    tenant = await service.workspace();
    olga = await deskOf(service, tenant.id, { role: "owner", name: "Olga Owner" });
  });
  after(() => service.stop());

  const someone = (name = "someone") => `${name}-${++count}@people.example`;
  const list = async (of = tenant) => (await of.ask("GET /v1/members?limit=100")).json.data;
  const inviting = async (email: string, role = "approver", of = tenant) =>
    of.ask("POST /v1/members", { json: { email, role } });
  const mailsTo = async (email: string) =>
    (await service.outbox.newest(100)).filter(({ envelope }) => envelope.to.includes(email));
  const tokenIn = (text: string): string => /\/invitation\/([\w-]{43})/.exec(text)![1]!;
  /** Waits until this address was mailed `number` links; returns their tokens, the newest first. */
  async function tokensOf(email: string, number = 1): Promise<string[]> {
    await until(async () => (await mailsTo(email)).length >= number);
    return (await mailsTo(email)).map(({ text }) => tokenIn(text));
  }
  /** Accepts the invitation as a user with this address; returns "accepted" or the reason of the refusal. */
  async function accepting(token: string, email: string): Promise<string> {
    const userId = service.deps.ids.uuid();
    try {
      await service.deps.users.handle(userId, { type: "RegisterUser", email, name: null }, operator());
      await acceptInvitation(service.deps, { token, as: async () => ({ userId, email }) }, operator());
      return "accepted";
    } catch (error) {
      if (error instanceof BadLink) return error.fault;
      if (error instanceof Rejected) return error.message;
      throw error;
    }
  }

  describe("members, by API key", () => {
    it("members are invited, listed, changed, invited again and removed", async () => {
      const email = someone("Ann");
      const made = await inviting(email);
      expect(made.status).to.equal(201);
      const { id, created_at, expires_at, ...shown } = made.json;
      expect(shown).to.deep.equal({
        ...{ user_id: null, email, name: null, role: "approver", status: "invited" },
        invited_by: { kind: "api_key", id: shown.invited_by.id, name: "test key" },
      });
      expect(Date.parse(expires_at) - Date.parse(created_at)).to.be.closeTo(7 * dayMs, 60_000);
      expect((await list()).find((member: { id: string }) => member.id === id)).to.deep.equal(made.json);
      const changed = await tenant.ask(`PATCH /v1/members/${id}`, { json: { role: "auditor" } });
      expect([changed.status, changed.json]).to.deep.equal([200, { ...made.json, role: "auditor" }]);
      const again = await tenant.ask(`POST /v1/members/${id}/resend`);
      expect([again.status, again.json.id]).to.deep.equal([200, id]);
      const gone = await tenant.ask(`DELETE /v1/members/${id}`);
      expect([gone.status, gone.json]).to.deep.equal([200, { id, deleted: true }]);
      expect((await list()).map((member: { id: string }) => member.id)).not.to.include(id);
      expect((await tenant.ask(`DELETE /v1/members/${id}`)).status).to.equal(404);
    });

    it("a second invitation of one address in the same role is answered 201 with the first member", async () => {
      const email = someone("twice");
      const first = await inviting(email);
      const second = await inviting(email.toUpperCase());
      expect([second.status, second.json.id]).to.deep.equal([201, first.json.id]);
      const other = await inviting(email, "admin");
      expect([other.status, other.json.field]).to.deep.equal([422, "role"]);
      const bea = await deskOf(service, tenant.id, { role: "auditor" });
      const active = await inviting(bea.user.email, "auditor");
      expect([active.status, active.json.id, active.json.status]).to.deep.equal([201, bea.user.memberId, "active"]);
    });

    it("a member is listed with their present name and address", async () => {
      const kim = await deskOf(service, tenant.id, { role: "approver", name: "Kim" });
      const email = someone("kim");
      await service.deps.users.handle(kim.user.id, { type: "RenameUser", name: "Kim Moved" }, operator());
      await service.deps.users.handle(kim.user.id, { type: "ChangeUserEmail", email }, operator());
      await service.caughtUp();
      const shown = (await list()).find(({ id }: { id: string }) => id === kim.user.memberId);
      expect(shown).to.include({ name: "Kim Moved", email, invited_by: null });
    });

    it("a key can neither invite, change nor remove an owner", async () => {
      const { memberId } = olga.user;
      for (const answer of [
        await inviting(someone(), "owner"),
        await tenant.ask(`PATCH /v1/members/${memberId}`, { json: { role: "admin" } }),
        await tenant.ask(`DELETE /v1/members/${memberId}`),
      ])
        expect(answer.outcome).to.equal("401 insufficient_scope");
    });

    it("a key cannot change members while the workspace or an identity requires a person's approval", async () => {
      const strict = await service.workspace();
      const { id } = (await inviting(someone(), "auditor", strict)).json;
      const refused = async (): Promise<void> => {
        for (const answer of [
          await inviting(someone(), "approver", strict),
          await strict.ask(`PATCH /v1/members/${id}`, { json: { role: "approver" } }),
          await strict.ask(`POST /v1/members/${id}/resend`),
          await strict.ask(`DELETE /v1/members/${id}`),
        ])
          expect(answer.outcome).to.equal("422 human_approval_required");
      };
      const require = (requireHumanApproval: boolean) =>
        updateWorkspace(
          service.deps,
          { workspaceId: strict.id, requireHumanApproval, mayLoosen: true },
          operator(strict.id),
        );
      await require(true);
      await refused();
      await require(false);
      await service.identity(strict.id, { requireHumanApproval: true });
      await refused();
      expect((await list(strict)).map(({ role }: { role: string }) => role)).to.deep.equal(["auditor"]);
      const owner = await deskOf(service, strict.id);
      await owner.get("/settings/members/invite");
      expect((await owner.post("/settings/members/invite", { email: someone(), role: "approver" })).location).to.equal(
        "/settings/members?done=invited",
      );
    });
  });

  describe("invitation of a member", () => {
    it("a mailed invitation makes its address a member, once, and every owner is notified", async () => {
      const email = someone("nina");
      const other = await deskOf(service, tenant.id, { role: "owner" });
      await olga.get("/settings/members/invite");
      expect((await olga.post("/settings/members/invite", { email, role: "approver" })).status).to.equal(303);
      const [token] = (await tokensOf(email)) as [string];
      const [letter] = await mailsTo(email);
      const { text, html } = letter!;
      expect(text).to.contain("the workspace “Test”").and.to.contain("as an approver");
      expect(text, "who invites").to.match(/“Olga Owner” \(.+\) invites you/);
      expect(html)
        .to.match(/<h1[^>]*>You are invited/)
        .and.to.contain("“Olga Owner”");
      expect(html, "a button").to.match(/<a href="[^"]+\/invitation\/[\w-]{43}"[^>]*>Accept the invitation<\/a>/);
      expect(await findInvitation(service.deps, token)).to.deep.equal({
        ...{ workspaceId: tenant.id, workspaceName: "Test", email, role: "approver" },
      });
      expect(await accepting(token, someone("eve"))).to.contain("this invitation is for another address");
      expect(await accepting(token, email.toUpperCase())).to.equal("accepted");
      expect(await accepting(token, email)).to.equal("used");
      await service.caughtUp();
      const member = (await list()).find((each: { email: string }) => each.email === email.toUpperCase());
      expect(member).to.include({ role: "approver", status: "active", expires_at: null });
      expect(await workspacesOfUser(service.deps.reads, member.user_id)).to.deep.equal([
        { id: tenant.id, name: "Test", role: "approver", member_id: member.id },
      ]);
      for (const owner of [olga, other]) {
        await until(async () => (await mailsTo(owner.user.email)).length > 0);
        const [joined] = await mailsTo(owner.user.email);
        expect(joined!.subject).to.equal("A new member joined your workspace");
        expect(joined!.html).to.match(/<a href="[^"]+\/settings\/members"[^>]*>Open the members<\/a>/);
      }
    });

    it("only the newest link of an invitation is valid", async () => {
      const email = someone("renewed");
      const { id } = (await inviting(email)).json;
      await tokensOf(email);
      await tenant.ask(`POST /v1/members/${id}/resend`);
      const [newest, older] = (await tokensOf(email, 2)) as [string, string];
      expect(await accepting(older, email)).to.equal("replaced");
      expect(await accepting(newest, email)).to.equal("accepted");
    });

    it("a withdrawn invitation is refused", async () => {
      const email = someone("withdrawn");
      const { id } = (await inviting(email)).json;
      const [token] = (await tokensOf(email)) as [string];
      await tenant.ask(`DELETE /v1/members/${id}`);
      expect(await accepting(token, email)).to.contain("this invitation was withdrawn");
    });

    it("an invitation by the operator is not mailed", async () => {
      const email = someone("quiet");
      await invite(service.deps, { workspaceId: tenant.id, email, role: "auditor" }, operator(tenant.id));
      const later = someone("later");
      await inviting(later);
      await tokensOf(later);
      expect(await mailsTo(email)).to.deep.equal([]);
    });

    it("an invitation without an address makes one first owner; only its newest link is valid", async () => {
      const { id } = await service.workspace();
      const [older, newest] = [await firstOwnerLink(service.deps, id), await firstOwnerLink(service.deps, id)];
      expect(await accepting(tokenIn(older!), someone())).to.equal("replaced");
      expect(await findInvitation(service.deps, tokenIn(newest!))).to.include({ email: null, role: "owner" });
      expect(await accepting(tokenIn(newest!), someone("first"))).to.equal("accepted");
      expect(await firstOwnerLink(service.deps, id)).to.equal(undefined);
    });
  });

  describe("loss of a role", () => {
    it("of two owners who demote each other at the same moment one stays an owner", async () => {
      const { id } = await service.workspace();
      const [one, two] = [await deskOf(service, id), await deskOf(service, id)] as const;
      await Promise.all([
        one.get(`/settings/members/${two.user.memberId}`),
        two.get(`/settings/members/${one.user.memberId}`),
      ]);
      const answers = await Promise.all([
        one.post(`/settings/members/${two.user.memberId}/role`, { role: "approver" }),
        two.post(`/settings/members/${one.user.memberId}/role`, { role: "approver" }),
      ]);
      expect(answers.filter(({ status }) => status === 303)).to.have.length(1);
      const { members } = (await service.deps.members.load(id)).state;
      expect(members.filter(({ role }) => role === "owner")).to.have.length(1);
    });

    it("a removed member's request in flight and next request are refused", async () => {
      const ben = await deskOf(service, tenant.id, { role: "auditor" });
      expect((await ben.get("/settings/members")).status).to.equal(200);
      const [locked, free] = [barrier<void>(), barrier<void>()];
      const held = service.database.owner.transaction(async (tx) => {
        await tx.query("lock table read.members in access exclusive mode");
        locked.open();
        await free.opened;
      });
      await locked.opened;
      const underWay = ben.get("/settings/members");
      await until(async () => (await waitingFor("members")) > 0);
      const removal = tenant.ask(`DELETE /v1/members/${ben.user.memberId}`);
      const revoked = "select 1 from work.revocations where key_id = $1";
      const isRevoked = async () => (await service.database.query(revoked, [ben.sessionId])).rows.length > 0;
      await until(isRevoked).finally(free.open);
      await held;
      expect((await underWay).status).to.equal(401);
      expect((await removal).status).to.equal(200);
      expect((await ben.get("/settings/members")).status).to.equal(403);
    });

    it("a command that was authorised before a role was changed is refused", async () => {
      const ada = await deskOf(service, tenant.id, { role: "admin" });
      const { revision } = await service.deps.members.load(tenant.id);
      const cause = { ...operator(tenant.id), keyGuard: { stream: memberStream(tenant.id), revision } };
      await changeRole(
        service.deps,
        { workspaceId: tenant.id, memberId: ada.user.memberId, role: "auditor" },
        operator(tenant.id),
      );
      const rename = updateWorkspace(service.deps, { workspaceId: tenant.id, name: "Mine" }, cause);
      const outcome = await rename.then(
        () => "appended",
        (error: Rejected) => error.code,
      );
      expect(outcome).to.equal("unauthorized");
    });

    it("a changed role is in force in the member's session as soon as the change is answered", async () => {
      const max = await deskOf(service, tenant.id, { role: "admin" });
      expect((await max.get("/settings/members/invite")).status).to.equal(200);
      await olga.get(`/settings/members/${max.user.memberId}`);
      const done = await olga.post(`/settings/members/${max.user.memberId}/role`, { role: "auditor" });
      expect(done.location).to.equal("/settings/members?done=memberChanged");
      const before = max.cookies.get("countersign");
      expect((await max.get("/settings/members/invite")).status).to.equal(403);
      expect(max.cookies.get("countersign")).not.to.equal(before);
    });
  });

  it("a removed member's event stream ends, also if two requests renewed the session at once", async () => {
    const { sessions } = service.deps.accounts;
    const ben = await deskOf(service, tenant.id, { role: "approver" });
    const cookie = ben.cookies.get("countersign")!;
    await sessions.renew(ben.user.id, tenant.id);
    // Two requests have the old token: this one finds it due for renewal, the other has already renewed it.
    const { find } = sessions;
    let found = 0;
    sessions.find = async (...asked) => {
      const session = await find(...asked);
      if (session?.due && ++found === 1) await sessions.rotate(session.id);
      return session;
    };
    let stream: Response;
    try {
      const headers = { cookie: `countersign=${cookie}`, accept: "text/event-stream" };
      stream = await fetch(`${service.url}/console/events`, { headers });
    } finally {
      sessions.find = find;
    }
    expect(stream.status).to.equal(200);
    const removed = await tenant.ask(`DELETE /v1/members/${ben.user.memberId}`);
    expect(removed.status).to.equal(200);
    // The event stream ends at once, not at the next heartbeat.
    const ended = await stream.text().then(
      () => true,
      () => true,
    );
    expect(ended).to.equal(true);
  });

  describe("the page /settings/members", () => {
    it("the members page offers what the viewer's role allows, and the route refuses everything else", async () => {
      const desks = await Promise.all(
        (["admin", "approver", "auditor"] as const).map((role) => deskOf(service, tenant.id, { role })),
      );
      const [admin, approver, auditor] = desks as [Desk, Desk, Desk];
      const owners = `/settings/members/${olga.user.memberId}`;
      const seen = await olga.get("/settings/members");
      expect(seen.page).to.contain("Olga Owner (you)").and.to.contain(approver.user.email);
      expect(seen.text).to.contain(owners);
      const asAdmin = await admin.get("/settings/members");
      expect(asAdmin.text).to.contain(`/settings/members/${approver.user.memberId}`).and.not.to.contain(owners);
      expect((await admin.get("/settings/members/invite")).text).not.to.contain('value="owner"');
      const asked = await admin.post("/settings/members/invite", { email: someone(), role: "owner" });
      expect([asked.status, asked.page.includes("An admin cannot add, change or remove an owner")]).to.deep.equal([
        403,
        true,
      ]);
      expect((await admin.post(`${owners}/remove`)).status).to.equal(403);
      const asAuditor = await auditor.get("/settings/members");
      expect(asAuditor.page).to.contain(approver.user.email).and.not.to.contain("Invite somebody");
      expect(asAuditor.text).not.to.contain("/settings/members/0");
      expect((await auditor.post(`/settings/members/${approver.user.memberId}/remove`)).status).to.equal(403);
      const asApprover = await approver.get("/settings/members");
      expect(asApprover.page).to.contain("You are an approver").and.not.to.contain(admin.user.email);
      expect((await approver.post("/settings/members/invite", { email: someone(), role: "auditor" })).status).to.equal(
        403,
      );
    });

    it("a refused invitation form shows what was typed, escaped", async () => {
      await olga.get("/settings/members/invite");
      const refused = await olga.post("/settings/members/invite", { email: "no <address>", role: "admin" });
      expect(refused.status).to.equal(422);
      expect(refused.text).to.contain('value="no &lt;address&gt;"').and.to.contain('value="admin" selected');
      expect(refused.text).to.contain('aria-describedby="email-error"');
    });

    it("every member can leave a workspace, except its only owner", async () => {
      const { id } = await service.workspace();
      const [owner, approver] = [await deskOf(service, id), await deskOf(service, id, { role: "approver" })];
      await approver.get("/settings/members");
      expect((await approver.post("/settings/members/leave")).status).to.equal(303);
      expect((await approver.get("/settings/members")).status).to.equal(403);
      expect((await owner.get("/settings/members")).text).not.to.contain('action="/settings/members/leave"');
      expect((await owner.post("/settings/members/leave")).status).to.equal(422);
      expect((await owner.get("/settings/members")).status).to.equal(200);
    });
  });

  // Last, because these tests move the service's clock forward.
  describe("members as time passes", () => {
    it("a change of members asks for the password again after 11 minutes", async () => {
      service.clock.advance(11 * 60_000);
      await olga.get("/settings/members");
      const sent = await olga.post("/settings/members/invite", { email: someone(), role: "approver" });
      expect([sent.status, sent.location?.startsWith("/settings/confirm?next=")]).to.deep.equal([303, true]);
    });

    it("an invitation expires after seven days", async () => {
      const email = someone("late");
      await inviting(email);
      const [token] = (await tokensOf(email)) as [string];
      service.clock.advance(7 * dayMs);
      expect(await accepting(token, email)).to.match(/expired/);
    });
  });

  const waitingFor = async (table: string): Promise<number> =>
    (
      await service.database.query(
        "select 1 from pg_locks l join pg_class c on c.oid = l.relation where c.relname = $1 and not l.granted",
        [table],
      )
    ).rows.length;
});
