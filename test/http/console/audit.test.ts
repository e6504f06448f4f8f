import { expect } from "chai";
import { proofStateOf } from "#src/http/console/audit/proofState.ts";
import { proofSentence } from "#src/http/console/audit/proofView.ts";
import { newFolder, removeFolders } from "#test/http/audit/evidenceSupport.ts";
import { type Desk, deskOf } from "#test/support/desk.ts";
import { type InProcess, until } from "#test/support/inProcess.ts";
import type { StoryDraft } from "#test/support/story/draft.ts";
import { openTenant, type StoryTenant, startStory } from "#test/support/story/story.ts";

describe("the console's pages for auditors", () => {
  let service: InProcess;
  let tenant: StoryTenant;
  let auditor: Desk;
  let parcel: StoryDraft;
  let invoice: StoryDraft;

  before(async () => {
    ({ service, tenant } = await startStory({ AUDIT_HEAD_DIR: await newFolder() }));
    auditor = await deskOf(service, tenant.id, { role: "auditor" });
    parcel = await tenant.draft(await tenant.mail({ subject: "Where is my parcel", from: "ann@customer.example" }));
    invoice = await tenant.draft(await tenant.mail({ subject: "The invoice of May", from: "ben@other.example" }));
    await parcel.approve();
    await parcel.sendNow();
    await until(async () => (await parcel.history()).some(({ type }) => type === "DeliveryDelivered"));
    await service.caughtUp();
  });
  after(async () => {
    await service.stop();
    await removeFolders();
  });

  const found = async (query: string): Promise<string[]> => {
    const { status, text } = await auditor.get(`/audit${query}`);
    expect(status).to.equal(200);
    return [...text.matchAll(/<th scope="row"><a href="\/drafts\/([^"]+)"/g)].map(([, id]) => id as string);
  };

  it("the audit page lists every draft, the newest first, with its recipients, its status and who decided", async () => {
    expect(await found("")).to.deep.equal([invoice.id, parcel.id]);
    const { page } = await auditor.get("/audit");
    expect(page).to.match(/Where is my parcel.*ann@customer\.example Sent approved by the API key/);
    expect(page).to.match(/The invoice of May.*ben@other\.example Waiting for a decision no decision/);
  });

  it("the audit page finds drafts by words of the subject and by the day of their submission", async () => {
    expect(await found("?q=parcel")).to.deep.equal([parcel.id]);
    expect(await found("?q=invoice&from_date=&to_date=")).to.deep.equal([invoice.id]);
    const today = new Date().toISOString().slice(0, 10);
    expect(await found(`?from_date=${today}&to_date=${today}`)).to.have.length(2);
    expect(await found("?to_date=2020-01-01")).to.deep.equal([]);
    expect(await found("?from_date=2099-01-01")).to.deep.equal([]);
  });

  it("the audit page finds drafts by the person who decided, who wrote or whom they were sent to", async () => {
    const jane = await deskOf(service, tenant.id, {
      role: "approver",
      name: "Jane van Doe",
      email: "jane@people.example",
    });
    const refund = await tenant.draft(await tenant.mail({ subject: "A refund", from: "carl@third.example" }));
    await service.caughtUp();
    await jane.get(`/review?draft=${refund.id}`);
    const { version, content_sha256 } = refund.json;
    await jane.post(`/review/${refund.id}/reject`, { version: `${version}`, content_sha256, reason: "No" });
    await refund.becomes("rejected");
    for (const person of ["Jane", "doe", "VAN%20DOE", "jane@people", "people.example", "carl@", "third.example"])
      expect(await found(`?person=${person}`), person).to.deep.equal([refund.id]);
    expect(await found("?person=ann@customer.example")).to.deep.equal([parcel.id]);
    expect(await found("?person=nobody@customer.example")).to.deep.equal([]);
    expect(await found("?person=%25")).to.deep.equal([]);
    expect(await found(`?person=${encodeURIComponent(`${"a".repeat(199)}😀`)}`)).to.deep.equal([]);
    expect(await found("?person=Jane&q=parcel")).to.deep.equal([]);
  });

  it("the audit page shows a refused filter at its field, as it was typed", async () => {
    const { status, text } = await auditor.get("/audit?from_date=yesterday");
    expect(status).to.equal(422);
    expect(text).to.include('value="yesterday"').and.to.include('id="from_date-error"');
    expect(text).not.to.include("No draft matches");
  });

  it("the audit page of an empty workspace says what will be listed, and another workspace's drafts are not found", async () => {
    const empty = await openTenant(service);
    const { page } = await (await deskOf(service, empty.id, { role: "auditor" })).get("/audit");
    expect(page).to.include("No drafts yet");
    expect(page).not.to.include("parcel");
  });

  it("owners, admins and auditors see the pages for auditors; approvers are refused and have no link to them", async () => {
    for (const role of ["owner", "admin", "auditor"] as const) {
      const desk = await deskOf(service, tenant.id, { role });
      expect((await desk.get("/audit")).text, role).to.include('<a href="/audit" aria-current="page">Audit</a>');
      expect((await desk.get("/audit/heads")).status, role).to.equal(200);
    }
    const approver = await deskOf(service, tenant.id, { role: "approver" });
    for (const path of [
      "/audit",
      "/audit/heads",
      "/audit/export",
      "/audit/export/file",
      `/drafts/${parcel.id}/evidence`,
    ])
      expect((await approver.get(path)).status, path).to.equal(403);
    expect((await approver.get("/drafts")).text).not.to.include('href="/audit"');
  });

  it("auditors see the audit page first, everybody else the review page", async () => {
    for (const [role, first] of [
      ["auditor", "/audit"],
      ["approver", "/review"],
      ["owner", "/review"],
    ] as const) {
      const desk = await deskOf(service, tenant.id, { role });
      expect((await desk.get("/")).location, role).to.equal("/sign-in");
      expect((await desk.get("/sign-in")).location, role).to.equal(first);
      expect((await desk.get("/settings")).text, role).to.include(`<p class="brand"><a href="${first}">`);
    }
  });

  it("a draft's page offers its evidence, and says to which signed head it is proved once that was downloaded", async () => {
    const { text } = await auditor.get(`/drafts/${parcel.id}`);
    expect(text).to.include(`href="/drafts/${parcel.id}/evidence" download`);
    const file = await auditor.get(`/drafts/${parcel.id}/evidence`);
    expect([file.status, file.headers.get("content-type")]).to.deep.equal([200, "application/zip"]);
    expect(file.headers.get("content-disposition")).to.include(`attachment; filename="evidence-${parcel.id}.zip"`);
    expect(file.text.slice(0, 2)).to.equal("PK");
    const { size } = (await tenant.ask("GET /v1/audit/heads?limit=1")).json.data[0];
    const { page } = await auditor.get(`/drafts/${parcel.id}`);
    expect(page).to.include(`Proved to head of ${size} entries , signed `);
    expect(page).not.to.include("not under a signed head yet");
    expect((await auditor.get(`/drafts/${parcel.id}/print`)).page).to.include(`Proved to head of ${size} entries`);
  });

  it("a draft's page says that its newest events are not under a signed head yet", async () => {
    await auditor.get(`/drafts/${invoice.id}/evidence`);
    await invoice.edit({ body_text: "It is attached now." });
    await service.caughtUp();
    const { page } = await auditor.get(`/drafts/${invoice.id}`);
    expect(page).to.match(/Proved to head of \d+ entries , signed .* not under a signed head yet\./);
  });

  it("the page of heads shows the newest head as the API has it, its keys, its tiles and the heads before it", async () => {
    await auditor.get(`/drafts/${invoice.id}/evidence`);
    const { data } = (await tenant.ask("GET /v1/audit/heads")).json;
    expect(data.length).to.be.above(1);
    const { text, page } = await auditor.get("/audit/heads");
    for (const { root } of data) expect(text).to.include(root);
    const [{ verifier_key: key, checkpoint, size, witnesses }] = data;
    expect(witnesses).to.deep.equal([]);
    expect(text).to.include(key).and.to.include(checkpoint.trim());
    expect(text).to.include(`/audit/${tenant.id}/1/checkpoint`).and.to.include(`/audit/${tenant.id}/1/tile/`);
    expect(page).to.include(`${size} entries , signed `).and.to.include("audit.checkpoint");
    expect(page.indexOf(`${data[0].size}`)).to.be.below(page.lastIndexOf(`${data[1].size}`));
  });

  it("heads are listed for keys with read:audit alone, and for their own workspace alone", async () => {
    const agent = await openTenant(service, {}, { scopes: ["read:threads"] });
    expect((await agent.ask("GET /v1/audit/heads")).json.error).to.equal("insufficient_scope");
    const other = await openTenant(service);
    const roots = (await tenant.ask("GET /v1/audit/heads")).json.data.map(({ root }: any) => root);
    const { json } = await other.ask("GET /v1/audit/heads");
    expect(json.data.filter(({ root }: any) => roots.includes(root))).to.deep.equal([]);
  });

  it("the export page counts the events of a person, then offers an archive with as many entries", async () => {
    expect((await auditor.get("/audit/export")).text).not.to.include("/audit/export/file");
    for (let turn = 0; turn < 4; turn += 1) {
      const { text, page } = await auditor.get("/audit/export?count=1&contact=ann%40customer.example&from=&to=");
      const [, entries] = /([\d,]+) events/.exec(page)!;
      const [, path = ""] = /href="(\/audit\/export\/file[^"]*)"/.exec(text)!;
      const file = await auditor.get(path.replaceAll("&amp;", "&"));
      expect([file.status, file.headers.get("content-type")]).to.deep.equal([200, "application/zip"]);
      expect(file.headers.get("audit-entries")).to.equal(entries);
      expect(file.text).to.include("verify.mjs");
    }
  });

  it("the export page takes days, says at most how many events a period has, and shows a refused one at its field", async () => {
    const today = new Date().toISOString().slice(0, 10);
    const query = `count=1&thread=${parcel.threadId}&from=${today}&to=${today}`;
    expect((await auditor.get(`/audit/export?${query}`)).page).to.match(/Of one conversation.*At most \d+ events/);
    const { page } = await auditor.get("/audit/export?count=1&contact=nobody%40nowhere.example");
    expect(page).to.include("There is nothing to export");
    const refused = await auditor.get("/audit/export?count=1&from=yesterday");
    expect([refused.status, refused.text.includes('id="from-error"')]).to.deep.equal([422, true]);
  });

  it("where the events contradict a signed head, the pages say that nothing is proven, and no evidence is served", async () => {
    const broken = await openTenant(service);
    const draft = await broken.draft(await broken.mail());
    const desk = await deskOf(service, broken.id, { role: "auditor" });
    await desk.get(`/drafts/${draft.id}/evidence`);
    const head = (await service.deps.auditHeads.newest(broken.id))!;
    await service.deps.auditHeads.contradict({ ...head, at: new Date() });
    const { page } = await desk.get(`/drafts/${draft.id}`);
    expect(page).to.include("the events of this workspace do not continue a head that was signed");
    expect(page).not.to.include("Proved to head");
    expect((await desk.get("/audit/heads")).page).to.include("do not continue the newest head");
    const { status, page: refused } = await desk.get(`/drafts/${draft.id}/evidence`);
    expect(status).to.equal(409);
    expect(refused).to.include("There is no evidence now").and.to.include("npm run audit -- new-epoch");
  });
});

describe("how far a draft is proven", () => {
  const head = { epoch: 1, size: 1204, position: 50, signedAt: new Date("2026-11-28T14:00:00Z"), contradictedAt: null };
  const words = (...[one, epoch, positions]: Parameters<typeof proofStateOf>): string =>
    proofSentence({ zone: "UTC" }, proofStateOf(one, epoch, positions)).markup.replace(/<[^>]+>/g, "");

  it("the sentence about a draft's proof names the head's size and time, and how many events are newer", () => {
    expect(words(head, 1, [10, 50])).to.equal("Proved to head of 1,204 entries, signed 28 Nov 2026, 14:00 UTC.");
    expect(words(head, 1, [10, 51])).to.include("Its newest event is not under a signed head yet.");
    expect(words(head, 1, [10, 51, 52])).to.include("Its newest 2 events are not under a signed head yet.");
  });

  it("without a head of this epoch, or of any of its events, a draft is not called proven", () => {
    for (const [one, epoch, positions] of [
      [undefined, 1, [10]],
      [head, 2, [10]],
      [head, 1, [51]],
    ] as Parameters<typeof proofStateOf>[]) {
      expect(words(one, epoch, positions)).to.match(/^Not yet: no signed head includes its events\./);
    }
    expect(words({ ...head, contradictedAt: new Date() }, 1, [10])).to.match(/^No: /);
  });
});
