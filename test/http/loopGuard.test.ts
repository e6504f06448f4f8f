import { readFile } from "node:fs/promises";
import { expect } from "chai";
import { type InProcess, until } from "#test/support/inProcess.ts";
import { type StoryMail, type StoryTenant, startStory } from "#test/support/story/story.ts";

const robot = "Robot <robot@machine.example>";
const automatic = ["Auto-Submitted: auto-replied"];

describe("answers to machines [d13 loop guard]", () => {
  let service: InProcess;
  let tenant: StoryTenant;

  before(async () => {
    ({ service, tenant } = await startStory());
  });
  after(() => service.stop());

  /** A machine's mail: it opens a thread unless it answers a mail. */
  const write = (different: Parameters<StoryTenant["mail"]>[0] = {}) =>
    tenant.mail({ from: robot, headers: automatic, ...different });
  const reply = (thread_id: string, based_on_message_id?: string) =>
    tenant.ask("POST /v1/emails/reply", { json: { thread_id, based_on_message_id, body_text: "Thank you." } });
  const classified = async (mail: StoryMail) => (await tenant.lastMessage(mail)).classification;

  it("a machine is answered once per thread; a further answer is refused, as reply, as draft and as send", async () => {
    const first = await write();
    const { threadId } = first;
    expect(await classified(first)).to.equal("auto_reply");
    const early = await tenant.draft(first);
    expect((await reply(threadId, first.messageId)).status).to.equal(202);
    const again = await write({ inReplyTo: first });
    expect(await classified(again)).to.equal("auto_reply");
    const refused = [
      await reply(threadId, again.messageId),
      await reply(threadId, first.messageId),
      await reply(threadId),
      await tenant.submit(again),
      await early.ask("POST send"),
    ];
    for (const [index, { outcome, text }] of refused.entries())
      expect(outcome, `${index}: ${text}`).to.equal("422 loop_guarded");
    const { drafts } = await tenant.thread(first);
    expect(drafts.filter(({ status }: any) => status === "sent" || status === "sending")).to.have.length(1);
  });

  it("after an answer to a machine, a person on the same thread, another machine and another thread can still be answered", async () => {
    const first = await write();
    const { threadId } = first;
    expect((await reply(threadId)).status).to.equal(202);
    await write({ inReplyTo: first, from: "Other <other@machine.example>" });
    expect((await reply(threadId)).status).to.equal(202);
    expect(await classified(await write({ inReplyTo: first, headers: [] }))).to.equal("person");
    expect((await reply(threadId)).status).to.equal(202);
    expect((await reply(threadId)).status).to.equal(202);
    expect((await reply((await write()).threadId)).status).to.equal(202);
  });

  it("a machine can be answered again if the first answer was not sent", async () => {
    const first = await write();
    await (await tenant.draft(first)).reject();
    expect((await reply(first.threadId)).status).to.equal(202);
  });

  it("a machine is answered once, however many answers are requested at the same time", async () => {
    const { threadId, messageId } = await write();
    const answers = await Promise.all(Array.from({ length: 8 }, () => reply(threadId, messageId)));
    expect(answers.filter(({ status }) => status === 202)).to.have.length(1);
    for (const { json } of answers.filter(({ status }) => status !== 202)) expect(json.error).to.equal("loop_guarded");
    await until(async () => (await tenant.thread(threadId)).drafts.some(({ status }: any) => status === "sent"));
    await service.caughtUp();
    const left = (await tenant.thread(threadId)).messages.filter(({ direction }: any) => direction === "outbound");
    expect(left).to.have.length(1);
  });

  it("list mail counts as a person's mail, and a read receipt and a bounce as a machine's", async () => {
    const list = await write({ headers: ["List-Id: <talk.example.com>"] });
    for (let n = 0; n < 2; n++) expect((await reply(list.threadId)).status).to.equal(202);
    for (const fixture of ["read-receipt", "bounce"]) {
      const raw = await readFile(new URL(`../fixtures/mail/${fixture}.eml`, import.meta.url));
      const received = await tenant.mail({ raw });
      expect(await classified(received), fixture).to.equal(fixture === "bounce" ? "bounce" : "auto_reply");
      expect((await reply(received.threadId)).status, fixture).to.equal(202);
      expect((await reply(received.threadId)).outcome, fixture).to.equal("422 loop_guarded");
    }
  });
});
