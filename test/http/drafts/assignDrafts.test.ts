import { expect } from "chai";
import { type Desk, deskOf } from "#test/support/desk.ts";
import type { InProcess } from "#test/support/inProcess.ts";
import type { StoryDraft } from "#test/support/story/draft.ts";
import type { StoryTenant } from "#test/support/story/story.ts";
import { startStory } from "#test/support/story/story.ts";

describe("POST /v1/drafts/{id}/assign", () => {
  let service: InProcess;
  let tenant: StoryTenant;
  let ann: Desk;
  before(async () => {
    ({ service, tenant } = await startStory());
    ann = await deskOf(service, tenant.id, { role: "approver", name: "Ann Example" });
  });
  after(() => service.stop());

  const newDraft = async (): Promise<StoryDraft> => tenant.draft(await tenant.mail());
  const assign = (draft: StoryDraft, userId: unknown) => draft.ask("POST assign", { json: { user_id: userId } });
  const press = async (desk: Desk, draft: StoryDraft, fields: string | Record<string, string>) => {
    await desk.get(`/review?draft=${draft.id}`);
    return desk.post(`/review/${draft.id}/assign`, typeof fields === "string" ? { user_id: fields } : fields);
  };

  it("an assigned draft names the member, in its history and the feed too, until it is assigned to nobody", async () => {
    const draft = await newDraft();
    expect((await draft.read()).assigned_to).to.equal(null);
    const answer = await assign(draft, ann.user.id);
    expect(answer.status, answer.text).to.equal(200);
    expect(answer.json.assigned_to).to.deep.equal({ user_id: ann.user.id, name: "Ann Example" });
    await assign(draft, ann.user.id);
    const types = async () => (await draft.history()).map(({ type }) => type);
    expect((await types()).filter((type) => type === "DraftAssigned")).to.have.length(1);
    await service.caughtUp();
    const { data } = (await tenant.ask("GET /v1/events?types=draft.assigned&limit=100")).json;
    const told = data.find((event: any) => event.data.draft_id === draft.id);
    expect(told.data.assigned_to).to.deep.equal({ user_id: ann.user.id, name: "Ann Example" });
    expect((await assign(draft, null)).json.assigned_to).to.equal(null);
  });

  it("an assignee stays through a new version, ends with the decision, and a decided draft is not assigned (409)", async () => {
    const draft = await newDraft();
    await assign(draft, ann.user.id);
    await draft.edit({ body_text: "Another version." });
    expect((await draft.read()).assigned_to.user_id).to.equal(ann.user.id);
    // It restricts nobody: a key rejects what Ann has taken.
    await draft.reject("no");
    expect((await draft.read()).assigned_to).to.equal(null);
    const late = await assign(draft, ann.user.id);
    expect([late.status, late.json.error]).to.deep.equal([409, "invalid_request"]);
  });

  it("only members of the workspace who may decide are assigned; everybody else is the same 404 for user_id", async () => {
    const draft = await newDraft();
    const auditor = await deskOf(service, tenant.id, { role: "auditor" });
    const removed = await deskOf(service, tenant.id, { role: "approver" });
    expect((await tenant.ask(`DELETE /v1/members/${removed.user.memberId}`)).status).to.equal(200);
    const other = await service.workspace();
    const stranger = await deskOf(service, other.id, { role: "owner" });
    const nobody = "00000000-0000-7000-8000-000000000001";
    const answers = new Set<string>();
    for (const id of [auditor.user.id, removed.user.id, stranger.user.id, nobody]) {
      const { status, json } = await assign(draft, id);
      answers.add(JSON.stringify([status, json.error, json.field, json.message]));
    }
    expect([...answers]).to.have.length(1);
    expect([...answers][0]).to.match(/^\[404,"not_found","user_id"/);
    for (const wrong of ["x", 7, undefined]) expect((await assign(draft, wrong)).status).to.equal(422);
    expect((await draft.read()).assigned_to).to.equal(null);
  });

  it("an assignee who is removed or made an auditor is shown no longer", async () => {
    for (const change of ["removed", "auditor"]) {
      const draft = await newDraft();
      const member = await deskOf(service, tenant.id, { role: "approver" });
      expect((await assign(draft, member.user.id)).json.assigned_to.user_id).to.equal(member.user.id);
      const line = `/v1/members/${member.user.memberId}`;
      const done =
        change === "removed"
          ? await tenant.ask(`DELETE ${line}`)
          : await tenant.ask(`PATCH ${line}`, { json: { role: "auditor" } });
      expect(done.status, change).to.equal(200);
      expect((await draft.read()).assigned_to, change).to.equal(null);
    }
  });

  it("a key needs write:approvals to assign a draft", async () => {
    const draft = await newDraft();
    const agent = tenant.withKey(await tenant.keyOf(["read:threads", "write:drafts"]));
    const refused = await agent.ask(`POST /v1/drafts/${draft.id}/assign`, { json: { user_id: null } });
    expect([refused.status, refused.json.error]).to.deep.equal([401, "insufficient_scope"]);
    const approver = tenant.withKey(await tenant.keyOf(["read:threads", "write:drafts", "write:approvals"]));
    const done = await approver.ask(`POST /v1/drafts/${draft.id}/assign`, { json: { user_id: ann.user.id } });
    expect(done.status, done.text).to.equal(200);
  });

  it("a draft of another workspace is not found, whoever is named", async () => {
    const draft = await newDraft();
    const other = await service.workspace();
    for (const id of [ann.user.id, null]) {
      const { status } = await other.ask(`POST /v1/drafts/${draft.id}/assign`, { json: { user_id: id } });
      expect(status).to.equal(404);
    }
  });

  it("an approval that races with assignments is recorded once, and a late assignment is refused", async () => {
    for (let round = 0; round < 4; round++) {
      const draft = await newDraft();
      const assignments = async () => {
        const answers = [];
        for (let turn = 0; turn < 8; turn++) answers.push(await assign(draft, turn % 2 === 0 ? ann.user.id : null));
        return answers;
      };
      const [approved, assigned] = await Promise.all([draft.ask("POST approve"), assignments()]);
      expect(approved.status, approved.text).to.equal(200);
      for (const { status, json } of assigned)
        expect(status === 200 || (status === 409 && json.error === "invalid_request"), json.message).to.equal(true);
      const types = (await draft.history()).map(({ type }) => type);
      const decidedAt = types.indexOf("DraftApproved");
      expect(types.filter((type) => type === "DraftApproved")).to.have.length(1);
      expect(types.slice(decidedAt)).not.to.include("DraftAssigned");
      expect((await draft.read()).assigned_to).to.equal(null);
    }
  });

  it("people take a draft, hand it over and release it in the console, and the list says who has it", async () => {
    const draft = await newDraft();
    const ben = await deskOf(service, tenant.id, { role: "admin", name: "Ben Example" });
    const shown = async (desk: Desk, query = "") => (await desk.get(`/review?draft=${draft.id}${query}`)).page;
    expect(await shown(ann)).to.include("Nobody has taken this draft. This restricts nobody");
    expect((await press(ann, draft, ann.user.id)).location).to.include("done=assigned");
    expect(await shown(ann))
      .to.include("You have taken this draft.")
      .and.to.include(", yours");
    expect(await shown(ben))
      .to.include("Ann Example has taken this draft.")
      .and.to.include(", with Ann Example");
    await press(ann, draft, ben.user.id);
    expect(await shown(ben)).to.include("You have taken this draft.");
    const listed = async (desk: Desk, assigned: string) =>
      (await desk.get(`/review?assigned=${assigned}`)).text.includes(`id="waits-${draft.id}"`);
    expect([await listed(ben, "mine"), await listed(ben, "nobody"), await listed(ann, "mine")]).to.deep.equal([
      true,
      false,
      false,
    ]);
    await press(ben, draft, "");
    expect([await listed(ben, "mine"), await listed(ben, "nobody")]).to.deep.equal([false, true]);
  });

  it("a forged form, an auditor and a person of another workspace assign nothing", async () => {
    const draft = await newDraft();
    const auditor = await deskOf(service, tenant.id, { role: "auditor" });
    const stranger = await deskOf(service, (await service.workspace()).id, { role: "owner" });
    expect((await press(ann, draft, { user_id: ann.user.id, form_token: "forged" })).status).to.equal(403);
    expect((await auditor.get(`/review?draft=${draft.id}`)).text).not.to.include(`/review/${draft.id}/assign`);
    expect((await press(auditor, draft, ann.user.id)).status).to.be.within(401, 403);
    expect((await press(stranger, draft, stranger.user.id)).status).to.be.within(200, 404);
    expect((await press(ann, draft, stranger.user.id)).status).to.equal(404);
    const head = (await draft.history()).map(({ type }) => type);
    for (let n = 0; n < 5; n += 1) await ann.get(`/review?draft=${draft.id}&user_id=${ann.user.id}`);
    expect(head).not.to.include("DraftAssigned");
    expect((await draft.history()).map(({ type }) => type)).to.deep.equal(head);
  });
});
