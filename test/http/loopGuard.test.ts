import { readFile } from "node:fs/promises";
import { expect } from "chai";
import { type Identity, type InProcess, mail, startInProcess, until, type Workspace } from "#test/support/inProcess.ts";

const robot = "Robot <robot@machine.example>";
const automatic = "Auto-Submitted: auto-replied\r\n";

describe("answers to machines [d13 loop guard]", () => {
  let service: InProcess;
  let workspace: Workspace;
  let identity: Identity;
  let mails = 0;

  before(async () => {
    service = await startInProcess();
    workspace = await service.workspace();
    identity = await service.identity(workspace.id);
  });
  after(() => service.stop());

  const threadOf = async (id: string) => (await workspace.ask(`GET /v1/threads/${id}`)).json;

  async function write(different: Partial<Parameters<typeof mail>[0]> = {}, headers = automatic) {
    const id = `m${++mails}@machine.example`;
    const raw = mail({ id, from: robot, subject: `Automatic ${mails}`, ...different });
    await service.deliver(identity.address, raw.replace("MIME-Version:", `${headers}MIME-Version:`));
    return id;
  }

  /** A thread that a machine opened, and its message. */
  async function opened(headers = automatic) {
    const id = await write({}, headers);
    // Not simply the first: an answer on another thread may have left a moment ago.
    const { json } = await workspace.ask(`GET /v1/threads?identity_id=${identity.id}&limit=100`);
    const thread = await threadOf(json.data.find(({ subject }: any) => subject === `Automatic ${mails}`).id);
    return { id, threadId: thread.id as string, message: thread.messages.at(-1) };
  }

  const reply = (thread_id: string, based_on_message_id?: string) =>
    workspace.ask("POST /v1/emails/reply", { json: { thread_id, based_on_message_id, body_text: "Thank you." } });
  const submit = (thread_id: string, based_on_message_id: string) =>
    workspace.ask("POST /v1/drafts", {
      json: { thread_id, identity_id: identity.id, based_on_message_id, body_text: "Thank you." },
    });
  const newestOf = async (threadId: string) => (await threadOf(threadId)).messages.at(-1);

  it("are given once per thread; a further one is refused, as reply, as draft and as send", async () => {
    const { id, threadId, message } = await opened();
    expect(message.classification).to.equal("auto_reply");
    const early = (await submit(threadId, message.id)).json;
    expect((await reply(threadId, message.id)).status).to.equal(202);
    await write({ inReplyTo: id });
    const again = await newestOf(threadId);
    expect(again.classification).to.equal("auto_reply");
    const refused = [
      await reply(threadId, again.id),
      await reply(threadId, message.id),
      await reply(threadId),
      await submit(threadId, again.id),
      await workspace.ask(`POST /v1/drafts/${early.id}/send`),
    ];
    for (const [index, { status, json }] of refused.entries()) {
      expect(status, `${index}: ${JSON.stringify(json)}`).to.equal(422);
      expect(json.error).to.equal("loop_guarded");
    }
    const drafts = (await threadOf(threadId)).drafts;
    expect(drafts.filter(({ status }: any) => status === "sent" || status === "sending")).to.have.length(1);
  });

  it("stay possible to a person on the same thread, to another machine, and on another thread", async () => {
    const { id, threadId } = await opened();
    expect((await reply(threadId)).status).to.equal(202);
    await write({ inReplyTo: id, from: "Other <other@machine.example>" });
    expect((await reply(threadId)).status).to.equal(202);
    await write({ inReplyTo: id }, "");
    expect((await newestOf(threadId)).classification).to.equal("person");
    expect((await reply(threadId)).status).to.equal(202);
    expect((await reply(threadId)).status).to.equal(202);
    expect((await reply((await opened()).threadId)).status).to.equal(202);
  });

  it("are possible again where the first one did not leave", async () => {
    const { threadId, message } = await opened();
    const { json: draft } = await submit(threadId, message.id);
    await workspace.ask(`POST /v1/drafts/${draft.id}/reject`, { json: {} });
    expect((await reply(threadId)).status).to.equal(202);
  });

  it("are one, however many ask at the same time", async () => {
    const { threadId, message } = await opened();
    const answers = await Promise.all(Array.from({ length: 8 }, () => reply(threadId, message.id)));
    expect(answers.filter(({ status }) => status === 202)).to.have.length(1);
    for (const { json } of answers.filter(({ status }) => status !== 202)) expect(json.error).to.equal("loop_guarded");
    await until(async () => (await threadOf(threadId)).drafts.some(({ status }: any) => status === "sent"));
    await service.caughtUp();
    const left = (await threadOf(threadId)).messages.filter(({ direction }: any) => direction === "outbound");
    expect(left).to.have.length(1);
  });

  it("count list mail as a person's, and a read receipt and a bounce as a machine's", async () => {
    const list = await opened("List-Id: <talk.example.com>\r\n");
    for (let n = 0; n < 2; n++) expect((await reply(list.threadId)).status).to.equal(202);
    // An answer that leaves later would make its thread the newest again.
    const allSent = (threadId: string) =>
      until(async () => (await threadOf(threadId)).drafts.every(({ status }: any) => status === "sent"));
    await allSent(list.threadId);
    for (const fixture of ["read-receipt", "bounce"]) {
      const raw = await readFile(new URL(`../fixtures/mail/${fixture}.eml`, import.meta.url));
      await service.deliver(identity.address, raw);
      const { json } = await workspace.ask(`GET /v1/threads?identity_id=${identity.id}&limit=1`);
      const thread = await threadOf(json.data[0].id);
      expect(thread.messages.at(-1).classification, fixture).to.equal(fixture === "bounce" ? "bounce" : "auto_reply");
      expect((await reply(thread.id)).status, fixture).to.equal(202);
      expect((await reply(thread.id)).json.error, fixture).to.equal("loop_guarded");
      await allSent(thread.id);
    }
  });
});
