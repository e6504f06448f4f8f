import { randomBytes, randomUUID } from "node:crypto";
import { expect } from "chai";
import { faultsOf, markOf, payload } from "#test/attacks/words/hostile.ts";
import { axeFindings, needsBrowser, openWindow, startBrowser } from "#test/support/browser.ts";
import { type Desk, deskOf } from "#test/support/desk.ts";
import { type Identity, type InProcess, mail, startInProcess, type Workspace } from "#test/support/inProcess.ts";

const svg = "<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>";

/** A mail with HTML and an attachment. */
const rich = (id: string, { subject = "Files", filename = "x.svg", html = "<p>Hi <b>there</b></p>" } = {}): string =>
  [
    `Message-ID: <${id}>`,
    "From: Ann <ann@customer.example>",
    "To: agent@agents.localhost, bob@customer.example",
    `Subject: ${subject}`,
    "Date: Mon, 16 Nov 2026 10:00:00 +0000",
    "MIME-Version: 1.0",
    'Content-Type: multipart/mixed; boundary="b"',
    "",
    "--b",
    "Content-Type: text/html; charset=utf-8",
    "",
    html,
    "--b",
    "Content-Type: image/svg+xml",
    `Content-Disposition: attachment; filename="${filename}"`,
    "Content-Transfer-Encoding: base64",
    "",
    Buffer.from(svg).toString("base64"),
    "--b--",
    "",
  ].join("\r\n");

describe("the console's conversations", () => {
  let service: InProcess;
  let workspace: Workspace;
  let identity: Identity;
  let owner: Desk;
  let approver: Desk;
  let auditor: Desk;
  let stranger: Desk;
  /** A mail with a file, in a conversation that several tests look at. */
  let filed: { id: string; messageId: string; message: any };

  before(async () => {
    service = await startInProcess();
    workspace = await service.workspace();
    identity = await service.identity(workspace.id, { displayName: "Support desk" });
    owner = await deskOf(service, workspace.id, { role: "owner", name: "Olga Owner" });
    approver = await deskOf(service, workspace.id, { role: "approver" });
    auditor = await deskOf(service, workspace.id, { role: "auditor" });
    stranger = await deskOf(service, (await service.workspace()).id, { role: "owner" });
    filed = await conversation(rich(`${randomUUID()}@x.example`));
  });
  after(() => service.stop());

  /** A conversation of one mail: its ids. */
  async function conversation(raw = mail({ id: `${randomUUID()}@x.example` })) {
    await service.deliver(identity.address, raw);
    const { json } = await workspace.ask("GET /v1/threads?limit=1");
    const { id } = json.data[0];
    const { json: messages } = await workspace.ask(`GET /v1/threads/${id}/messages`);
    return { id: id as string, messageId: messages.data[0].id as string, message: messages.data[0] };
  }

  /** The customer writes again. */
  const again = (rfcId: string, text: string) =>
    service.deliver(
      identity.address,
      mail({ id: `${randomUUID()}@x.example`, inReplyTo: rfcId.replace(/[<>]/g, ""), text }),
    );

  const draftFor = async ({ id, messageId }: { id: string; messageId: string }, text = "An agent's answer.") =>
    (
      await workspace.ask("POST /v1/drafts", {
        json: { thread_id: id, identity_id: identity.id, based_on_message_id: messageId, body_text: text },
      })
    ).json;

  describe("the list of conversations", () => {
    it("in a browser, the filters stand below their heading, at the left edge and side by side", async function () {
      needsBrowser(this);
      const browser = await startBrowser();
      const window = await openWindow(browser, { size: "desktop", colours: "light" });
      await window.addCookies([...owner.cookies].map(([name, value]) => ({ name, value, url: service.url })));
      const page = await window.newPage();
      await page.goto(`${service.url}/threads?status=open`);
      const placeOf = async (selector: string) => (await page.locator(selector).boundingBox())!;
      const heading = await placeOf(".filters summary");
      const [from, identityField] = [await placeOf("#contact"), await placeOf("#identity_id")];
      expect(from.x).to.equal(heading.x);
      expect(from.y).to.be.above(heading.y);
      expect(identityField.x).to.be.above(from.x + from.width);
      expect(await axeFindings(page)).to.deep.equal([]);
      await browser.close();
    });

    it("an empty list of conversations says that no mail has arrived, and shows nothing of other workspaces", async () => {
      const { status, page, text } = await stranger.get("/threads");
      expect(status).to.equal(200);
      expect(page).to.contain("No mail has arrived yet");
      expect(text).not.to.contain(filed.id);
    });

    it("the list shows each conversation, and finds those that match the filters", async () => {
      const { id } = await conversation(
        mail({ id: "parrot@x.example", subject: "My parrot", text: "It is dead, my parrot." }),
      );
      const all = await owner.get("/threads");
      expect(all.status).to.equal(200);
      expect(all.page).to.match(/Ann Example My parrot It is dead, my parrot\. Open Support desk/);
      const found = async (query: string) => (await owner.get(`/threads?${query}`)).text.includes(id);
      expect(await found("q=parrot&contact=ann&status=open&priority=normal&needs_review=false&sort=priority")).to.equal(
        true,
      );
      expect(await found(`identity_id=${identity.id}&from_date=2020-01-01&to_date=`)).to.equal(true);
      expect(await found("status=closed")).to.equal(false);
      expect(await found("q=cheese")).to.equal(false);
      expect(await found("to_date=2020-01-01")).to.equal(false);
    });

    it("a mistyped filter shows the API's error at its field, and no list", async () => {
      const date = await owner.get("/threads?from_date=yesterday");
      expect(date.status).to.equal(422);
      expect(date.text)
        .to.match(/id="from_date-error">Expected [^<]*\.</)
        .and.to.contain('<a href="#from_date">')
        .and.not.to.contain('id="conversations"');
      const unknown = await owner.get("/threads?colour=red");
      expect(unknown.status).to.equal(422);
      expect(unknown.page).to.contain("colour");
    });

    it("the list of conversations links to older pages by the API's cursor, and back", async () => {
      await conversation(mail({ id: "new@x.example", subject: "The newest" }));
      const first = await owner.get("/threads?status=open&limit=1");
      expect(first.page).to.contain("The newest").and.not.to.contain("My parrot");
      const older = /href="([^"]+)" rel="next">Older conversations/.exec(first.text)![1]!.replaceAll("&amp;", "&");
      const second = await owner.get(older);
      expect(second.page).to.contain("My parrot").and.not.to.contain("The newest");
      expect(second.text).to.contain('href="/threads?status=open&amp;limit=1"');
      const forged = await owner.get(older.replace(/cursor=(.)/, (_, first) => `cursor=${first === "A" ? "B" : "A"}`));
      expect(forged.status).to.equal(422);
    });
  });

  describe("the page of a conversation", () => {
    it("a conversation's page links its draft, and says why the conversation was not answered", async () => {
      const asked = await conversation();
      expect((await owner.get(`/threads/${asked.id}`)).page).to.contain(
        "Not answered yet: No draft has been written since this message.",
      );
      const draft = await draftFor(asked);
      const seen = await owner.get(`/threads/${asked.id}`);
      expect(seen.status).to.equal(200);
      expect(seen.page).to.match(/A draft has been waiting for a decision since/);
      expect(seen.text).to.contain(`href="/drafts/${draft.id}"`);
      await workspace.ask(`POST /v1/drafts/${draft.id}/reject`, { json: { reason: "Too short" } });
      expect((await owner.get(`/threads/${asked.id}`)).page)
        .to.contain("rejected the draft")
        .and.to.contain("“Too short”");
    });

    it("a conversation, its messages and its files are not found from another workspace", async () => {
      const { id, messageId, message } = filed;
      const [attachment] = message.attachments;
      const paths = [
        `/threads/${id}`,
        `/messages/${messageId}/source`,
        `/messages/${messageId}/raw`,
        `/messages/${messageId}/attachments/${attachment.id}`,
      ];
      for (const path of paths) {
        expect((await owner.get(path)).status, path).to.equal(200);
        const foreign = await stranger.get(path);
        expect(foreign.status, path).to.equal(404);
        expect(foreign.text).not.to.contain("Ann");
        expect((await owner.get(path.replace(/[0-9a-f]{8}-[0-9a-f-]{27}/, randomUUID()))).status, path).to.equal(404);
      }
      expect((await owner.get(`/messages/${messageId}/attachments/none`)).status).to.equal(404);
      expect((await owner.get("/threads/none")).status).to.equal(404);
      await stranger.get("/threads");
      expect((await stranger.post(`/threads/${id}`, { status: "closed" })).status).to.equal(404);
      for (const of of [id, "none"]) {
        expect((await stranger.post(`/threads/${of}/reply`, { body_text: "Hi", how: "send" })).status, of).to.equal(
          404,
        );
      }
    });

    it("attachments and sources of mail are downloads that no browser shows or runs", async () => {
      const { messageId, message } = filed;
      const { headers, text } = await owner.get(`/messages/${messageId}/attachments/${message.attachments[0].id}`);
      expect(text).to.equal(svg);
      expect(headers.get("content-type")).to.equal("application/octet-stream");
      expect(headers.get("content-disposition")).to.match(/^attachment; filename="x\.svg"/);
      expect(headers.get("x-content-type-options")).to.equal("nosniff");
      expect(headers.get("content-security-policy")).to.equal("default-src 'none'; sandbox");
      const raw = await owner.get(`/messages/${messageId}/raw`);
      expect(raw.headers.get("content-disposition")).to.match(/^attachment/);
    });

    it("the source of a mail that may hold approval links is refused to an approver", async () => {
      // More runs of characters that might be a link's token than are looked up.
      const decoys = Array.from({ length: 1_001 }, () => randomBytes(32).toString("base64url")).join("\r\n\r\n");
      const { messageId } = await conversation(mail({ id: `${randomUUID()}@x.example`, text: decoys }));
      for (const path of [`/messages/${messageId}/source`, `/messages/${messageId}/raw`]) {
        expect((await owner.get(path)).status, path).to.equal(200);
        const refused = await approver.get(path);
        expect(refused.status, path).to.equal(403);
        expect(refused.page).to.contain("ask an owner or an admin");
      }
    });

    it("hostile mail adds no element to the pages of a conversation", async () => {
      const word = payload(markOf(3)).replace(/[^\x20-\x7e]/g, "");
      const { id, messageId } = await conversation(
        rich(`${randomUUID()}@x.example`, {
          subject: word,
          filename: word.replaceAll('"', "'"),
          html: `<p>${word}</p><script>x</script>`,
        }),
      );
      for (const path of [
        "/threads",
        `/threads/${id}`,
        `/threads/${id}?html=${messageId}`,
        `/messages/${messageId}/source`,
      ]) {
        const { status, text } = await owner.get(path);
        expect(status, path).to.equal(200);
        expect(text, path).to.contain(markOf(3));
        expect(faultsOf({ kind: "html", content: text }), path).to.deep.equal([]);
      }
      expect((await owner.get(`/threads/${id}?html=${messageId}`)).text).to.match(
        /<iframe class="letter-frame" sandbox=""/,
      );
    });

    it("a conversation is changed by its form, and a member who may only read cannot change it", async () => {
      const { id } = await conversation();
      const read = await auditor.get(`/threads/${id}`);
      expect(read.text).not.to.contain(`action="/threads/${id}`);
      expect((await auditor.post(`/threads/${id}`, { status: "closed" })).status).to.equal(403);
      await approver.get(`/threads/${id}`);
      const done = await approver.post(`/threads/${id}`, {
        status: "closed",
        priority: "urgent",
        needs_review: "true",
      });
      expect([done.status, done.location]).to.deep.equal([303, `/threads/${id}?done=saved`]);
      expect((await approver.get(done.location!)).page).to.match(/Saved\..*Closed Needs review Urgent/);
      const refused = await approver.post(`/threads/${id}`, { status: "asleep" });
      expect(refused.status).to.equal(422);
      expect(refused.text).to.contain('id="status-error"');
      const { json } = await workspace.ask(`GET /v1/threads/${id}`);
      expect(json).to.include({ status: "closed", priority: "urgent", needs_review: true });
    });

    it("a conversation with many messages has pages, the newest first", async () => {
      const { id, message } = await conversation(mail({ id: "first@x.example", text: "The very first." }));
      await again(message.rfc_message_id, "The second.");
      const newest = await owner.get(`/threads/${id}?limit=1`);
      expect(newest.page).to.contain("The second.").and.not.to.contain("The very first.");
      const older = /href="([^"]+)" rel="next">Older messages/.exec(newest.text)![1]!.replaceAll("&amp;", "&");
      const oldest = await owner.get(older);
      expect(oldest.page).to.contain("The very first.").and.not.to.contain("The second.");
      expect(oldest.text).not.to.contain("<textarea");
    });
  });

  it("two merged conversations are shown under either address", async () => {
    const first = await conversation(mail({ id: "left@x.example", text: "On the left." }));
    const second = await conversation(mail({ id: "right@x.example", text: "On the right." }));
    const both = mail({ id: "both@x.example", inReplyTo: "left@x.example", text: "To both." });
    await service.deliver(
      identity.address,
      both.replace(/^References: .*$/m, "References: <left@x.example> <right@x.example>"),
    );
    const merged = await owner.get(`/threads/${second.id}`);
    expect(merged.page)
      .to.contain("was merged into another one")
      .and.to.contain("On the left.")
      .and.to.contain("On the right.");
    expect(merged.text).to.contain(`href="/threads/${first.id}"`);
    expect((await owner.get(`/threads/${first.id}`)).page)
      .to.contain("To both.")
      .and.not.to.contain("was merged");
  });

  describe("a reply that a member writes", () => {
    it("a member's reply goes to the recipients that the page named, is approved by the member, and can be undone", async () => {
      const { id, messageId } = filed;
      const page = await owner.get(`/threads/${id}`);
      expect(page.page).to.contain(`From Support desk < ${identity.address} > To ann@customer.example`);
      expect(page.page).to.contain("Reply to all adds");
      expect(page.page).to.contain("bob@customer.example");
      const once = /name="once" value="([^"]+)"/.exec(page.text)![1]!;
      const fields = {
        once,
        based_on_message_id: messageId,
        body_text: "My own words.",
        reply_all: "true",
        cc: "cat@customer.example",
        how: "send",
      };
      const sent = await owner.post(`/threads/${id}/reply`, fields);
      expect([sent.status, sent.location]).to.deep.equal([303, `/threads/${id}?done=replySent`]);
      // Pressed twice, it is one reply.
      expect((await owner.post(`/threads/${id}/reply`, fields)).status).to.equal(303);
      const { json } = await workspace.ask(`GET /v1/drafts?thread_id=${id}`);
      expect(json.data).to.have.length(1);
      expect(json.data[0]).to.include({ body_text: "My own words.", kind: "reply", based_on_message_id: messageId });
      expect(json.data[0].to).to.deep.equal(["ann@customer.example"]);
      expect(json.data[0].cc).to.include.members(["cat@customer.example", "bob@customer.example"]);
      expect(json.data[0].decided_by).to.include({ kind: "session", id: owner.user.id, name: "Olga Owner" });
      const undone = await owner.post(`/threads/${id}/undo`, { draft_id: json.data[0].id });
      expect(undone.location).to.equal(`/threads/${id}?done=replyTakenBack`);
      expect((await workspace.ask(`GET /v1/drafts/${json.data[0].id}`)).json.status).to.equal("pending");
    });

    it("a member's reply waits for other approvers if the identity needs two approvals, and the page says so", async () => {
      const { id, messageId } = await conversation();
      await workspace.ask(`PATCH /v1/identities/${identity.id}`, { json: { approvals_required: 2 } });
      await owner.get(`/threads/${id}`);
      const typed = { based_on_message_id: messageId, body_text: "Mine, and yours.", how: "send" };
      expect((await owner.post(`/threads/${id}/reply`, typed)).location).to.match(
        /^\/drafts\/[0-9a-f-]{36}\?done=replyKept$/,
      );
      await workspace.ask(`PATCH /v1/identities/${identity.id}`, { json: { approvals_required: 1 } });
    });

    it("the page says that a kept reply was approved at once if the identity approves replies automatically", async () => {
      const { id, messageId } = await conversation();
      await workspace.ask(`PATCH /v1/identities/${identity.id}`, { json: { auto_approve_replies: true } });
      await owner.get(`/threads/${id}`);
      const typed = { based_on_message_id: messageId, body_text: "Kept?", how: "draft" };
      expect((await owner.post(`/threads/${id}/reply`, typed)).location).to.contain("done=replyApprovedAtOnce");
      await workspace.ask(`PATCH /v1/identities/${identity.id}`, { json: { auto_approve_replies: false } });
    });

    it("a reply to a conversation with a newer message is not sent, and the form keeps the text", async () => {
      const { id, messageId, message } = await conversation(mail({ id: `${randomUUID()}@x.example` }));
      await owner.get(`/threads/${id}`);
      await again(message.rfc_message_id, "Wait, something else!");
      for (const how of ["send", "draft"]) {
        const late = await owner.post(`/threads/${id}/reply`, {
          based_on_message_id: messageId,
          body_text: "My <own> words.",
          how,
        });
        expect(late.status).to.equal(409);
        expect(late.page)
          .to.contain("a newer message arrived while you were writing")
          .and.to.contain("Wait, something else!");
        expect(late.text).to.contain("My &lt;own&gt; words.</textarea>").and.not.to.contain(`value="${messageId}"`);
      }
      const { json } = await workspace.ask(`GET /v1/drafts?thread_id=${id}`);
      expect(json.data).to.deep.equal([]);
    });

    it("a refused reply shows its error at its field, with all that was typed", async () => {
      const { id, messageId } = await conversation();
      await owner.get(`/threads/${id}`);
      const typed = { based_on_message_id: messageId, body_text: "My words.", cc: "nobody", how: "send" };
      const refused = await owner.post(`/threads/${id}/reply`, typed);
      expect(refused.status).to.equal(422);
      expect(refused.page).to.contain("That did not work.");
      expect(refused.text)
        .to.contain('id="cc-error"')
        .and.to.contain("My words.</textarea>")
        .and.to.contain('value="nobody"');
    });

    it("a reply is kept as a pending draft if the member pressed that button; an auditor may write none", async () => {
      const { id, messageId } = await conversation();
      const typed = { based_on_message_id: messageId, body_text: "An approver's words.", how: "draft" };
      await approver.get(`/threads/${id}`);
      const kept = await approver.post(`/threads/${id}/reply`, typed);
      expect(kept.location).to.match(/^\/drafts\/[0-9a-f-]{36}\?done=replyKept$/);
      const { json } = await workspace.ask(`GET /v1/drafts?thread_id=${id}`);
      expect(json.data[0]).to.include({ status: "pending", body_text: "An approver's words." });
      for (const how of ["send", "draft"])
        expect((await auditor.post(`/threads/${id}/reply`, { ...typed, how })).status).to.equal(403);
    });
  });

  it("a conversation marks held mail, says why nothing is sent, and refuses a reply until the mail is released", async () => {
    const { id, messageId, message } = await conversation();
    await workspace.ask(`PATCH /v1/identities/${identity.id}`, { json: { status: "disabled" } });
    await again(message.rfc_message_id, "Not to be seen yet.");
    const held = await owner.get(`/threads/${id}`);
    expect(held.page).to.contain("The newest message is held because the identity is disabled.");
    expect(held.page).to.contain("Held: a message from Ann Example").and.not.to.contain("Not to be seen yet.");
    expect(held.text).to.contain(`href="/identities/${identity.id}"`);
    const reply = await owner.post(`/threads/${id}/reply`, {
      based_on_message_id: messageId,
      body_text: "My words.",
      how: "send",
    });
    expect(reply.status).to.equal(409);
    expect(reply.page).to.contain("A newer message is held: a reply can be sent once it is released.");
    expect(reply.text).to.contain("My words.</textarea>");
    expect((await workspace.ask(`GET /v1/drafts?thread_id=${id}`)).json.data).to.deep.equal([]);
    await workspace.ask(`PATCH /v1/identities/${identity.id}`, { json: { status: "active" } });
  });
});
