import { expect } from "chai";
import { readHeaders } from "#src/mail/in/headers.ts";
import { type Identity, type InProcess, mail, startInProcess, until, type Workspace } from "#test/support/inProcess.ts";
import { type SmtpRelay, startSmtpRelay } from "#test/support/smtpRelay.ts";

/** A relay that replaces every Message-ID, so that the customer's answer names only the relay's. */
describe("a relay that replaces the Message-ID", () => {
  let service: InProcess;
  let workspace: Workspace;
  let identity: Identity;
  let relay: SmtpRelay;
  let relayId = "";
  let mails = 0;

  before(async () => {
    relay = await startSmtpRelay();
    service = await startInProcess({ MAIL_PROVIDER: "smtp", SMTP_URL: relay.url });
    workspace = await service.workspace();
    identity = await service.identity(workspace.id, { canSendCold: true });
  });
  after(async () => {
    await service.stop();
    await relay.close();
  });

  /** Makes the relay accept the next mail with an id in its answer, as Amazon SES does. */
  function expectMail(): void {
    relayId = `0102019a1b2c3d4${++mails}-11111111-2222-3333-4444-555555555555-000000`;
    relay.setFaults({ at: "dot", how: `250 Ok ${relayId}`, taken: true, times: 1 });
  }
  const learned = (attempts: number) =>
    until(async () => {
      const { rows } = await service.database.reads.ofAll.query("select 1 from chain_ids where rfc_message_id = $1", [
        `<${relayId}>`,
      ]);
      return rows.length === attempts;
    });
  const answerOf = (id: string) =>
    mail({ id, to: identity.address, inReplyTo: `${relayId}@eu-west-1.amazonses.com`, text: "My answer." });

  it("an answer to the relay's Message-ID of a first mail joins its thread", async () => {
    expectMail();
    const json = { identity_id: identity.id, to: ["ann@customer.example"], subject: "Your order", body_text: "Hello." };
    const sent = await workspace.ask("POST /v1/emails/send", { json });
    expect(sent.status, sent.text).to.equal(202);
    await learned(1);
    const { content } = relay.mails.at(-1)!;
    const { references, messageId } = readHeaders(content);
    expect(references).to.deep.equal([messageId]);
    await service.deliver(identity.address, answerOf("first@customer.example"));
    const { json: thread } = await workspace.ask(`GET /v1/threads/${sent.json.thread_id}`);
    expect(thread).to.include({ message_count: 2, status: "open" });
  });

  it("an answer to the relay's Message-ID of a reply joins the thread and makes a draft stale", async () => {
    await service.deliver(identity.address, mail({ id: "question@customer.example", to: identity.address }));
    const { data } = (await workspace.ask(`GET /v1/threads?identity_id=${identity.id}&limit=100`)).json;
    const thread = data.find(({ subject }: { subject: string }) => subject === "My order");
    const [question] = (await workspace.ask(`GET /v1/threads/${thread.id}`)).json.messages;
    const draft = await workspace.ask("POST /v1/drafts", {
      json: {
        ...{ thread_id: thread.id, identity_id: identity.id, based_on_message_id: question.id },
        body_text: "On its way.",
      },
    });
    expect(draft.status, draft.text).to.equal(201);
    expectMail();
    const reply = await workspace.ask("POST /v1/emails/reply", {
      json: { thread_id: thread.id, body_text: "We look into it." },
    });
    expect(reply.status, reply.text).to.equal(202);
    await learned(1);
    const { content } = relay.mails.at(-1)!;
    const { references, messageId } = readHeaders(content);
    expect(references).to.deep.equal(["<question@customer.example>", messageId]);
    await service.deliver(identity.address, answerOf("second@customer.example"));
    expect((await workspace.ask(`GET /v1/threads/${thread.id}`)).json).to.include({ message_count: 3 });
    const sending = await workspace.ask(`POST /v1/drafts/${draft.json.id}/send`);
    expect([sending.status, sending.json.error]).to.deep.equal([409, "stale_draft"]);
  });
});
