import { expect } from "chai";
import { deskOf } from "#test/support/desk.ts";
import type { InProcess } from "#test/support/inProcess.ts";
import { until } from "#test/support/inProcess.ts";
import type { StoryDraft } from "#test/support/story/draft.ts";
import type { StoryTenant } from "#test/support/story/story.ts";
import { startStory } from "#test/support/story/story.ts";

type Choice = "approve" | "reject" | "request_changes";

describe("POST /v1/drafts/{id}/request-changes", () => {
  let service: InProcess;
  let tenant: StoryTenant;

  before(async () => {
    ({ service, tenant } = await startStory(
      {},
      { identity: { approvalChannel: { type: "email", config: { to: "boss@example.com" } } } },
    ));
  });
  after(() => service.stop());

  const newDraft = async (): Promise<StoryDraft> => tenant.draft(await tenant.mail());
  const request = (draft: StoryDraft, text = "Say when it arrives.", version?: number) =>
    draft.ask("POST request-changes", {
      json: { text },
      ...(version !== undefined && { headers: { "If-Match": `"${version}"` } }),
    });

  /** Opens the approval link and presses the button for a choice. */
  async function press(link: string, choice: Choice, reason = "") {
    const address = new URL(link);
    const url = service.url + address.pathname;
    const page = await (await fetch(url)).text();
    const form = page.split("<form").find((part) => part.includes(`value="${choice}"`)) ?? "";
    const nonce = /name="nonce" value="([^"]*)"/.exec(form)?.[1] ?? "";
    const answer = await fetch(url, { method: "POST", body: new URLSearchParams({ decision: choice, nonce, reason }) });
    return { status: answer.status, page: await answer.text(), before: page };
  }

  it("requested changes are shown on the pending draft, in its history and in the feed", async () => {
    const draft = await newDraft();
    const answer = await request(draft, "  Say when it arrives. ");
    expect(answer.status, answer.text).to.equal(200);
    const { status, changes_requested: requested } = answer.json;
    expect(status).to.equal("pending");
    expect(requested).to.deep.include({ text: "Say when it arrives.", version: 1 });
    expect(requested.by.kind).to.equal("api_key");
    const types = (await draft.history()).map(({ type }) => type);
    expect(types).to.include("ChangesRequested");
    await service.caughtUp();
    const { data } = (await tenant.ask("GET /v1/events?types=draft.changes_requested&limit=100")).json;
    const told = data.find((event: any) => event.data.draft_id === draft.id);
    expect(told.data).to.deep.include({ text: "Say when it arrives.", version: 1, thread_id: draft.threadId });
  });

  it("approving and sending by key answer 409 changes_requested with the text until the draft is edited", async () => {
    const draft = await newDraft();
    await request(draft);
    for (const line of ["POST approve", "POST send"]) {
      const refused = await draft.ask(line);
      expect([refused.status, refused.json.error, refused.json.text, refused.json.version], line).to.deep.equal([
        409,
        "changes_requested",
        "Say when it arrives.",
        1,
      ]);
    }
    const edited = await draft.edit({ body_text: "It arrives tomorrow." });
    expect([edited.version, edited.changes_requested]).to.deep.equal([2, null]);
    expect((await draft.approve()).status).to.equal("approved");
  });

  it("a request for changes takes effect for the named version only, once, and not beside another one", async () => {
    const draft = await newDraft();
    expect((await request(draft, "Shorter.", 2)).status).to.equal(412);
    expect((await request(draft, "Shorter.", 1)).status).to.equal(200);
    expect((await request(draft, "Shorter.", 1)).status).to.equal(200);
    expect((await request(draft, "Longer.", 1)).json.error).to.equal("changes_requested");
    const types = (await draft.history()).map(({ type }) => type);
    expect(types.filter((type) => type === "ChangesRequested")).to.have.length(1);
    await draft.reject("no");
    const late = await request(draft);
    expect([late.status, late.json.error]).to.deep.equal([422, "invalid_status"]);
  });

  it("an empty, blank or too long text of a request for changes is refused and names the field", async () => {
    const draft = await newDraft();
    for (const text of ["", "   ", "x".repeat(2049)]) {
      const refused = await request(draft, text);
      expect([refused.status, refused.json.error, refused.json.field]).to.deep.equal([422, "invalid_request", "text"]);
    }
    expect((await draft.read()).changes_requested).to.equal(null);
  });

  it("an API key without write:approvals can neither ask for changes nor withdraw the request", async () => {
    const draft = await newDraft();
    const agent = tenant.withKey(await tenant.keyOf(["read:threads", "write:drafts"]));
    for (const path of ["request-changes", "withdraw-changes-request"]) {
      const json = path === "request-changes" ? { text: "Mine." } : {};
      const refused = await agent.ask(`POST /v1/drafts/${draft.id}/${path}`, { json });
      expect([refused.status, refused.json.error], path).to.deep.equal([401, "insufficient_scope"]);
    }
    const edit = await agent.ask(`PATCH /v1/drafts/${draft.id}`, { json: { body_text: "Revised." } });
    expect(edit.status).to.equal(200);
  });

  it("a withdrawn request lets the draft be approved, and its approvers are asked again", async () => {
    const draft = await newDraft();
    const first = await draft.approvalMail();
    await request(draft);
    const answer = await draft.ask("POST withdraw-changes-request");
    expect([answer.status, answer.json.changes_requested]).to.deep.equal([200, null]);
    await until(async () => (await draft.history()).filter(({ type }) => type === "ApproversAsked").length === 2);
    expect((await press(first.link(), "approve")).page).to.include("<h1>Approved");
  });

  it("an approval link asks for changes, closes its buttons, and the next mail quotes the request beside the difference", async () => {
    const draft = await newDraft();
    const mail = await draft.approvalMail();
    expect(mail.text).to.include("ASK FOR CHANGES");
    const asked = await press(mail.link(), "request_changes", "Say when it arrives.");
    expect([asked.status, asked.page.includes("The agent is asked for changes")]).to.deep.equal([200, true]);
    for (const [link, choice] of [
      [mail.link("reject"), "reject"],
      [mail.link(), "approve"],
    ] as const) {
      const late = await press(link, choice);
      expect(late.before).to.include("Changes are requested").and.not.include("<form");
    }
    const { changes_requested: requested, status } = await draft.read();
    expect([status, requested.by.kind, requested.text]).to.deep.equal([
      "pending",
      "email_link",
      "Say when it arrives.",
    ]);
    await draft.edit({ body_text: "It arrives tomorrow." });
    let next: string | undefined;
    await until(async () => {
      next = (await service.outbox.newest(200)).find(
        ({ text }) => text.includes("It arrives tomorrow.") && text.includes("asked for changes"),
      )?.text;
      return next !== undefined;
    });
    expect(next?.replace(/\s+/g, " ")).to.include("asked for changes to version 1: “Say when it arrives.”");
  });

  it("a press to ask for changes without a text decides nothing and keeps the page", async () => {
    const draft = await newDraft();
    const mail = await draft.approvalMail();
    const empty = await press(mail.link(), "request_changes", "  ");
    expect([empty.status, empty.page.includes("Please write what the agent should change")]).to.deep.equal([422, true]);
    expect((await draft.read()).changes_requested).to.equal(null);
  });

  it("an edit of the rationale alone answers the request, and the approver is told that the mail is the same", async () => {
    const draft = await newDraft();
    const mail = await draft.approvalMail();
    await press(mail.link(), "request_changes", "Explain it.");
    await draft.edit({ rationale: "The tracking page says so." });
    let next = "";
    await until(async () => {
      next = (await service.outbox.newest(200)).find(({ text }) => text.includes("“Explain it.”"))?.text ?? "";
      return next !== "";
    });
    expect(next.replace(/\s+/g, " ")).to.include("The mail to be sent is the same.");
  });

  it("a signed-in approver asks for changes in the console, withdraws the request, and sees who waits", async () => {
    const draft = await newDraft();
    const [desk, other] = [
      await deskOf(service, tenant.id, { role: "approver", name: "Ann" }),
      await deskOf(service, tenant.id, { role: "approver", name: "Bob" }),
    ];
    const page = await desk.get(`/review?draft=${draft.id}`);
    const fields = (text: string) =>
      Object.fromEntries(
        [...text.matchAll(/name="(version|hash)" value="([^"]*)"/g)].map(([, name, value]) => [name, value]),
      );
    const blank = await desk.post(`/review/${draft.id}/request-changes`, { ...fields(page.text), wish: " " });
    expect(blank.status).to.equal(422);
    const done = await desk.post(`/review/${draft.id}/request-changes`, {
      ...fields(page.text),
      wish: "Friendlier.",
    });
    expect(done.status, done.page).to.equal(303);
    const shown = await other.get(`/review?draft=${draft.id}`);
    expect(shown.page).to.include("Friendlier.").and.include("The agent is asked for changes");
    expect(shown.text).not.to.include(`/review/${draft.id}/approve"`);
    const refused = await other.post(`/review/${draft.id}/withdraw-changes-request`, fields(shown.text));
    expect([refused.status, refused.location]).to.deep.equal([422, null]);
    const own = await desk.get(`/review?draft=${draft.id}`);
    await desk.post(`/review/${draft.id}/withdraw-changes-request`, fields(own.text));
    expect((await draft.read()).changes_requested).to.equal(null);
  });

  it("a concurrent approval, edit, rejection and request for changes have one consistent end", async () => {
    for (let round = 0; round < 6; round++) {
      const draft = await newDraft();
      const answers = await Promise.all([
        request(draft, "Shorter.", 1),
        draft.ask("POST approve", { headers: { "If-Match": '"1"' } }),
        draft.ask("PATCH", { json: { body_text: `Edited ${round}.` }, headers: { "If-Match": '"1"' } }),
      ]);
      await service.caughtUp();
      const types = (await draft.history()).map(({ type }) => type);
      const [asked, approved, edited] = answers.map(({ status }) => status === 200);
      const end = await draft.read();
      // An approval and an open request for the same version exclude each other.
      if (asked && approved) expect(types.indexOf("DraftApproved")).to.be.greaterThan(types.indexOf("DraftEdited"));
      expect(end.status === "approved" && end.changes_requested !== null).to.equal(false);
      expect([asked, approved, edited]).to.include(true);
      expect(types.filter((type) => type === "ChangesRequested").length).to.equal(asked ? 1 : 0);
    }
  });
});
