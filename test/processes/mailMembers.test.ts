import { expect } from "chai";
import { type Desk, deskOf } from "#test/support/desk.ts";
import { type InProcess, until } from "#test/support/inProcess.ts";
import type { StoryTenant } from "#test/support/story/story.ts";
import { startStory } from "#test/support/story/story.ts";

const minuteMs = 60_000;

describe("mail to members about drafts that wait", () => {
  let service: InProcess;
  let tenant: StoryTenant;
  beforeEach(async () => {
    ({ service, tenant } = await startStory());
    // Windows are parts of an hour by the clock: each test begins with a new one.
    service.clock.advance(60 * minuteMs - (service.clock.now().getTime() % (60 * minuteMs)));
  });
  afterEach(() => service.stop());

  const choose = async (desk: Desk, draftMail: string) => {
    await desk.get("/settings/profile");
    return desk.post("/settings/profile/draft-mail", { draft_mail: draftMail });
  };
  const reader = async (draftMail: string, role: "owner" | "admin" | "approver" = "approver") => {
    const desk = await deskOf(service, tenant.id, { role });
    expect((await choose(desk, draftMail)).location).to.equal("/settings/profile?done=saved");
    return desk;
  };
  const mailsTo = async ({ user }: Desk) =>
    (await service.outbox.newest(200)).filter(({ envelope }) => envelope.to.includes(user.email)).reverse();
  const newDraft = async () => tenant.draft(await tenant.mail());
  /** Lets the windows that are open end, once the process has handled every event. */
  async function windowEnds(ms = 5 * minuteMs): Promise<void> {
    await service.caughtUp();
    const head = await service.store.head();
    const handled = `select 1 where (select max(position) from work.front) >= $1
      and not exists (select 1 from work.items where process = 'mailMembers' and timer is null)`;
    await until(async () => (await service.database.reads.ofAll.query(handled, [head])).rows.length > 0);
    service.clock.advance(ms + 10_000);
  }
  /** A member whose mail shows that the mails of a window were sent. */
  const untilMailed = async (desk: Desk, count: number) => until(async () => (await mailsTo(desk)).length === count);

  it("a member who chose mail gets one about all drafts of a window, with their number and no approval link", async () => {
    const [soon, hourly, off] = [await reader("five_minutes"), await reader("hour"), await reader("off")];
    await windowEnds(60 * minuteMs);
    const drafts = [await newDraft(), await newDraft(), await newDraft()];
    await windowEnds();
    await until(async () => (await mailsTo(soon)).length > 0);
    const mails = await mailsTo(soon);
    // A window may end between two of the drafts.
    expect(mails.length).to.be.at.most(2);
    const last = mails.at(-1)!;
    expect(last.subject).to.equal("3 drafts wait for a decision");
    const own = /\/review\?draft=([\w-]+)/.exec(mails[0]!.text)?.[1];
    expect(drafts.map(({ id }) => id)).to.include(own);
    expect(last.text).to.include("asks you to sign in").and.to.include("/stop/").and.not.to.include("/a/");
    expect(await mailsTo(hourly)).to.be.empty;
    await windowEnds(60 * minuteMs);
    await untilMailed(hourly, 1);
    expect(await mailsTo(soon)).to.have.length(mails.length);
    expect(await mailsTo(off)).to.be.empty;
  });

  it("a draft that was decided in its window causes no mail, and a version causes one mail at most", async () => {
    const desk = await reader("five_minutes");
    const decided = await newDraft();
    await decided.reject("no");
    await windowEnds();
    const draft = await newDraft();
    await windowEnds();
    await untilMailed(desk, 1);
    expect((await mailsTo(desk))[0]!.text)
      .to.include("1 draft waits")
      .and.to.include(draft.id);
    // The same version again: approved and taken back.
    const approver = await deskOf(service, tenant.id, { role: "owner" });
    await approver.get(`/review?draft=${draft.id}`);
    await approver.post(`/review/${draft.id}/approve`, { version: "1" });
    await draft.becomes("approved");
    await approver.post(`/review/${draft.id}/undo`, {});
    await draft.becomes("pending");
    const other = await newDraft();
    await windowEnds();
    await untilMailed(desk, 2);
    const second = (await mailsTo(desk))[1]!;
    expect(second.text).to.include("2 drafts wait for a decision. 1 of them is new.").and.to.include(other.id);
    await draft.edit({ body_text: "Another version." });
    await windowEnds();
    await untilMailed(desk, 3);
    expect((await mailsTo(desk))[2]!.text).to.include(draft.id);
  });

  it("a member who was removed, made an auditor, or unsubscribed since gets no mail", async () => {
    const [removed, auditor, gone, witness] = [
      await reader("five_minutes"),
      await reader("five_minutes"),
      await reader("five_minutes"),
      await reader("five_minutes"),
    ];
    await newDraft();
    await service.caughtUp();
    const changed = async (line: string, json?: object) =>
      expect((await tenant.ask(line, json && { json })).status, line).to.equal(200);
    await changed(`DELETE /v1/members/${removed.user.memberId}`);
    await changed(`PATCH /v1/members/${auditor.user.memberId}`, { role: "auditor" });
    const hash = { workspaceId: tenant.id, address: gone.user.email };
    const { unsubscribeLinks, newUnsubscribeToken } = await import("#src/commands/serviceMail/unsubscribes.ts");
    const token = await newUnsubscribeToken(service.deps, hash);
    const by = { ip: undefined, userAgent: undefined, requestId: undefined };
    expect((await unsubscribeLinks(service.deps).change(token, "stop", by))?.stopped).to.equal(true);
    await windowEnds();
    await untilMailed(witness, 1);
    for (const desk of [removed, auditor, gone]) expect(await mailsTo(desk)).to.be.empty;
  });

  it("a member to whom a draft was handed over is mailed about it, and not about drafts that a colleague has taken", async () => {
    const [ann, ben] = [await reader("five_minutes"), await reader("five_minutes")];
    await windowEnds();
    const draft = await newDraft();
    const assign = async (desk: Desk) => {
      const { status } = await draft.ask("POST assign", { json: { user_id: desk.user.id } });
      expect(status).to.equal(200);
    };
    await assign(ann);
    await windowEnds();
    await untilMailed(ann, 1);
    expect((await mailsTo(ann))[0]!.text)
      .to.include("1 of them is handed over to you.")
      .and.to.include(draft.id);
    await assign(ben);
    await windowEnds();
    await untilMailed(ben, 1);
    expect((await mailsTo(ben))[0]!.text).to.include("handed over to you.");
    expect(await mailsTo(ann)).to.have.length(1);
  });

  it("the choice is offered to those who decide, is shown again, and refuses other values and forged forms", async () => {
    const desk = await reader("hour", "admin");
    expect((await desk.get("/settings/profile")).text).to.match(/value="hour" ?selected/);
    expect((await choose(desk, "always")).status).to.equal(422);
    expect(
      (await desk.post("/settings/profile/draft-mail", { draft_mail: "off", form_token: "forged" })).status,
    ).to.equal(403);
    expect((await desk.get("/settings/profile")).text).to.match(/value="hour" ?selected/);
    const auditor = await deskOf(service, tenant.id, { role: "auditor" });
    expect((await auditor.get("/settings/profile")).text).not.to.include("Mail about drafts");
    expect((await choose(auditor, "hour")).status).to.equal(403);
  });
});
