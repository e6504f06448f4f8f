import { randomUUID } from "node:crypto";
import { expect } from "chai";
import type { Browser, Page } from "playwright-core";
import { changeMarks } from "#projections/changeMarks.ts";
import { complaintsOf, needsBrowser, openWindow, startBrowser } from "#test/support/browser.ts";
import { type Desk, type DeskPage, deskOf } from "#test/support/desk.ts";
import { type InProcess, mail, startInProcess, until, type Workspace } from "#test/support/inProcess.ts";

/** The page where people decide, without script: over plain HTTP. */
describe("the console's review page", () => {
  let service: InProcess;
  let workspace: Workspace;
  let identity: { id: string; address: string };
  let ben: Desk;
  let joan: Desk;

  before(async () => {
    service = await startInProcess();
    workspace = await service.workspace();
    identity = await service.identity(workspace.id);
    ben = await deskOf(service, workspace.id, { role: "approver", name: "Ben" });
    joan = await deskOf(service, workspace.id, { role: "admin", name: "Joan" });
  });
  after(() => service.stop());

  /** A message, and a draft that answers it and waits. */
  async function waits(subject: string, of = identity, body: Record<string, unknown> = { body_text: "It comes." }) {
    const id = `${randomUUID()}@customer.example`;
    await service.deliver(of.address, mail({ id, to: of.address, subject }));
    const { json: threads } = await workspace.ask(`GET /v1/threads?identity_id=${of.id}&limit=100`);
    const thread = threads.data.find((each: { subject: string }) => each.subject === subject);
    const { json: messages } = await workspace.ask(`GET /v1/threads/${thread.id}/messages`);
    const { json: draft, status } = await workspace.ask("POST /v1/drafts", {
      json: { thread_id: thread.id, identity_id: of.id, based_on_message_id: messages.data[0].id, ...body },
    });
    expect(status, JSON.stringify(draft)).to.equal(201);
    return { id: draft.id as string, threadId: thread.id as string, subject };
  }

  const statusOf = async (id: string) => (await workspace.ask(`GET /v1/drafts/${id}`)).json.status;
  const historyOf = async (id: string) => {
    const { json } = await workspace.ask(`GET /v1/drafts/${id}/history?limit=100`);
    return json.data as { type: string; actor: { kind: string; id: string; name: string }; data: any }[];
  };
  /** The page's words, without blanks before punctuation. */
  const said = ({ page }: DeskPage) => page.replace(/ ([.,:])/g, "$1");
  const shownBy = (desk: Desk, id: string) => desk.get(`/review?draft=${id}`);
  const listed = ({ text }: DeskPage) => [...text.matchAll(/id="waits-([^"]+)"/g)].map(([, id]) => id);

  it("the review page says that nothing waits, and tells an owner without identities to set one up", async () => {
    const nobody = await service.workspace();
    const page = await (await deskOf(service, nobody.id, { role: "approver" })).get("/review");
    expect(page.status).to.equal(200);
    expect(page.page).to.contain("There are no drafts to review.").and.not.contain("Set one up");
    // A member who may set up the workspace is shown where to begin, while there is no identity.
    const owner = await deskOf(service, nobody.id, { role: "owner" });
    expect((await owner.get("/review")).page).to.contain("Set one up for your agent");
    await service.identity(nobody.id);
    expect((await owner.get("/review")).page).not.to.contain("Set one up");
  });

  it("the review page lists drafts by priority, then by time until escalation, then by waiting time", async () => {
    const escalating = await service.identity(workspace.id, {
      displayName: "Escalating",
      approvalChannel: { type: "email", config: { to: "first@people.example" } },
      secondaryApprovalChannel: { type: "email", config: { to: "second@people.example" } },
      escalationDelayMinutes: 30,
    });
    const older = await waits("older");
    const newer = await waits("newer");
    const soon = await waits("soon", escalating);
    const urgent = await waits("urgent");
    await workspace.ask(`PATCH /v1/threads/${urgent.threadId}`, { json: { priority: "urgent" } });
    await service.caughtUp();
    const all = await ben.get("/review");
    expect(listed(all)).to.deep.equal([urgent.id, soon.id, older.id, newer.id]);
    // The most urgent one is shown beside the list.
    expect(all.text).to.contain(`action="/review/${urgent.id}/approve"`);
    const filtered = await ben.get(`/review?identity=${escalating.id}`);
    expect(listed(filtered)).to.deep.equal([soon.id]);
    expect(filtered.page).to.contain("another approver is asked in 29 minutes");
    expect(listed(await ben.get("/review?priority=urgent"))).to.deep.equal([urgent.id]);
    const none = await ben.get("/review?hours=4");
    expect(listed(none)).to.deep.equal([]);
    expect(none.page).to.contain("No draft matches").and.not.to.contain("All done");
    // A draft that is not on the page of the list that was asked for is listed with its own page.
    expect(listed(await ben.get(`/review?draft=${urgent.id}&from=50`))).to.contain(urgent.id);
    // Each row says who wrote, about what, how it begins and to whom.
    const row = filtered.text
      .slice(filtered.text.indexOf(`id="waits-${soon.id}"`))
      .replace(/<[^>]+>/g, " ")
      .replace(/\s+/g, " ");
    expect(row).to.contain("Ann Example just now soon Where is it? Escalating");
    for (const { id } of [older, newer, soon, urgent])
      await workspace.ask(`POST /v1/drafts/${id}/reject`, { json: {} });
  });

  it("an approval sends the shown draft, opens the next one, and can be undone until the draft is sent", async () => {
    const first = await waits("first");
    const second = await waits("second");
    const page = await shownBy(ben, first.id);
    expect(page.page).to.contain("Approve & send").and.to.contain("It comes.");
    const pressed = await ben.post(`/review/${first.id}/approve`, { version: "1", next: second.id });
    expect(pressed.status).to.equal(303);
    expect(pressed.location).to.equal(`/review?draft=${second.id}&decided=${first.id}`);
    // Moves the clock back, so that the ten seconds are not over even on a busy machine.
    service.clock.advance(-120_000);
    for (const reload of [1, 2]) {
      const next = await ben.get(pressed.location!);
      expect(said(next), `load ${reload}`).to.contain(
        "You approved first. It will be sent to ann@customer.example in a few seconds.",
      );
      expect(next.text)
        .to.contain(`action="/review/${first.id}/undo"`)
        .and.to.contain(`action="/review/${second.id}/approve"`);
    }
    // The other members see the decision immediately, and who made it.
    const seen = await shownBy(joan, first.id);
    expect(said(seen)).to.contain("Approved, and not sent yet by Ben").and.to.contain("Message 1 of 1.");
    expect(seen.text).not.to.contain(`action="/review/${first.id}/approve"`);

    await ben.get(pressed.location!);
    const undone = await ben.post(`/review/${first.id}/undo`);
    expect(undone.location).to.equal(`/review?draft=${first.id}&done=taken_back`);
    expect(await statusOf(first.id)).to.equal("pending");
    expect((await ben.get(undone.location!)).page).to.contain("Your approval is undone.");

    await ben.post(`/review/${first.id}/approve`, { version: "1" });
    service.clock.advance(131_000);
    await until(async () => (await statusOf(first.id)) === "sent");
    const late = await ben.post(`/review/${first.id}/undo`);
    expect(late.status).to.equal(422);
    expect(said(late)).to.contain("It could not be undone").and.to.contain("Approved and sent by Ben");
  });

  it("after a decision, a draft that another member decided meanwhile is passed over", async () => {
    const of = await service.identity(workspace.id, { displayName: "Shared queue" });
    const first = await waits("decided", of);
    const second = await waits("passed over", of);
    const third = await waits("shown next", of);
    await joan.get("/review");
    await joan.post(`/review/${second.id}/reject`, { version: "1" });
    await ben.get("/review");
    const done = await ben.post(`/review/${first.id}/approve`, {
      version: "1",
      next: second.id,
      identity: of.id,
    });
    const page = await ben.get(done.location!);
    expect(page.text).to.contain(`action="/review/${third.id}/approve"`).and.not.to.contain("Rejected by Joan");
    await ben.post(`/review/${first.id}/undo`);
    for (const { id } of [first, third]) await workspace.ask(`POST /v1/drafts/${id}/reject`, { json: {} });
  });

  it("an approved draft becomes pending again if its customer was answered by hand before it was sent", async () => {
    const { id, threadId } = await waits("answered by hand");
    await ben.post(`/review/${id}/approve`, { version: "1" });
    service.clock.advance(-120_000);
    const { json: messages } = await workspace.ask(`GET /v1/threads/${threadId}/messages`);
    await joan.get(`/threads/${threadId}`);
    const typed = { body_text: "It came.", how: "send", based_on_message_id: messages.data[0].id, once: randomUUID() };
    const reply = await joan.post(`/threads/${threadId}/reply`, typed);
    expect(reply.location).to.equal(`/threads/${threadId}?done=replySent`);
    // The other draft was approved before, so it may be queued first.
    service.clock.advance(131_000);
    const statuses = async () => {
      const { json } = await workspace.ask(`GET /v1/drafts?thread_id=${threadId}`);
      return json.data.map(({ status }: { status: string }) => status).sort();
    };
    await until(async () => (await statuses()).join() === "pending,sent");
    const { json } = await workspace.ask(`GET /v1/drafts?thread_id=${threadId}&status=pending`);
    const [asked] = json.data;
    expect(asked.answered_meanwhile.by.name).to.be.oneOf(["Ben", "Joan"]);
    const page = await shownBy(ben, asked.id);
    expect(said(page)).to.match(/This message was already answered, by “(?:Ben|Joan)” on /);
    expect(page.text).to.contain(`action="/review/${asked.id}/approve"`);
    const { json: sent } = await workspace.ask(`GET /v1/threads/${threadId}/messages`);
    expect(sent.data.filter((each: any) => each.direction === "outbound")).to.have.length(1);
    await workspace.ask(`POST /v1/drafts/${asked.id}/reject`, { json: {} });
  });

  it("the review page promises that nothing is sent before the decision only if no API key and no rule may send", async () => {
    const guarded = await service.identity(workspace.id, { requireHumanApproval: true });
    const [free, kept] = [await waits("free"), await waits("guarded", guarded)];
    expect(said(await shownBy(ben, kept.id))).to.contain("Nothing is sent before you decide.");
    expect(said(await shownBy(ben, free.id)))
      .to.contain("Nothing is sent before you decide, unless a program with an API key or a rule sends it first.")
      .and.not.contain("Nothing is sent before you decide.");
    for (const { id } of [free, kept]) await workspace.ask(`POST /v1/drafts/${id}/reject`, { json: {} });
    // While there is one such identity, the workspace's members are no key's.
    expect((await workspace.ask(`DELETE /v1/identities/${guarded.id}`)).status).to.equal(200);
  });

  it("a certain note about the answered message is a warning, and not a hint", async () => {
    const raw = [
      ...["Message-ID: <hidden@customer.example>", "From: ann@customer.example", "Subject: hidden"],
      ...["MIME-Version: 1.0", "Content-Type: text/html", "", '<p>Hello</p><p style="display:none">Unseen words</p>'],
    ].join("\r\n");
    await service.deliver(identity.address, raw);
    const { json: threads } = await workspace.ask(`GET /v1/threads?identity_id=${identity.id}&limit=100`);
    const thread = threads.data.find(({ subject }: { subject: string }) => subject === "hidden");
    const { json: messages } = await workspace.ask(`GET /v1/threads/${thread.id}/messages`);
    const basis = { thread_id: thread.id, identity_id: identity.id, based_on_message_id: messages.data[0].id };
    const { json: draft } = await workspace.ask("POST /v1/drafts", { json: { ...basis, body_text: "Hello." } });
    const page = said(await shownBy(ben, draft.id));
    expect(page).to.contain(`About the message that it answers: ${messages.data[0].notes[0]}`);
    expect(page).to.contain("Unseen words").and.not.contain("Hint: The mail");
    await workspace.ask(`POST /v1/drafts/${draft.id}/reject`, { json: {} });
  });

  it("a button that is pressed twice decides once", async () => {
    const { id } = await waits("twice");
    await shownBy(ben, id);
    const presses = await Promise.all([1, 2].map(() => ben.post(`/review/${id}/approve`, { version: "1" })));
    expect(presses.map(({ status }) => status)).to.deep.equal([303, 303]);
    const approvals = (await historyOf(id)).filter(({ type }) => type === "DraftApproved");
    expect(approvals.map(({ actor }) => [actor.kind, actor.name])).to.deep.equal([["session", "Ben"]]);
    await ben.post(`/review/${id}/undo`);
    await shownBy(ben, id);
    const rejections = await Promise.all(
      [1, 2].map(() => ben.post(`/review/${id}/reject`, { version: "1", reason: "no" })),
    );
    expect(rejections.map(({ status }) => status)).to.deep.equal([303, 303]);
  });

  it("a decision about a version that was not shown is refused, and the page keeps the reason and shows the change", async () => {
    const { id } = await waits("changing");
    await shownBy(ben, id);
    await workspace.ask(`PATCH /v1/drafts/${id}`, { json: { body_text: "It comes tomorrow." } });
    const other = await ben.post(`/review/${id}/approve`, { version: "2", hash: "0".repeat(64) });
    expect(other.status).to.equal(412);
    for (const decision of ["approve", "reject"]) {
      const refused = await ben.post(`/review/${id}/${decision}`, { version: "1", reason: "my words" });
      expect(refused.status, decision).to.equal(412);
      expect(said(refused)).to.contain("Nothing was decided. The draft changed while you were reading.");
      expect(said(refused)).to.contain("What changed since version 1").and.to.contain("It comes tomorrow.");
      expect(refused.text).to.contain('name="version" value="2"');
      if (decision === "reject") expect(refused.text).to.contain("my words</textarea>");
    }
    expect(await statusOf(id)).to.equal("pending");
    // The refreshed list says that the draft changed; the shown letter stays.
    const refreshed = await ben.get(`/review?draft=${id}&shown=1&newer=no`);
    expect(said(refreshed)).to.contain("This draft changed while you were reading: version 2 is now the newest.");
    expect(said(await shownBy(ben, id))).not.to.contain("This draft changed while you were reading");
    await workspace.ask(`POST /v1/drafts/${id}/reject`, { json: {} });
  });

  it("an approver whose colleague decided first is told who decided, and what", async () => {
    const { id } = await waits("contested");
    await shownBy(ben, id);
    await shownBy(joan, id);
    await joan.post(`/review/${id}/reject`, { version: "1", reason: "Not like this." });
    const refused = await ben.post(`/review/${id}/approve`, { version: "1" });
    expect(refused.status).to.equal(422);
    expect(said(refused))
      .to.contain("Someone else got there first")
      .and.to.contain("Rejected by Joan")
      .and.to.contain("Reason: Not like this.");
    const edited = await ben.post(`/review/${id}/edit`, { version: "1", text: "Mine", html: "", act: "approve" });
    expect(edited.status).to.equal(409);
    expect(said(edited)).to.contain("Rejected by Joan");
  });

  it("the review page offers earlier reasons for a rejection, and a typed reason wins", async () => {
    const first = await waits("a reason");
    await shownBy(ben, first.id);
    const done = await ben.post(`/review/${first.id}/reject`, { version: "1", reason: "The tone is <wrong>." });
    expect(said(await ben.get(done.location!))).to.contain("You rejected a reason. The agent is notified.");
    const second = await waits("again");
    const page = await shownBy(ben, second.id);
    expect(page.text).to.contain('<option value="The tone is &lt;wrong&gt;.">');
    await ben.post(`/review/${second.id}/reject`, { version: "1", said: "The tone is <wrong>.", reason: "" });
    expect((await historyOf(second.id)).at(-1)?.data.reason).to.equal("The tone is <wrong>.");
    const third = await waits("once more");
    await shownBy(ben, third.id);
    await ben.post(`/review/${third.id}/reject`, { version: "1", said: "The tone is <wrong>.", reason: "Mine." });
    expect((await historyOf(third.id)).at(-1)?.data.reason).to.equal("Mine.");
  });

  it("a draft whose customer has written again is not sent when it is approved, and the page says so", async () => {
    const { id, subject } = await waits("stale");
    const { json: draft } = await workspace.ask(`GET /v1/drafts/${id}`);
    await shownBy(ben, id);
    await service.deliver(
      identity.address,
      mail({
        id: `${randomUUID()}@customer.example`,
        to: identity.address,
        subject,
        inReplyTo: draft.in_reply_to.slice(1, -1),
        text: "Never mind!",
      }),
    );
    const refreshed = await ben.get(`/review?draft=${id}&shown=1&newer=no`);
    expect(said(refreshed)).to.contain("A newer message has arrived. This draft cannot be sent.");
    const refused = await ben.post(`/review/${id}/approve`, { version: "1" });
    expect(refused.status).to.equal(409);
    expect(said(refused)).to.contain("A newer message has arrived, so it was not sent.");
    expect(await statusOf(id)).to.equal("stale");
  });

  it("an edit with approval stores a new version whose HTML is made from the text, and approves it", async () => {
    const { id } = await waits("edited", identity, { body_html: "<p>It <b>comes</b>.</p>" });
    const page = await ben.get(`/review/${id}/edit`);
    expect(page.text).to.contain("It comes.</textarea>").and.to.contain("&lt;b&gt;comes&lt;/b&gt;");
    const html = "<p>It <b>comes</b>.</p>";
    const done = await ben.post(`/review/${id}/edit`, {
      version: "1",
      text: "It comes\r\non Monday.",
      html,
      act: "approve",
    });
    expect(done.location).to.equal(`/review?decided=${id}`);
    const { json: draft } = await workspace.ask(`GET /v1/drafts/${id}`);
    expect([draft.version, draft.body_text, draft.decided_by.name]).to.deep.equal([2, "It comes\non Monday.", "Ben"]);
    expect(draft.body_html).to.contain("on Monday.").and.not.to.contain("<b>");
    await ben.get("/review");
    await ben.post(`/review/${id}/undo`);
    await workspace.ask(`POST /v1/drafts/${id}/reject`, { json: {} });
  });

  it("concurrent edits of a draft keep both texts", async () => {
    const { id } = await waits("both");
    await ben.get(`/review/${id}/edit`);
    await joan.get(`/review/${id}/edit`);
    const saved = await joan.post(`/review/${id}/edit`, { version: "1", text: "Joan's text", html: "", act: "save" });
    expect(saved.location).to.equal(`/review?draft=${id}&done=saved`);
    const refused = await ben.post(`/review/${id}/edit`, {
      version: "1",
      text: "Ben's text",
      html: "",
      act: "approve",
    });
    expect(refused.status).to.equal(412);
    expect(refused.text).to.contain("Ben&#39;s text</textarea>").and.to.contain('name="version" value="2"');
    expect(said(refused))
      .to.contain("Joan's text")
      .and.to.contain("Another member changed this draft while you were editing.");
    expect((await workspace.ask(`GET /v1/drafts/${id}`)).json.body_text).to.equal("Joan's text");
    await workspace.ask(`POST /v1/drafts/${id}/reject`, { json: {} });
  });

  it("the review page says that sending is paused, by whom and why, and only an admin may resume it", async () => {
    const { id } = await waits("paused");
    await joan.get("/review");
    const paused = await joan.post("/review/pause", { pause_reason: "The prices are <wrong>" });
    expect(paused.location).to.equal("/review?done=paused");
    const page = await shownBy(ben, id);
    expect(said(page)).to.contain("Sending is paused Joan paused it").and.to.contain("Why: The prices are <wrong>");
    expect(said(page)).to.contain(
      "Sending is paused in this workspace. If you approve it now, it will be sent automatically",
    );
    expect(page.text).not.to.contain('action="/review/resume"');
    expect((await ben.post("/review/resume")).status).to.equal(403);
    await joan.get("/review");
    expect((await joan.post("/review/resume")).location).to.equal("/review?done=resumed");
    expect(said(await shownBy(ben, id))).not.to.contain("Sending is paused");
    await workspace.ask(`POST /v1/drafts/${id}/reject`, { json: {} });
  });

  it("the review page shows who has approved and how many are missing, and an approver can undo their approval", async () => {
    const two = await service.identity(workspace.id, { displayName: "Two", approvalsRequired: 2 });
    const { id } = await waits("votes", two);
    expect(said(await shownBy(ben, id))).to.contain("0 of 2 approvals given, 2 are missing.");
    const voted = await ben.post(`/review/${id}/approve`, { version: "1" });
    expect(said(await ben.get(voted.location!))).to.contain("Your approval of votes counts: 1 of 2 approvals given.");
    expect(said(await shownBy(ben, id))).to.contain("You have approved this version.");
    expect(said(await shownBy(joan, id))).to.contain("1 of 2 approvals given, 1 is missing. Ben,");
    await shownBy(ben, id);
    await ben.post(`/review/${id}/undo`);
    expect(said(await shownBy(joan, id))).to.contain("0 of 2 approvals given");
    await workspace.ask(`POST /v1/drafts/${id}/reject`, { json: {} });
  });

  it("the review page names members of the workspace who have the draft open, until they close it", async () => {
    const { id } = await waits("seen");
    await shownBy(ben, id);
    const told = await ben.post(`/review/${id}/looking`);
    expect(told.page).not.to.contain("looking at this");
    expect(said(await shownBy(joan, id))).to.contain("Ben is looking at this too.");
    expect(said(await joan.post(`/review/${id}/looking`))).to.contain("Ben is looking at this too.");
    expect(said(await shownBy(ben, id))).to.contain("Joan is looking at this too.");
    await service.database.query(
      "update work.presence set seen_at = seen_at - interval '26 seconds' where draft_id = $1",
      [id],
    );
    expect(said(await shownBy(joan, id))).not.to.contain("looking at this");
    // Rows of people who viewed the draft long ago are deleted.
    await service.database.query(
      "update work.presence set seen_at = seen_at - interval '10 minutes' where draft_id = $1",
      [id],
    );
    await joan.post(`/review/${id}/looking`);
    const { rows } = await service.database.query<{ name: string }>(
      "select name from work.presence where draft_id = $1",
      [id],
    );
    expect(rows).to.deep.equal([{ name: "Joan" }]);
    await workspace.ask(`POST /v1/drafts/${id}/reject`, { json: {} });
  });

  it("a draft of another workspace is neither shown nor changed", async () => {
    const { id } = await waits("secret plans");
    const stranger = await deskOf(service, (await service.workspace()).id, { role: "owner" });
    for (const path of [`/review?draft=${id}`, `/review?decided=${id}`, `/review?identity=${identity.id}`]) {
      expect((await stranger.get(path)).text, path).not.to.contain("secret plans");
    }
    expect((await stranger.get(`/review/${id}/edit`)).status).to.equal(404);
    expect((await stranger.get(`/review/${id}/attachments/1`)).status).to.equal(404);
    await stranger.get("/review");
    for (const form of ["approve", "reject", "undo", "ask-again", "edit", "looking"]) {
      const answer = await stranger.post(`/review/${id}/${form}`, { version: "1", text: "x", act: "approve" });
      expect(answer.text, form).not.to.contain("secret plans");
      const ofNoId = await stranger.post(`/review/%00/${form}`, { version: "1", text: "x", act: "approve" });
      expect(ofNoId.status, `${form} of no id`).to.be.below(500);
    }
    expect((await historyOf(id)).filter(({ actor }) => actor.kind === "session")).to.deep.equal([]);
    await workspace.ask(`POST /v1/drafts/${id}/reject`, { json: {} });
  });

  it("an auditor is offered no decision, and every decision of an auditor is refused", async () => {
    const { id } = await waits("audited");
    const auditor = await deskOf(service, workspace.id, { role: "auditor" });
    const page = await shownBy(auditor, id);
    expect(said(page)).to.contain("Your role in this workspace does not allow you to decide about drafts.");
    expect(page.text).not.to.contain("/approve");
    for (const form of ["approve", "reject", "undo", "edit"]) {
      const answer = await auditor.post(`/review/${id}/${form}`, { version: "1", text: "x", act: "approve" });
      expect(answer.status, form).to.equal(403);
    }
    expect(await statusOf(id)).to.equal("pending");
    await workspace.ask(`POST /v1/drafts/${id}/reject`, { json: {} });
  });

  describe("the console's event stream", () => {
    /** Reads the live events as a page's script does. */
    async function listen(desk: Desk) {
      const cookie = [...desk.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
      const response = await fetch(`${service.url}/console/events`, {
        headers: { Accept: "text/event-stream", Cookie: cookie, "Sec-Fetch-Site": "same-origin" },
        redirect: "manual",
      });
      const heard = { text: "", over: false };
      const reading = (async () => {
        const decoder = new TextDecoder();
        try {
          for await (const chunk of response.body ?? [])
            heard.text += decoder.decode(chunk as Uint8Array, { stream: true });
        } catch {
          // Cut off.
        }
        heard.over = true;
      })();
      return { response, heard, reading, close: () => response.body?.cancel().catch(() => undefined) };
    }
    const hears = async (heard: { text: string; over: boolean }, words: string) => {
      await until(async () => heard.over || heard.text.includes(words));
      expect(heard.text).to.contain(words);
    };

    it("the event stream notifies other members of a decision by the kind of change alone, and ends at sign-out", async () => {
      const { id } = await waits("confidential");
      const dora = await deskOf(service, workspace.id, { role: "admin", name: "Dora" });
      const stream = await listen(dora);
      expect(stream.response.headers.get("content-type")).to.contain("text/event-stream");
      await hears(stream.heard, "event: hello");
      await shownBy(ben, id);
      const rejected = await ben.post(`/review/${id}/reject`, { version: "1", reason: "confidential too" });
      expect(rejected.status, rejected.page).to.equal(303);
      await hears(stream.heard, "event: drafts");
      const names = new Set([...stream.heard.text.matchAll(/^(?:event|data): (.*)$/gm)].map(([, name]) => name));
      expect([...names].sort()).to.deep.equal(["changed", "drafts", "hello", "threads"]);
      await dora.get("/review");
      await dora.post("/review/pause");
      await hears(stream.heard, "event: workspace");
      await dora.post("/review/resume");
      await dora.post(`/auth/sign-out`);
      // After the sign-out the open stream ends without a further event.
      await stream.reading;
      expect(stream.heard.over).to.equal(true);
      expect((await listen(dora)).response.status).to.equal(401);
    });

    it("the change mark of drafts is the newest event's position, however many digits it has", async () => {
      const { rows } = await service.database.reads
        .of(workspace.id)
        .query<{ ends: string }>("select max(changed_position)::text as ends from drafts where workspace_id = $1", [
          workspace.id,
        ]);
      expect((await changeMarks(service.deps.reads, workspace.id)).drafts).to.equal(rows[0]?.ends);
    });

    it("the event stream of a removed member ends, and a sixth page of one session is refused", async () => {
      const carl = await deskOf(service, workspace.id, { role: "approver", name: "Carl" });
      const streams = await Promise.all([1, 2, 3, 4, 5].map(() => listen(carl)));
      for (const { heard } of streams) await hears(heard, "event: hello");
      expect((await listen(carl)).response.status).to.equal(429);
      const owner = await deskOf(service, workspace.id, { role: "owner" });
      const removed = await workspace.ask(`DELETE /v1/members/${carl.user.memberId}`);
      expect(removed.status, removed.text).to.equal(200);
      await Promise.all(streams.map(({ reading }) => reading));
      expect(owner.user.memberId).not.to.equal(carl.user.memberId);
    });

    it("the console's event stream is not found for an API key", async () => {
      const answer = await workspace.ask("GET /console/events", { headers: { Accept: "text/event-stream" } });
      expect(answer.status).to.equal(404);
    });
  });

  describe("the review page in a real browser", () => {
    let browser: Browser;

    before(async function () {
      needsBrowser(this);
      browser = await startBrowser();
    });
    after(() => browser?.close());

    /** A window where this person is signed in, with what the page complains about. */
    async function openedBy(desk: Desk, path: string): Promise<{ page: Page; complaints: string[] }> {
      const window = await openWindow(browser, { size: "desktop", colours: "light" });
      await window.addCookies([...desk.cookies].map(([name, value]) => ({ name, value, url: service.url })));
      const page = await window.newPage();
      page.setDefaultTimeout(90_000);
      const complaints = complaintsOf(page);
      // Once it listens, what happens is told.
      const listening = page.waitForResponse((response) => response.url().endsWith("/console/events"));
      await page.goto(service.url + path);
      await listening;
      return { page, complaints };
    }

    it("the review page refreshes its list without losing typed text or moving the focus", async () => {
      const shown = await waits("shown in a window");
      const other = await waits("decided elsewhere");
      const { page, complaints } = await openedBy(ben, `/review?draft=${shown.id}`);
      await page.keyboard.press("r");
      await page.fill("textarea[name=reason]", "half a sen");
      await page.focus("textarea[name=reason]");
      await page.evaluate("document.querySelector('textarea[name=reason]').setSelectionRange(4, 4)");
      // A refresh waits even for the part in which the person types.
      const answered = page.waitForResponse((response) => response.url().includes("/review?"));
      await page.evaluate(
        "void htmx.ajax('GET', location.href, { target: '#chosen', select: '#chosen', swap: 'outerHTML' })",
      );
      await answered;
      await workspace.ask(`POST /v1/drafts/${other.id}/reject`, { json: {} });
      await page.waitForSelector(`#waits-${other.id}`, { state: "detached" });
      await workspace.ask(`PATCH /v1/drafts/${shown.id}`, { json: { body_text: "Another text." } });
      await page.waitForSelector("#standing .alert");
      expect(await page.textContent("#standing")).to.contain("version 2 is now the newest");
      await page.waitForFunction(
        "document.querySelector('p.unseen[role=status]').textContent.includes('changed while you were reading')",
      );
      expect(await page.inputValue("textarea[name=reason]")).to.equal("half a sen");
      const at = "document.activeElement.name + ' ' + document.activeElement.selectionStart";
      expect(await page.evaluate(at)).to.equal("reason 4");
      // The letter that was read is still the one that is shown, and its button decides about no other.
      expect(await page.textContent("#chosen"))
        .to.contain("It comes.")
        .and.not.to.contain("Another text.");
      await page.click("#approve");
      await page.waitForSelector("[role=alert]");
      expect(await page.textContent("#chosen")).to.contain("The draft changed while you were reading.");
      expect(await statusOf(shown.id)).to.equal("pending");
      expect(complaints.filter((each) => !each.includes("412"))).to.deep.equal([]);
      await workspace.ask(`POST /v1/drafts/${shown.id}/reject`, { json: {} });
      await page.context().close();
    });

    it("keyboard shortcuts do nothing while a field is typed in, and can be switched off", async () => {
      const first = await waits("by keys");
      const second = await waits("by keys, too");
      const { page, complaints } = await openedBy(ben, `/review?draft=${first.id}`);
      await page.keyboard.press("r");
      await page.keyboard.type("a jar, really");
      expect(await page.inputValue("textarea[name=reason]")).to.equal("a jar, really");
      await page.fill("textarea[name=reason]", "");
      await page.evaluate("document.activeElement.blur()");
      await page.keyboard.press("a");
      await page.keyboard.press("a");
      expect(await page.evaluate("document.activeElement.id")).to.equal("approve");
      expect(await statusOf(first.id)).to.equal("pending");
      await page.keyboard.press("j");
      await page.waitForURL(`**/review?draft=${second.id}*`);
      await page.keyboard.press("k");
      await page.waitForURL(`**/review?draft=${first.id}*`);
      await page.keyboard.press("r");
      expect(await page.evaluate("document.activeElement.name + document.activeElement.value")).to.equal("reason");
      await page.evaluate("document.activeElement.blur()");
      await page.keyboard.press("Shift+?");
      await page.click("[data-keys-switch]");
      await page.reload();
      await page.keyboard.press("a");
      expect(await page.evaluate("document.activeElement.id")).to.equal("");
      await page.keyboard.press("Shift+?");
      await page.click("#keys summary");
      await page.click("[data-keys-switch]");
      await page.evaluate("document.activeElement.blur()");
      await page.waitForTimeout(700);
      await page.keyboard.press("a");
      await page.keyboard.press("Enter");
      await page.waitForURL(`**decided=${first.id}*`);
      expect((await historyOf(first.id)).filter(({ type }) => type === "DraftApproved")).to.have.length(1);
      expect(complaints).to.deep.equal([]);
      for (const { id } of [first, second]) await workspace.ask(`POST /v1/drafts/${id}/reject`, { json: {} });
      await page.context().close();
    });

    it("the browser sends the reader's time zone, and that the reader has the draft open", async () => {
      const { id } = await waits("looked at");
      const { page } = await openedBy(joan, `/review?draft=${id}`);
      await until(async () => said(await shownBy(ben, id)).includes("Joan is looking at this too."));
      const cookies = await page.context().cookies();
      expect(cookies.find(({ name }) => name === "countersign_zone")?.value).to.equal("Europe%2FBerlin");
      await page.context().close();
    });
  });
});
