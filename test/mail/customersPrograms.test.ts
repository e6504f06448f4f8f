import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { type Identity, type InProcess, mail, startInProcess, until, type Workspace } from "#test/support/inProcess.ts";

describe("mail as customers' programs write it, over the whole service", () => {
  let service: InProcess;
  let workspace: Workspace;
  let acme: Identity;

  before(async () => {
    service = await startInProcess();
    workspace = await service.workspace();
    acme = await service.identity(workspace.id, { displayName: "Acme Support" });
  });
  after(() => service?.stop());

  const messages = async ({ id }: Identity): Promise<any[]> => {
    const { json } = await workspace.ask(`GET /v1/threads?identity_id=${id}&limit=100`);
    const threads = json.data.map(async (thread: { id: string }) => {
      const answer = await workspace.ask(`GET /v1/threads/${thread.id}/messages`);
      return answer.json.data;
    });
    return (await Promise.all(threads)).flat();
  };

  /** Delivers a mail, and returns its message. */
  async function received(identity: Identity, id: string, raw: string): Promise<any> {
    await service.deliver(identity.address, raw);
    return (await messages(identity)).find(({ rfc_message_id }) => rfc_message_id === `<${id}>`);
  }

  it("a line with our name alone above a quotation is no word of the customer, for the identity of that name alone", async () => {
    const sales = await service.identity(workspace.id, { displayName: "Acme Sales" });
    const id = `${randomUUID()}@customer.example`;
    const text = "I am away until Monday.\r\n\r\nAcme Support writes:\r\n\r\n> Where shall we send it?\r\n";
    const raw = mail({ id, text });
    const [ours, theirs] = await Promise.all([received(acme, id, raw), received(sales, id, raw)]);
    expect(ours.extracted_text).to.equal("I am away until Monday.");
    expect(theirs.extracted_text).to.equal("I am away until Monday.\n\nAcme Support writes:");
    expect(ours.body_text).to.equal(theirs.body_text);
    const again = await received(
      acme,
      `2.${id}`,
      mail({ id: `2.${id}`, text: text.replace("Acme Support", "My colleague") }),
    );
    expect(again.extracted_text).to.equal("I am away until Monday.\n\nMy colleague writes:");
  });

  it("a reply whose ids have no angle brackets joins the thread of our mail, and makes its draft stale", async () => {
    const first = `${randomUUID()}@customer.example`;
    const asked = await received(acme, first, mail({ id: first }));
    const about = { thread_id: asked.thread_id, identity_id: acme.id, based_on_message_id: asked.id };
    const reply = await workspace.ask("POST /v1/emails/reply", {
      json: { thread_id: asked.thread_id, body_text: "On its way." },
    });
    expect(reply.status, reply.text).to.be.within(200, 202);
    await until(async () =>
      (await messages(acme)).some(
        ({ direction, delivery_status }) => direction === "outbound" && delivery_status !== "queued",
      ),
    );
    const sent = (await messages(acme)).find(
      ({ direction, thread_id }) => direction === "outbound" && thread_id === asked.thread_id,
    );
    const ourId = sent.rfc_message_id.slice(1, -1);
    const draft = await workspace.ask("POST /v1/drafts", { json: { ...about, body_text: "Anything else?" } });
    expect(draft.status, draft.text).to.equal(201);

    const second = `${randomUUID()}@customer.example`;
    const bare = (ids: string) =>
      mail({ id: second, text: "Not yet." }).replace(
        "MIME-Version",
        `In-Reply-To: ${ourId}\r\nReferences: ${ids}\r\nMIME-Version`,
      );
    const joined = await received(acme, second, bare(`${first}, ${ourId}`));
    expect(joined).to.deep.include({
      thread_id: asked.thread_id,
      in_reply_to: `<${ourId}>`,
      references: [`<${ourId}>`],
    });
    const { json } = await workspace.ask(`GET /v1/drafts/${draft.json.id}`);
    expect(json.newer_message_id).to.equal(joined.id);

    // An id that carries no MAC of ours joins nothing.
    const third = `${randomUUID()}@customer.example`;
    const forged = `${"A".repeat(80)}${ourId.slice(80)}`;
    const alone = await received(
      acme,
      third,
      mail({ id: third }).replace("MIME-Version", `In-Reply-To: ${forged}\r\nMIME-Version`),
    );
    expect(alone.thread_id).to.not.equal(asked.thread_id);
    expect(alone.in_reply_to).to.equal(null);
  });

  it("a sender whose whole field is one encoded word is read, and can be answered", async () => {
    const id = `${randomUUID()}@customer.example`;
    const from = "=?utf-8?q?Anna_=3Canna=40customer.example=3E?=";
    const message = await received(acme, id, mail({ id, from }));
    expect(message).to.include({ from_name: "Anna", from_email: "anna@customer.example", classification: "person" });
    const reply = await workspace.ask("POST /v1/emails/reply", {
      json: { thread_id: message.thread_id, body_text: "Hello Anna." },
    });
    expect(reply.status, reply.text).to.be.within(200, 202);
    await until(async () =>
      (await service.outbox.newest(20)).some(({ envelope }) => envelope.to.includes("anna@customer.example")),
    );
  });
});
