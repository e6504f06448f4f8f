import { expect } from "chai";
import type { InProcess } from "#test/support/inProcess.ts";
import { type StoryMail, type StoryTenant, startStory } from "#test/support/story/story.ts";

/** Absence notices as vacation(1) writes them: no field says that a program wrote them, and they answer nothing. */
describe("an absence notice without any sign of one [d5 absence]", () => {
  let service: InProcess;
  let tenant: StoryTenant;

  before(async () => {
    ({ service, tenant } = await startStory(
      { AUTO_ANSWERS_PER_ADDRESS: "1/3600" },
      { identity: { approvalChannel: { type: "email" as const, config: { to: "boss@example.com" } } } },
    ));
  });
  after(() => service.stop());

  /** Answers a customer's mail about “Parcel of” the customer; returns the customer's address. */
  async function answered(name: string): Promise<string> {
    const from = `${name}@customer.example`;
    const draft = await tenant.draft(await tenant.mail({ from, subject: `Re: AW: Parcel of ${name}` }));
    await draft.sendNow();
    return from;
  }

  const notice = (from: string, about: string): Promise<StoryMail> =>
    tenant.mail({ from, subject: "away from my mail", text: `Back on Thursday. Mail about "${about}" is read then.` });
  const warned = async (mail: StoryMail): Promise<boolean> =>
    (await tenant.draft(mail)).json.warning_kinds.includes("absence_notice");

  it("its approver is told what it looks like, and answers to it that no person approved are counted", async () => {
    const mail = await notice(await answered("vaca"), "Parcel of vaca");
    expect(mail).to.include({ identity: tenant.identity });
    expect((await tenant.lastMessage(mail)).kind).to.equal("customer");
    const draft = await tenant.draft(mail);
    expect(draft.json.warning_kinds).to.include("absence_notice");
    expect((await draft.approvalMail()).text).to.include("The message looks like an absence notice");
    await draft.sendNow();
    const again = await tenant.draft(await notice("vaca@customer.example", "Parcel of vaca"));
    const refused = await again.ask("POST send");
    expect(refused.outcome, refused.text).to.equal("422 loop_guarded");
  });

  it("who is asked because of the limit of answers is told so, and the draft says it", async () => {
    const approvers = { approvalChannel: { type: "email" as const, config: { to: "chief@example.com" } } };
    const granting = await tenant.newIdentity({ autoApproveReplies: true, ...approvers });
    const mail = () => tenant.mail({ from: "talker@customer.example", to: granting });
    await (await tenant.draft(await mail())).becomes("sent");
    const second = await tenant.draft(await mail());
    expect((await second.approvalMail()).text).to.match(
      /You are asked because 1 answers? to this address .* within an hour that no person approved, which is the limit:/,
    );
    expect((await second.read()).warning_kinds).to.include("answer_limit");
  });

  it("a person's mail is none: one that comes later, has other words, or answers ours", async () => {
    const from = await answered("pat");
    const others = [
      await notice(from, "something else"),
      await notice("bystander@customer.example", "Parcel of pat"),
      await tenant.mail({ from, inReplyTo: "unknown@customer.example", subject: "Parcel of pat" }),
    ];
    for (const [index, mail] of others.entries()) expect(await warned(mail), `mail ${index}`).to.equal(false);
    expect(await warned(await notice(from, "PARCEL OF PAT"))).to.equal(true);
    service.clock.advance(61_000);
    expect(await warned(await notice(from, "Parcel of pat"))).to.equal(false);
  });
});
