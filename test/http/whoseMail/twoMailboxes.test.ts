import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { approveByPerson } from "#src/commands/drafts/signedInDecisions.ts";
import { operator } from "#test/support/cause.ts";
import type { InProcess } from "#test/support/inProcess.ts";
import { openTenant, type StoryMail, type StoryTenant, startStory } from "#test/support/story/story.ts";

/** A mail that two mailboxes of one tenant receive: what one of them answers, the other one is told. */
describe("one mail to two mailboxes [d5 colleague]", () => {
  let service: InProcess;
  let tenant: StoryTenant;
  let sales: Awaited<ReturnType<StoryTenant["newIdentity"]>>;

  before(async () => {
    ({ service, tenant } = await startStory());
    sales = await tenant.newIdentity();
  });
  after(() => service.stop());

  /** One mail to support@ and sales@, on a thread of each. */
  async function mailToBoth(from = "carla@customer.example"): Promise<{ support: StoryMail; other: StoryMail }> {
    const id = `${Math.random().toString(36).slice(2)}@customer.example`;
    const letter = { id, from, headers: [`Cc: ${sales.address}`] };
    return { support: await tenant.mail(letter), other: await tenant.mail({ ...letter, to: sales }) };
  }

  it("a draft of one mailbox is told that the other one has answered, from which address, now and as of that time", async () => {
    const { support, other } = await mailToBoth();
    const waiting = await tenant.draft(other);
    expect(waiting.json).to.deep.include({ answered_meanwhile: null, warnings: [] });
    const before = service.clock.now().toISOString();
    service.clock.advance(1_000);
    const answer = await tenant.draft(support);
    await answer.sendNow();
    const told = await waiting.read();
    expect(told.answered_meanwhile).to.include({ from_email: tenant.identity.address });
    expect(told.warning_kinds).to.include("answered_meanwhile");
    const late = await tenant.draft(other);
    expect(late.json.warnings[0]).to.include(`already answered, from ${tenant.identity.address}, at `);
    const now = new Date(service.clock.now().getTime() + 1_000).toISOString();
    expect((await waiting.ask(`GET ?at=${before}`)).json.answered_meanwhile).to.equal(null);
    service.clock.advance(2_000);
    const then = (await waiting.ask(`GET ?at=${now}`)).json;
    expect(then.answered_meanwhile).to.deep.equal(told.answered_meanwhile);
    expect(then.warning_kinds).to.deep.equal((await waiting.read()).warning_kinds);
  });

  it("an approval that a person gave before the other mailbox answered is asked about again, once", async () => {
    const { support, other } = await mailToBoth();
    const [memberId, userId] = [randomUUID(), randomUUID()];
    const ann = {
      ...operator(tenant.id),
      actor: { kind: "session", id: userId, name: "Ann", email: "ann@x.example" },
    } as const;
    const join = {
      type: "JoinMember",
      memberId,
      userId,
      email: "ann@x.example",
      role: "approver",
    } as const;
    await service.deps.members.handle(tenant.id, join, operator(tenant.id));
    const draft = await tenant.draft(other);
    const approve = () =>
      approveByPerson(service.deps, { workspaceId: tenant.id, draftId: draft.id, ifVersion: 1 }, ann);
    await approve();
    const answer = await tenant.draft(support);
    await answer.sendNow();
    service.clock.advance(10_000);
    await draft.becomes("pending");
    const asked = (await draft.history()).filter(({ type }) => type === "DraftReturnedToPending");
    expect(asked.map(({ data }) => [data.because, data.answered_by])).to.deep.equal([
      ["answered_meanwhile", [answer.id]],
    ]);
    await approve();
    service.clock.advance(10_000);
    await draft.becomes("sent");
  });

  it("a mail of another workspace with the same Message-ID is no answer", async () => {
    const { support, other } = await mailToBoth();
    const stranger = await openTenant(service);
    const same = await stranger.mail({ id: support.id });
    await (await stranger.draft(same)).sendNow();
    expect((await tenant.draft(other)).json).to.deep.include({ answered_meanwhile: null, warnings: [] });
  });
});
