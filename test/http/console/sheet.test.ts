import { expect } from "chai";
import { type Desk, deskOf } from "#test/support/desk.ts";
import type { InProcess } from "#test/support/inProcess.ts";
import { until } from "#test/support/inProcess.ts";
import type { StoryDraft } from "#test/support/story/draft.ts";
import type { StoryTenant } from "#test/support/story/story.ts";
import { startStory } from "#test/support/story/story.ts";

describe("the sheet: several drafts decided on one page", () => {
  let service: InProcess;
  let tenant: StoryTenant;
  let desk: Desk;
  before(async () => {
    // Mail from this domain counts as proven, so that drafts have no warning about their sender.
    ({ service, tenant } = await startStory({ DEV_PROVEN_DOMAINS: "customer.example" }));
    desk = await deskOf(service, tenant.id, { role: "approver", name: "Ann" });
  });
  after(() => service.stop());

  /** Submits ordinary drafts, each on a separate thread: their customers' mail comes from this machine, which proves it here. */
  async function newDrafts(count: number): Promise<StoryDraft[]> {
    const drafts: StoryDraft[] = [];
    for (let n = 0; n < count; n++) {
      const mail = await tenant.mail({ subject: `Question ${n}`, envelope: { ip: "127.0.0.1" } });
      await tenant.lastMessage(mail, ({ authentication }) => authentication !== null);
      drafts.push(await tenant.draft(mail, { body_text: `Answer ${n}.` }));
    }
    return drafts;
  }

  const valuesIn = (text: string): string[] =>
    [...text.matchAll(/name="draft" value="([^"]*)" checked/g)].map(([, value]) => value as string);
  const send = (values: readonly string[], by = desk) => by.post("/review/sheet", { draft: values });
  const typesOf = async (draft: StoryDraft) => (await draft.history()).map(({ type }: any) => type as string);

  it("the ticked drafts of a sheet are approved one by one, with the sheet in their events, and sent after the undo time", async () => {
    const [one, two, three] = await newDrafts(3);
    const page = await desk.get("/review/sheet");
    const values = valuesIn(page.text);
    expect(values.map((value) => value.split(" ")[0])).to.have.members([one!.id, two!.id, three!.id]);
    for (const n of [0, 1, 2]) expect(page.page).to.include(`Answer ${n}.`);
    const ticked = values.filter((value) => !value.startsWith(three!.id));
    const done = await send(ticked);
    expect([done.status, done.page.includes("2 drafts approved")], done.page).to.deep.equal([200, true]);
    const sheets = [];
    for (const draft of [one!, two!])
      sheets.push((await draft.history()).find(({ type }: any) => type === "DraftApproved").data.sheet);
    expect(sheets[0]).to.deep.equal(sheets[1]);
    expect(sheets[0].size).to.equal(2);
    expect((await three!.read()).status).to.equal("pending");
    const undone = await desk.post("/review/undo-sheet", { draft: one!.id });
    expect(undone.status).to.equal(200);
    expect((await one!.read()).status).to.equal("pending");
    service.clock.advance(11_000);
    await two!.becomes("sent");
    expect(await typesOf(one!)).to.not.include("DraftQueued");
    for (const draft of [one!, three!]) await draft.reject();
  });

  it("a draft of a sheet that changed, was decided, got newer mail or another hash is not approved, and the others are", async () => {
    const [edited, decided, outdated, forged, good] = await newDrafts(5);
    const values = valuesIn((await desk.get("/review/sheet")).text);
    expect(values).to.have.length(5);
    await edited!.edit({ body_text: "Another text." });
    await decided!.reject("no");
    await tenant.mail({
      from: "ann@customer.example",
      inReplyTo: [(await tenant.thread(outdated!.threadId)).messages.at(-1).rfc_message_id.slice(1, -1)],
    });
    await until(async () => (await outdated!.read()).newer_message_id !== null);
    const sent = values.map((value) =>
      value.startsWith(forged!.id) ? value.replace(/[0-9a-f]{64}$/, "0".repeat(64)) : value,
    );
    const done = await send(sent);
    expect([done.status, done.page.includes("1 draft approved")], done.page).to.deep.equal([409, true]);
    for (const draft of [edited!, decided!, outdated!, forged!])
      expect(await typesOf(draft)).to.not.include("DraftApproved");
    expect(await typesOf(good!)).to.include("DraftApproved");
  });

  it("a sheet refuses no, malformed and more than ten drafts, and members who may not decide", async () => {
    const [draft] = await newDrafts(1);
    const value = valuesIn((await desk.get("/review/sheet")).text).find((each) => each.startsWith(draft!.id)) as string;
    const others = Array.from({ length: 11 }, (_, n) => value.replace(/^\w{8}/, String(n).padStart(8, "0")));
    for (const values of [[], ["x"], [`${draft!.id} 0 ${"0".repeat(64)}`], others])
      expect((await send(values)).status).to.equal(422);
    const auditor = await deskOf(service, tenant.id, { role: "auditor" });
    await auditor.get("/review/sheet");
    expect((await send([value], auditor)).status).to.equal(403);
    expect((await draft!.read()).status).to.equal("pending");
  });

  it("drafts with a warning, a file or several approvers are not on a sheet", async () => {
    const quorum = await tenant.newIdentity({ approvalsRequired: 2 });
    const stranger = await tenant.draft(await tenant.mail({ from: "eve@unproven.example" }));
    const several = await tenant.draft(await tenant.mail({ to: quorum }));
    const file = { filename: "a.txt", content_type: "text/plain", content: Buffer.from("a").toString("base64") };
    const first = await tenant.mail();
    const attached = await tenant.draft(first, { attachments: [file] });
    const { text } = await desk.get("/review/sheet");
    for (const { id } of [stranger, several, attached])
      expect(valuesIn(text).some((value) => value.startsWith(id))).to.equal(false);
  });
});
