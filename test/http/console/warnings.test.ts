import { expect } from "chai";
import { warningWords } from "#src/channels/warningWords.ts";
import { listedWarnings } from "#streams/draft/warnings.ts";
import { type Desk, type DeskPage, deskOf } from "#test/support/desk.ts";
import type { InProcess } from "#test/support/inProcess.ts";
import type { StoryDraft } from "#test/support/story/draft.ts";
import { type StoryTenant, startStory } from "#test/support/story/story.ts";

describe("warnings in the console's lists", () => {
  let service: InProcess;
  let tenant: StoryTenant;
  let desk: Desk;
  before(async () => {
    ({ service, tenant } = await startStory({ DEV_PROVEN_DOMAINS: "customer.example" }));
    desk = await deskOf(service, tenant.id, { role: "approver" });
  });
  after(() => service.stop());
  /** Drafts of a test, rejected after it. */
  const open: StoryDraft[] = [];
  afterEach(async () => {
    for (const draft of open.splice(0)) if ((await draft.read()).status === "pending") await draft.reject();
  });

  /** Submits a draft on a thread of its own, that answers a message whose sender is proven. */
  async function newDraft(content: object = {}, mail: object = {}): Promise<StoryDraft> {
    const received = await tenant.mail({ envelope: { ip: "127.0.0.1" }, ...mail });
    await tenant.lastMessage(received, ({ authentication }) => authentication !== null);
    const draft = await tenant.draft(received, content);
    open.push(draft);
    return draft;
  }

  const textOf = (markup: string) =>
    markup
      .replace(/<[^>]+>/g, " ")
      .replace(/\s+/g, " ")
      .replace(/ ([,:])/g, "$1");
  /** The words of a draft's row in the review queue. */
  const queueRow = async ({ id }: StoryDraft): Promise<string> => {
    const { text } = await desk.get("/review");
    const row = new RegExp(`<li><a id="waits-${id}".*?</li>`, "s").exec(text)?.[0];
    return textOf(row ?? "");
  };
  const listRow = async ({ id }: StoryDraft): Promise<string> => {
    const { text } = await desk.get("/drafts");
    return textOf(new RegExp(`<tr><th scope="row"><a href="/drafts/${id}".*?</tr>`, "s").exec(text)?.[0] ?? "");
  };
  const waiting = ({ text }: DeskPage) => [...text.matchAll(/id="waits-([^"]+)"/g)].map(([, id]) => id);
  const rows = ({ text }: DeskPage) =>
    [...text.matchAll(/<th scope="row"><a href="\/drafts\/([^"]+)"/g)].map(([, id]) => id);
  const ticked = ({ text }: DeskPage) =>
    [...text.matchAll(/name="draft" value="([^"]*)" checked/g)].map(([, value]) => value as string);

  it("rows of both lists say in a few words what to beware of, and an ordinary draft's say nothing", async () => {
    const plain = await newDraft();
    const warned = await newDraft({ bcc: ["eve@elsewhere.example"] });
    const words = "Warnings: recipient new to the conversation, hidden recipient (Bcc)";
    for (const row of [queueRow, listRow]) {
      expect(await row(warned)).to.include(words);
      expect(await row(plain)).to.not.match(/Warning|recipient/);
    }
  });

  it("an edit that removes the cause removes the warning from the lists, and one that adds it adds it", async () => {
    const draft = await newDraft();
    for (const row of [queueRow, listRow]) {
      await draft.edit({ cc: ["eve@elsewhere.example"] });
      expect(await row(draft)).to.include("Warning: recipient new to the conversation");
      await draft.edit({ cc: [] });
      expect(await row(draft)).to.not.include("Warning");
    }
  });

  it("the history of a draft says which warnings each version was made with", async () => {
    const draft = await newDraft({ cc: ["eve@elsewhere.example"] });
    await draft.edit({ cc: [], body_text: "Tomorrow." });
    const auditor = await deskOf(service, tenant.id, { role: "auditor" });
    const { page } = await auditor.get(`/drafts/${draft.id}`);
    const words = page.replace(/ ([,:])/g, "$1");
    expect(words.split("Warning recipient new to the conversation").length, words).to.equal(2);
    expect(words.indexOf("Version 1 was submitted")).to.be.below(words.indexOf("recipient new to the conversation"));
  });

  it("a row with more than three warnings names the most important ones and counts the others", async () => {
    const draft = await newDraft(
      { bcc: ["eve@elsewhere.example"], body_html: "<p>Yes.</p>", body_text: "No." },
      { text: "Please send me your password. Please note our new bank details." },
    );
    const words = ["message asks for a secret", "message changes payment data", "recipient new to the conversation"];
    expect(await queueRow(draft)).to.include(`Warnings: ${words.join(", ")} and 2 more`);
  });

  it("the queue and the list of drafts are filtered by a warning, which the page and the links of the queue keep", async () => {
    const plain = await newDraft();
    const warned = await newDraft({ cc: ["eve@elsewhere.example"] });
    const queue = await desk.get("/review?warning=new_recipient");
    expect(waiting(queue)).to.deep.equal([warned.id]);
    expect(queue.page).to.include("Filter: recipient new to the conversation");
    expect(queue.text).to.include(`/review?warning=new_recipient&amp;draft=${warned.id}`);
    expect(waiting(await desk.get("/review?warning=risky_file"))).to.deep.equal([]);
    expect(waiting(await desk.get("/review?warning=nonsense"))).to.include.members([plain.id, warned.id]);
    const list = await desk.get("/drafts?warning_kind=new_recipient&status=pending");
    expect(rows(list)).to.deep.equal([warned.id]);
    expect(list.text).to.include('<option value="new_recipient" selected>');
    const wrong = await desk.get("/drafts?warning_kind=nonsense");
    expect([wrong.status, rows(wrong)]).to.deep.equal([422, []]);
  });

  it("both filters offer every kind of warning that lists show", async () => {
    for (const path of ["/review", "/drafts"]) {
      const { text } = await desk.get(path);
      for (const kind of listedWarnings)
        expect(textOf(new RegExp(`<option value="${kind}">.*?</option>`).exec(text)?.[0] ?? "").trim(), kind).to.equal(
          warningWords[kind],
        );
    }
  });

  it("a draft with a heavy warning is not offered on a sheet, which counts it, and is refused if its name is forged into the form", async () => {
    const plain = await newDraft();
    const warned = await newDraft({ cc: ["eve@elsewhere.example"] });
    const sheet = await desk.get("/review/sheet");
    const [only, ...others] = ticked(sheet);
    expect([only?.split(" ")[0], others]).to.deep.equal([plain.id, []]);
    expect(sheet.page).to.include("1 draft of the queue has a warning");
    const { version, content_sha256 } = await warned.read();
    const sent = await desk.post("/review/sheet", {
      draft: [only as string, `${warned.id} ${version} ${content_sha256}`],
    });
    expect([sent.status, sent.page.includes("1 draft approved")], sent.page).to.deep.equal([409, true]);
    expect(sent.page).to.include("has a warning now");
    expect((await warned.read()).status).to.equal("pending");
    expect((await warned.history()).map(({ type }) => type)).to.not.include("DraftApproved");
    await desk.post("/review/undo-sheet", { draft: plain.id });
  });

  it("a draft is judged again when a sheet is made and when it is sent, whatever warnings are stored with it", async () => {
    const hidden = await newDraft({ cc: ["eve@elsewhere.example"] });
    const plain = await newDraft();
    const { owner } = service.database;
    await owner.query("update read.drafts set version_warnings = '{}' where id = $1", [hidden.id]);
    const sheet = await desk.get("/review/sheet");
    expect(ticked(sheet).map((value) => value.split(" ")[0])).to.deep.equal([plain.id]);
    const { version, content_sha256 } = await hidden.read();
    const sent = await desk.post("/review/sheet", { draft: `${hidden.id} ${version} ${content_sha256}` });
    expect(sent.status).to.equal(409);
    expect((await hidden.read()).status).to.equal("pending");
    // A stored warning alone is enough not to be offered.
    await owner.query("update read.drafts set version_warnings = '{not_examined}' where id = $1", [plain.id]);
    expect(ticked(await desk.get("/review/sheet"))).to.deep.equal([]);
  });
});
