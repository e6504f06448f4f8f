import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { type Desk, deskOf, type Seen } from "#test/support/desk.ts";
import { type InProcess, mail, startInProcess, until, type Workspace } from "#test/support/inProcess.ts";

/** Where people decide, as it is without a script: over plain HTTP. */
describe("console: review", () => {
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
  const shownBy = (desk: Desk, id: string) => desk.get(`/review?draft=${id}`);
  const listed = ({ text }: Seen) => [...text.matchAll(/id="waits-([^"]+)"/g)].map(([, id]) => id);

  it("says in a friendly sentence that nothing waits", async () => {
    const nobody = await service.workspace();
    const page = await (await deskOf(service, nobody.id, { role: "approver" })).get("/review");
    expect(page.status).to.equal(200);
    expect(page.page).to.contain("Nothing waits for your decision.");
  });

  it("lists what waits, the most urgent first: by priority, then who is asked soonest, then who waited longest", async () => {
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
    expect(filtered.page).to.contain("somebody else is asked in 29 minutes");
    for (const { id } of [older, newer, soon, urgent])
      await workspace.ask(`POST /v1/drafts/${id}/reject`, { json: {} });
  });

  it("approves and sends what was shown, goes on to the next one, and can be undone before it leaves", async () => {
    const first = await waits("first");
    const second = await waits("second");
    const page = await shownBy(ben, first.id);
    expect(page.page).to.contain("Approve & send").and.to.contain("It comes.");
    const pressed = await ben.post(`/review/${first.id}/approve`, { version: "1", next: second.id });
    expect(pressed.status).to.equal(303);
    expect(pressed.location).to.equal(`/review?draft=${second.id}&decided=${first.id}`);
    for (const reload of [1, 2]) {
      const next = await ben.get(pressed.location!);
      console.log(next.page.slice(0, 900)); expect(next.page, `load ${reload}`).to.contain(
        "You approved first. It goes to ann@customer.example in a moment.",
      );
      expect(next.text)
        .to.contain(`action="/review/${first.id}/undo"`)
        .and.to.contain(`action="/review/${second.id}/approve"`);
    }
    // The others see it at once, and who it was.
    const seen = await shownBy(joan, first.id);
    expect(seen.page).to.contain("Approved, and not sent yet by Ben");
    expect(seen.text).not.to.contain(`action="/review/${first.id}/approve"`);

    await ben.get(pressed.location!);
    const undone = await ben.post(`/review/${first.id}/undo`);
    expect(undone.location).to.equal(`/review?draft=${first.id}&done=taken_back`);
    expect(await statusOf(first.id)).to.equal("pending");
    expect((await ben.get(undone.location!)).page).to.contain("Your approval is taken back.");

    await ben.post(`/review/${first.id}/approve`, { version: "1" });
    service.clock.advance(11_000);
    await until(async () => (await statusOf(first.id)) === "sent");
    const late = await ben.post(`/review/${first.id}/undo`);
    expect(late.status).to.equal(422);
    expect(late.page).to.contain("It could not be taken back").and.to.contain("Approved and sent by Ben");
  });
});
