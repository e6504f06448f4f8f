import { expect } from "chai";
import { signGrownTrees } from "#src/commands/audit/signGrownTrees.ts";
import { operator } from "#test/support/cause.ts";
import { type Desk, deskOf } from "#test/support/desk.ts";
import { type InProcess, startInProcess, until, type Workspace } from "#test/support/inProcess.ts";

const dayMs = 24 * 3_600_000;

describe("mail to members with signed heads of the audit tree", () => {
  let service: InProcess;
  let workspace: Workspace;
  before(async () => {
    service = await startInProcess();
  });
  after(() => service?.stop());
  beforeEach(async () => {
    workspace = await service.workspace();
  });

  const choose = async (desk: Desk, headMail: string) => {
    await desk.get("/settings/profile");
    return desk.post("/settings/profile/head-mail", { head_mail: headMail });
  };
  const reader = async (headMail: string, role: "owner" | "admin" | "auditor" = "auditor") => {
    const desk = await deskOf(service, workspace.id, { role });
    expect((await choose(desk, headMail)).location).to.equal("/settings/profile?done=saved");
    return desk;
  };
  const mailsTo = async ({ user }: Desk) =>
    (await service.outbox.newest(200)).filter(({ envelope }) => envelope.to.includes(user.email)).reverse();
  const untilMailed = async (desk: Desk, count: number) => until(async () => (await mailsTo(desk)).length === count);
  /** Returns the checkpoint that was signed. */
  const grow = async () => {
    expect((await workspace.ask("POST /v1/assistants", { json: { name: "Ann" } })).status).to.equal(200);
    await service.caughtUp();
    const onError = (error: unknown) => expect.fail(String(error));
    service.clock.advance(3_600_000);
    await signGrownTrees(service.deps, { onError, stopping: new AbortController().signal });
    return (await service.deps.auditHeads.newest(workspace.id))!;
  };

  it("a member who chose mail gets the newest head at once, then one a day, and none while the history has not grown", async () => {
    const head = await grow();
    const desk = await reader("daily");
    await untilMailed(desk, 1);
    const [mail] = await mailsTo(desk);
    const text = mail!.text.replaceAll("\r\n", "\n");
    for (const part of [
      head.checkpoint.trimEnd(),
      (await service.deps.auditHeads.verifierKeyOf(head))!,
      head.signedAt.toISOString(),
      "--expect FILE",
      "/audit/heads",
      "/stop/",
    ])
      expect(text).to.include(part);
    // A day without a new head: a member who chose later shows that it has passed.
    service.clock.advance(dayMs);
    const later = await reader("daily");
    await untilMailed(later, 1);
    expect(await mailsTo(desk)).to.have.length(1);
    await grow();
    const newest = await grow();
    service.clock.advance(dayMs);
    await untilMailed(desk, 2);
    await untilMailed(later, 2);
    expect((await mailsTo(desk))[1]!.text.replaceAll("\r\n", "\n")).to.include(newest.checkpoint.trimEnd());
  });

  it("a member who chose no mail, was removed, or may no longer read the audit tree gets no further mail", async () => {
    await grow();
    const [off, removed, downgraded, witness] = [
      await reader("daily"),
      await reader("daily"),
      await reader("daily"),
      await reader("daily"),
    ];
    for (const desk of [off, removed, downgraded, witness]) await untilMailed(desk, 1);
    await choose(off, "off");
    const { deps } = service;
    const cause = operator(workspace.id);
    const by = "operator";
    await deps.members.handle(workspace.id, { type: "RemoveMember", memberId: removed.user.memberId, by }, cause);
    const { memberId } = downgraded.user;
    await deps.members.handle(workspace.id, { type: "ChangeRole", memberId, role: "approver", by }, cause);
    await grow();
    service.clock.advance(dayMs);
    await untilMailed(witness, 2);
    // One after the other, in the order in which they are due: the witness is the last.
    for (const desk of [off, removed, downgraded]) expect(await mailsTo(desk)).to.have.length(1);
  });

  it("the choice is offered to those who read the audit tree, is shown again, and refuses other values and forged forms", async () => {
    const desk = await reader("daily");
    expect((await desk.get("/settings/profile")).text).to.match(/value="daily" ?selected/);
    expect((await choose(desk, "hourly")).status).to.equal(422);
    const forged = await desk.post("/settings/profile/head-mail", { head_mail: "off", form_token: "forged" });
    expect(forged.status).to.equal(403);
    expect((await desk.get("/settings/profile")).text).to.match(/value="daily" ?selected/);
    const approver = await deskOf(service, workspace.id, { role: "approver" });
    expect((await approver.get("/settings/profile")).text).not.to.include("Mail with signed heads");
    expect((await choose(approver, "daily")).status).to.equal(403);
  });
});
