import { createHash } from "node:crypto";
import { expect } from "chai";
import { approvalDecisions } from "#src/commands/approvals/approvalLinks.ts";
import type { NewIdentity } from "#src/commands/identities/identities.ts";
import { runHere } from "#test/support/commandHere.ts";
import { type Desk, deskOf } from "#test/support/desk.ts";
import { type InProcess, mail, startInProcess, until, type Workspace } from "#test/support/inProcess.ts";

describe("the console's history of a draft", () => {
  let service: InProcess;
  let workspace: Workspace;
  let auditor: Desk;
  let mails = 0;

  before(async () => {
    service = await startInProcess();
    workspace = await service.workspace();
    auditor = await deskOf(service, workspace.id, { role: "auditor" });
  });
  after(() => service.stop());

  /** Each identity's approver has a mailbox of their own, so that their newest mail is about its draft. */
  const askedByMail = (): Partial<NewIdentity> => ({
    approvalChannel: { type: "email", config: { to: `boss${++mails}@approvers.example` } },
  });

  /** A draft that answers a mail of its own. */
  async function submitted(settings: Partial<NewIdentity> = {}, different: Record<string, unknown> = {}) {
    const identity = await service.identity(workspace.id, settings);
    const id = `life${++mails}@x.example`;
    await service.deliver(identity.address, mail({ id, to: identity.address, subject: `Order ${mails}` }));
    const thread = (await workspace.ask("GET /v1/threads?limit=1")).json.data[0];
    const { json: messages } = await workspace.ask(`GET /v1/threads/${thread.id}/messages`);
    const ids = { thread_id: thread.id, identity_id: identity.id, based_on_message_id: messages.data[0].id };
    const body = { ...ids, body_text: "It left yesterday.\nRegards", ...different };
    const { status, json } = await workspace.ask("POST /v1/drafts", { json: body });
    expect(status, JSON.stringify(json)).to.equal(201);
    return { draft: json, identity, answered: id };
  }
  const draftOf = async (id: string) => (await workspace.ask(`GET /v1/drafts/${id}`)).json;
  /** The explanation of a sent draft is complete once the outbox has reported the delivery. */
  const ends = (id: string, status: string) =>
    until(async () => {
      const draft = await draftOf(id);
      if (draft.status !== status || status !== "sent") return draft.status === status;
      const { json: messages } = await workspace.ask(`GET /v1/threads/${draft.thread_id}/messages`);
      return messages.data.some((message: any) => message.delivery_status === "delivered");
    });
  const edit = (id: string, json: object) => workspace.ask(`PATCH /v1/drafts/${id}`, { json });

  /** The token of the approval mail about a draft's version. */
  async function linkOf(id: string, version: number): Promise<string> {
    await until(async () => {
      const draft = await draftOf(id);
      return draft.version === version && draft.notification_status.state === "sent";
    });
    const { approval_channel } = (await workspace.ask(`GET /v1/identities/${(await draftOf(id)).identity_id}`)).json;
    const { to } = approval_channel.config;
    const newest = (await service.outbox.newest(20)).find(({ envelope }) => envelope.to.includes(to));
    return /\/a\/([\w-]+)\?d=approve/.exec(newest?.text ?? "")![1] as string;
  }
  const press = (token: string, decision: "approve" | "reject" = "approve", reason?: string) =>
    approvalDecisions(service.deps).decide({
      ...{ token, decision, by: undefined, reason },
      ...{ ip: "192.0.2.9", userAgent: "A Browser/1.0", requestId: undefined },
    });
  const audit = async (id: string) => {
    const { serviceUrl, ownerUrl } = service.urls;
    const environment = { DATABASE_URL: serviceUrl, DATABASE_OWNER_URL: ownerUrl, NODE_ENV: "test" };
    return (await runHere("audit", ["draft", id], environment)).out.split("\n")[0];
  };
  const answerIn = (text: string): string => /<p class="answer">(.*?)<\/p>/s.exec(text)![1]!.replace(/<[^>]+>/g, "");
  const plain = (text: string) => text.replace(/&#39;/g, "'").replace(/&quot;/g, '"');

  describe("a draft that was submitted, edited, notified, approved and sent", () => {
    let id: string;
    let sent: any;
    before(async () => {
      const { draft } = await submitted(askedByMail());
      id = draft.id;
      await linkOf(id, 1);
      await edit(id, { body_text: "It leaves tomorrow.\nRegards", rationale: "The warehouse said so." });
      expect((await press(await linkOf(id, 2))).kind).to.equal("approved");
      await ends(id, "sent");
      await until(async () =>
        (await workspace.ask(`GET /v1/drafts/${id}/history?limit=100`)).json.data.some(
          ({ type }: any) => type === "DeliveryDelivered",
        ),
      );
      sent = await draftOf(id);
    });

    it("the history page says at its top who approved which version and to whom it went, as the audit command does", async () => {
      const { status, text } = await auditor.get(`/drafts/${id}`);
      expect(status).to.equal(200);
      const answer = plain(answerIn(text));
      expect(answer).to.match(
        /^Caught in the test outbox, which delivers nothing, on .* it was addressed to ann@customer\.example, because /,
      );
      expect(answer).to.match(
        /version 2 was approved on .* by a person with the link from an approval mail to boss\d+@approvers\.example/,
      );
      expect(answer).to.match(/after the request for a decision had gone to boss\d+@approvers\.example by mail on /);
      expect(await audit(id)).to.equal(answer);
    });

    it("the history page shows every event of the draft as a step, with the IP address and browser that approved it", async () => {
      const { data } = (await workspace.ask(`GET /v1/drafts/${id}/history?limit=100`)).json;
      const { text, page } = await auditor.get(`/drafts/${id}`);
      expect([...text.matchAll(/<li id="step-(\d+)"/g)].map(([, n]) => Number(n))).to.deep.equal(
        data.map((_: unknown, index: number) => index + 1),
      );
      for (const { type, at } of data) expect(text).to.include(type).and.to.include(`datetime="${at}"`);
      expect(page).to.include("192.0.2.9").and.to.include("A Browser/1.0");
    });

    it("the history page shows what an edit changed", async () => {
      const { text } = await auditor.get(`/drafts/${id}`);
      expect(text).to.include('<del><span class="unseen">removed: </span>It left yesterday.</del>');
      expect(text).to.include('<ins><span class="unseen">added: </span>It leaves tomorrow.</ins>');
      expect(text).to.include("The warehouse said so.");
    });

    it("a reader can follow links from the first step of a draft to the last one, each as the draft was then", async () => {
      let path: string | undefined = `/drafts/${id}/at/1`;
      const told: string[] = [];
      while (path !== undefined) {
        const { status, text }: { status: number; text: string } = await auditor.get(path);
        expect(status, path).to.equal(200);
        told.push(text);
        path = /<a rel="next" href="([^"]+)"/.exec(text)?.[1];
      }
      const { data } = (await workspace.ask(`GET /v1/drafts/${id}/history?limit=100`)).json;
      expect(told).to.have.length(data.length);
      expect(answerIn(told[0]!)).to.match(/^Not sent: version 1 has waited for a decision since /);
      expect(told[0]).to.include("It left yesterday.").and.not.to.include("It leaves tomorrow.");
      expect(answerIn(told.at(-1)!)).to.match(/^Caught in the test outbox/);
      for (const text of told.slice(1)) expect(text).to.include('rel="prev"');
    });

    it("the history page of a sent draft says that the approved content was sent, and how to verify it", async () => {
      const { page } = await auditor.get(`/drafts/${id}`);
      expect(page).to.include("Yes. What was approved, what was queued and what was handed over is the same version");
      expect(page.split(sent.content_sha256).length - 1).to.be.at.least(4);
      expect(page).to.include(`GET /v1/drafts/${id}/content?version=2`).and.to.include(`GET /v1/drafts/${id}/evidence`);
    });

    it("the hand-over step shows the mail that the provider received and offers its exact bytes for download", async () => {
      const { data } = (await workspace.ask(`GET /v1/drafts/${id}/history?limit=100`)).json;
      const n = data.findIndex(({ type }: any) => type === "DeliveryStarted") + 1;
      const { mime_sha256 } = data[n - 1].data;
      const { text, page } = await auditor.get(`/drafts/${id}/at/${n}`);
      expect(page).to.include(`their SHA-256 is the recorded one, ${mime_sha256}`);
      expect(page)
        .to.match(/Message-ID <[^ ]+>/)
        .and.to.include("It leaves tomorrow.");
      const response = await fetch(service.url + /href="(\/messages\/[\w-]+\/raw)"/.exec(text)![1], {
        headers: { Accept: "text/html", Cookie: [...auditor.cookies].map((each) => each.join("=")).join("; ") },
      });
      expect(response.headers.get("content-disposition")).to.match(/^attachment/);
      const bytes = Buffer.from(await response.arrayBuffer());
      expect(createHash("sha256").update(bytes).digest("hex")).to.equal(mime_sha256);
    });

    it("the printed history is unfolded and names the draft, the workspace, the time and the log position", async () => {
      const { data } = (await workspace.ask(`GET /v1/drafts/${id}/history?limit=100`)).json;
      const { text, page } = await auditor.get(`/drafts/${id}/print`);
      expect(page).to.include(`Draft ${id}`).and.to.include(`Test ( ${workspace.id} )`);
      expect(page)
        .to.include(`Log position ${data.at(-1).position}`)
        .and.to.include(`Printed ${new Date().getUTCDate()} `);
      expect(text).to.include("<details open>").and.not.to.include("<details>").and.not.to.include("<iframe");
      expect(page).to.include(`/drafts/${id}`).and.to.include("It leaves tomorrow.");
    });

    it("the history page shows times in the reader's zone, and UTC on hover", async () => {
      auditor.cookies.set("countersign_zone", encodeURIComponent("Asia/Kathmandu"));
      const { text } = await auditor.get(`/drafts/${id}`);
      auditor.cookies.delete("countersign_zone");
      const time = new Date(sent.sent_at);
      const there = new Date(time.getTime() + 345 * 60_000).toISOString();
      expect(text).to.include(`datetime="${sent.sent_at}"`);
      const [, title, shown] = new RegExp(`datetime="${sent.sent_at}" title="([^"]+)">([^<]+)<`).exec(text)!;
      expect(title).to.include(sent.sent_at.slice(11, 16)).and.to.match(/UTC$/);
      expect(shown).to.include(there.slice(11, 16));
      // Much of a history happens within one minute.
      expect(text).to.match(/Step 1<\/a> · <time datetime="[^"]+" title="[^"]+:\d\d:\d\d UTC">[^<]+:\d\d:\d\d</);
    });
  });

  it("a history page compares up to 2,000 lines of versions, and links the versions whose changes it leaves out", async () => {
    const { draft } = await submitted({}, { body_text: "a\n".repeat(1_500) });
    await edit(draft.id, { body_text: "b\n".repeat(1_500) });
    await edit(draft.id, { body_text: "c\n".repeat(100) });
    for (const path of [`/drafts/${draft.id}`, `/drafts/${draft.id}/print`]) {
      const { text } = await auditor.get(path);
      const shown = text.split("<ins>").length + text.split("<del>").length - 2;
      expect(shown, path).to.be.within(1_900, 2_010);
      const links = [
        ...text.matchAll(/Not all changes[^<]*<a href="([^"]+)">([^<]+)<\/a> and <a href="([^"]+)">([^<]+)<\/a>/g),
      ];
      expect(links.map(([, from, before, to, after]) => [before, after, from, to].join(" "))).to.have.length(2);
      for (const [, from, before] of links) {
        expect((await auditor.get(from!)).text, path).to.include(`What it said then (${before})`);
      }
    }
  });

  it("the history page of a stale draft names the newer message", async () => {
    const { draft, identity, answered } = await submitted();
    await service.deliver(
      identity.address,
      mail({ id: `newer${mails}@x.example`, to: identity.address, inReplyTo: answered, text: "Never mind" }),
    );
    await workspace.ask(`POST /v1/drafts/${draft.id}/send`);
    await ends(draft.id, "stale");
    const answer = plain(answerIn((await auditor.get(`/drafts/${draft.id}`)).text));
    expect(answer).to.match(
      /^Not sent: a newer message from ann@customer\.example, received on .*, had arrived in its conversation, so it was stopped on /,
    );
    expect(await audit(draft.id)).to.equal(answer);
  });

  it("the history page of a rejected draft names who rejected it, and the reason", async () => {
    const { draft } = await submitted(askedByMail());
    await press(await linkOf(draft.id, 1), "reject", "Wrong price");
    await ends(draft.id, "rejected");
    const { text, page } = await auditor.get(`/drafts/${draft.id}`);
    expect(plain(answerIn(text))).to.match(
      /^Not sent: version 1 was rejected on .* by a person with the link from an approval mail to boss\d+@approvers\.example, with the reason “Wrong price”\.$/,
    );
    expect(page).to.include("It has not been approved, so there is nothing to compare");
    expect(await audit(draft.id)).to.equal(plain(answerIn(text)));
  });

  it("the history page of a draft that needs two approvals names both approvers", async () => {
    const { draft } = await submitted({ ...askedByMail(), approvalsRequired: 2 });
    await workspace.ask(`POST /v1/drafts/${draft.id}/approve`);
    const waiting = plain(answerIn((await auditor.get(`/drafts/${draft.id}`)).text));
    expect(waiting).to.match(/1 of 2 approvals given, by the API key “test key” on /);
    await press(await linkOf(draft.id, 1));
    await ends(draft.id, "sent");
    const answer = plain(answerIn((await auditor.get(`/drafts/${draft.id}`)).text));
    expect(answer).to.match(
      /the required number of approvers \(2\): by the API key “test key” on .* and a person with the link from an approval mail to boss\d+@approvers\.example on /,
    );
    expect(await audit(draft.id)).to.equal(answer);
  });

  it("the history page names the signed-in owner who approved a draft, took the approval back and rejected it", async () => {
    const desk = await deskOf(service, workspace.id, {
      role: "owner",
      name: "Joan Owner",
      email: "joan@people.example",
    });
    const { draft } = await submitted(askedByMail());
    const answer = async () => plain(answerIn((await desk.get(`/drafts/${draft.id}`)).text));
    const joan = "by “Joan Owner” \\(joan@people\\.example\\), who was signed in";
    await desk.get(`/review?draft=${draft.id}`);
    await desk.post(`/review/${draft.id}/approve`, { version: "1" });
    expect(await answer()).to.match(
      new RegExp(`^Not sent yet: version 1 was approved on .* ${joan}.*, and it is not sent before `),
    );
    await desk.post(`/review/${draft.id}/undo`);
    expect(await answer()).to.match(new RegExp(`^Not sent: .*, when its approval was undone ${joan}; `));
    await desk.post(`/review/${draft.id}/reject`, { version: "1", reason: "No" });
    expect(await answer()).to.match(
      new RegExp(`^Not sent: version 1 was rejected on .* ${joan}, with the reason “No”\\.$`),
    );
  });

  it("the history page of a draft that a rule approved says that no person approved it", async () => {
    const identity = await service.identity(workspace.id);
    const conditions = { operator: "AND", conditions: [{ field: "identity.id", op: "equals", value: identity.id }] };
    const rule = {
      name: "All of <these>",
      trigger_event: "draft.created",
      conditions,
      actions: [{ type: "skip_approval" }],
    };
    expect((await workspace.ask("POST /v1/rules", { json: rule })).status).to.equal(200);
    await service.caughtUp();
    await service.deliver(identity.address, mail({ id: `rule${++mails}@x.example`, to: identity.address }));
    const thread = (await workspace.ask("GET /v1/threads?limit=1")).json.data[0];
    const { json: messages } = await workspace.ask(`GET /v1/threads/${thread.id}/messages`);
    const ids = { thread_id: thread.id, identity_id: identity.id, based_on_message_id: messages.data[0].id };
    const { json: draft } = await workspace.ask("POST /v1/drafts", { json: { ...ids, body_text: "By rule" } });
    await ends(draft.id, "sent");
    const { text } = await auditor.get(`/drafts/${draft.id}`);
    expect(answerIn(text)).to.match(/version 1 was approved on .* by the rule “All of &lt;these&gt;”, not by a person/);
  });

  describe("who may see the history of a draft", () => {
    it("an approver sees the summary and the draft, and reads which roles may see its history", async () => {
      const desk = await deskOf(service, workspace.id, { role: "approver" });
      const { draft } = await submitted(askedByMail(), { rationale: "They asked." });
      expect((await auditor.get(`/drafts/${draft.id}`)).text).not.to.include("/review?draft=");
      const { status, text, page } = await desk.get(`/drafts/${draft.id}`);
      expect(status).to.equal(200);
      expect(answerIn(text)).to.match(/^Not sent: version 1 has waited for a decision since .*\.$/);
      expect(text).to.include(`href="/review?draft=${draft.id}"`);
      expect(page).to.include("It left yesterday.").and.to.include("They asked.");
      expect(page).to.include("Only owners, admins and auditors of this workspace can see it");
      expect(text).not.to.include("step-1").and.not.to.include("Log position");
      for (const path of ["at/1", "print"]) {
        const refused = await desk.get(`/drafts/${draft.id}/${path}`);
        expect(refused.status, path).to.be.oneOf([401, 403]);
        expect(refused.page, path).to.include("owners, admins and auditors");
      }
    });

    it("a draft of another workspace, an unknown draft and a step that does not exist are not found", async () => {
      const stranger = await deskOf(service, (await service.workspace()).id, { role: "owner" });
      const { draft } = await submitted();
      for (const path of ["", "/at/1", "/print"]) {
        expect((await stranger.get(`/drafts/${draft.id}${path}`)).status, path).to.equal(404);
        expect((await auditor.get(`/drafts/nonsense${path}`)).status, path).to.equal(404);
      }
      for (const n of ["0", "99", "1e0", "-1", "x"]) {
        expect((await auditor.get(`/drafts/${draft.id}/at/${n}`)).status, n).to.equal(404);
      }
    });
  });

  it("the page of drafts filters by status, identity and conversation, and says what is wrong with a filter", async () => {
    const { draft, identity } = await submitted();
    const { page, text } = await auditor.get(`/drafts?status=pending&identity_id=${identity.id}`);
    expect(page).to.include("1 draft, the newest first.").and.to.include("Waiting for a decision");
    expect(text).to.include(`href="/drafts/${draft.id}"`).and.to.include('<option value="pending" selected>');
    expect((await auditor.get(`/drafts?status=sent&identity_id=${identity.id}`)).page).to.include("0 drafts");
    expect((await auditor.get(`/drafts?thread_id=${draft.thread_id}`)).page).to.include("1 draft of one conversation");
    const wrong = await auditor.get("/drafts?status=gone");
    expect(wrong.status).to.equal(422);
    expect(wrong.page).to.include("That did not work. Show me where");
    expect(wrong.text).to.match(/id="status-error">Expected [^<]*\.</);
  });
});
