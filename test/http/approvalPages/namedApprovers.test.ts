import { expect } from "chai";
import { deskOf } from "#test/support/desk.ts";
import type { InProcess } from "#test/support/inProcess.ts";
import type { StoryTenant } from "#test/support/story/story.ts";
import { startStory } from "#test/support/story/story.ts";

describe("a workspace that requires named approvers", () => {
  let service: InProcess;
  let tenant: StoryTenant;
  const to = "boss@example.com";
  before(async () => {
    ({ service, tenant } = await startStory({}, { identity: { approvalChannel: { type: "email", config: { to } } } }));
  });
  after(() => service.stop());
  afterEach(() => named(false));

  const named = async (required: boolean): Promise<void> => {
    const answer = await tenant.ask("PATCH /v1/workspaces/me", { json: { require_named_approvers: required } });
    expect([answer.status, answer.json.require_named_approvers], answer.text).to.deep.equal([200, required]);
  };
  const newDraft = async () => tenant.draft(await tenant.mail());
  const nonceOf = (page: string, choice: string): string => {
    const form = page.split("<form").find((part) => part.includes(`value="${choice}"`)) ?? "";
    return /name="nonce" value="([^"]*)"/.exec(form)?.[1] ?? "";
  };

  it("an approval link leads to the draft behind the sign-in, and its mail says so", async () => {
    await named(true);
    const draft = await newDraft();
    const mail = await draft.approvalMail(to);
    expect(mail.text).to.include("The links ask you to sign in.").and.not.include("Anyone who has this mail");
    for (const decision of ["approve", "reject"] as const) {
      const path = new URL(mail.link(decision)).pathname;
      const answer = await fetch(service.url + path, { redirect: "manual" });
      expect([answer.status, answer.headers.get("location")]).to.deep.equal([303, `/review?draft=${draft.id}`]);
    }
    const member = await deskOf(service, tenant.id, { role: "approver" });
    expect((await member.get(`/review?draft=${draft.id}`)).page).to.include("On its way.");
  });

  it("a press with a nonce from before named approvers were required decides nothing, whichever choice", async () => {
    const draft = await newDraft();
    const mail = await draft.approvalMail(to);
    const url = service.url + new URL(mail.link()).pathname;
    const page = await (await fetch(url)).text();
    await named(true);
    for (const decision of ["approve", "reject", "request_changes"]) {
      const body = new URLSearchParams({ decision, nonce: nonceOf(page, decision), reason: "x" });
      const answer = await fetch(url, { method: "POST", body });
      expect([answer.status, (await answer.text()).includes("Sign in to decide")], decision).to.deep.equal([409, true]);
    }
    const { status, changes_requested: requested } = await draft.read();
    expect([status, requested]).to.deep.equal(["pending", null]);
  });

  it("an approval by link that races with the requirement is recorded before it or not at all", async () => {
    for (let round = 0; round < 4; round++) {
      const draft = await newDraft();
      const mail = await draft.approvalMail(to);
      const url = service.url + new URL(mail.link()).pathname;
      const nonce = nonceOf(await (await fetch(url)).text(), "approve");
      const body = new URLSearchParams({ decision: "approve", nonce });
      await Promise.all([named(true), fetch(url, { method: "POST", body })]);
      const events = [
        ...(await service.store.read(`draft-${draft.id}`)),
        ...(await service.store.read(`workspace-${tenant.id}`)),
      ].sort((one, other) => one.position - other.position);
      const required = events.findLastIndex(({ type }) => type === "NamedApproversRequired");
      const approved = events.findIndex(({ type }) => type === "DraftApproved");
      expect(approved).to.be.below(required);
      await named(false);
    }
  });

  it("turning named approvers off needs write:approvals by key, and the password in the console", async () => {
    await named(true);
    const key = await tenant.keyOf(["read:workspace", "write:workspace"]);
    const refused = await tenant
      .withKey(key)
      .ask("PATCH /v1/workspaces/me", { json: { require_named_approvers: false } });
    expect([refused.status, refused.json.error]).to.deep.equal([401, "insufficient_scope"]);
    const owner = await deskOf(service, tenant.id, { role: "owner" });
    expect((await owner.get("/settings/workspace")).page).to.include("lead to the sign-in");
    service.clock.advance(11 * 60_000);
    const page = await owner.get("/settings/workspace/waive-sign-in");
    expect([page.status, page.location?.split("?")[0]]).to.deep.equal([303, "/settings/confirm"]);
  });
});
