import { expect } from "chai";
import { reception } from "#src/commands/inbound/receiveMail.ts";
import { barrier } from "#test/http/framework/support.ts";
import { sized } from "#test/support/full.ts";
import { type Identity, type InProcess, mail, startInProcess, until, type Workspace } from "#test/support/inProcess.ts";
import { createClient } from "../../../scripts/support/client.ts";
import { freePort } from "../../../scripts/support/freePort.ts";

const rounds = sized(4, 15);

/** A mail that was acknowledged counts for a submission that comes after it, filed or not. */
describe("stale_warning of a submission [d4 stale_warning]", () => {
  let service: InProcess;
  let workspace: Workspace;
  let identity: Identity;
  let smtpPort: number;
  let mails = 0;

  before(async () => {
    smtpPort = await freePort();
    service = await startInProcess({ SMTP_IN_PORT: String(smtpPort) });
    workspace = await service.workspace();
    identity = await service.identity(workspace.id);
  });
  after(() => service.stop());

  /** A conversation of its own: the id of its mail, and what a draft for it says. */
  async function conversation() {
    const id = `q${++mails}@customer.example`;
    await service.deliver(identity.address, mail({ id, subject: id }));
    const thread = (await workspace.ask(`GET /v1/threads?limit=100`)).json.data.find(
      ({ subject }: { subject: string }) => subject === id,
    );
    const [message] = (await workspace.ask(`GET /v1/threads/${thread.id}`)).json.messages;
    return {
      id,
      draft: {
        thread_id: thread.id,
        identity_id: identity.id,
        based_on_message_id: message.id,
        body_text: "On its way.",
      },
    };
  }
  const submit = (json: object) => workspace.ask("POST /v1/drafts", { json });

  /** Acknowledged by the time this answers, and no more than that. */
  async function acknowledge(raw: string): Promise<void> {
    const { resolve, accept } = reception(service.deps);
    const recipient = (await resolve(identity.address))!;
    const remote = { ip: "192.0.2.1", helo: "mx.customer.example" };
    await accept({
      recipients: [{ recipient, address: identity.address }],
      from: "ann@customer.example",
      raw: Buffer.from(raw),
      remote,
    });
  }

  /** Stops filing in the middle of a mail, until `release`; `asked` opens when somebody asks how far the inbox goes. */
  function holdFiling() {
    const { parser, store } = service.deps;
    const [gate, asked] = [barrier(), barrier()];
    const { readLast } = store;
    const { parse } = parser;
    parser.parse = async (raw, about) => {
      await gate.opened;
      return parse(raw, about);
    };
    store.readLast = (stream) => {
      if (stream.startsWith("inbox-")) asked.open();
      return readLast.call(store, stream);
    };
    return {
      asked: asked.opened,
      release() {
        parser.parse = parse;
        store.readLast = readLast;
        gate.open();
      },
    };
  }

  it(`is true where a reply was told 250 over SMTP right before, ${rounds} times of ${rounds}`, async () => {
    const { mail: smtp } = createClient({ url: service.url, smtpPort, apiKey: workspace.key });
    const warnings: boolean[] = [];
    for (let round = 0; round < rounds; round++) {
      const { id, draft } = await conversation();
      const reply = { from: "ann@customer.example", to: identity.address, subject: `Re: ${id}`, text: "Hello?" };
      await smtp({ ...reply, inReplyTo: `<${id}>`, references: [`<${id}>`] });
      const { status, json } = await submit(draft);
      expect(status).to.equal(201);
      expect(json.newer_message_id === null).to.equal(!json.stale_warning);
      warnings.push(json.stale_warning);
    }
    expect(warnings).to.deep.equal(Array(rounds).fill(true));
  });

  it("waits for a mail that is being filed, and names it", async () => {
    const { id, draft } = await conversation();
    const filing = holdFiling();
    await acknowledge(mail({ id: `n${mails}@customer.example`, inReplyTo: id }));
    const submitting = submit(draft);
    await Promise.race([filing.asked, submitting]);
    filing.release();
    const { status, json } = await submitting;
    expect([status, json.stale_warning]).to.deep.equal([201, true]);
    const { messages } = (await workspace.ask(`GET /v1/threads/${draft.thread_id}`)).json;
    expect(json.newer_message_id).to.equal(messages.at(-1).id);
  });

  it("goes by what is filed where filing stands still for 2 s, with 201; the newer mail is named once it is filed", async () => {
    const { id, draft } = await conversation();
    const filing = holdFiling();
    await acknowledge(mail({ id: `n${mails}@customer.example`, inReplyTo: id }));
    const begun = performance.now();
    const { status, json } = await submit(draft);
    const waited = performance.now() - begun;
    filing.release();
    expect([status, json.stale_warning, json.newer_message_id]).to.deep.equal([201, false, null]);
    expect(waited).to.be.above(1_900);
    await until(async () => (await workspace.ask(`GET /v1/drafts/${json.id}`)).json.newer_message_id !== null);
    const sent = await workspace.ask(`POST /v1/drafts/${json.id}/send`);
    expect([sent.status, sent.json.error]).to.deep.equal([409, "stale_draft"]);
  });

  it("is judged on the thread that the awaited mail joins the draft's own to", async () => {
    const [older, newer] = [await conversation(), await conversation()];
    const filing = holdFiling();
    const joining = mail({ id: `j${mails}@customer.example`, inReplyTo: newer.id });
    await acknowledge(joining.replace("References: ", `References: <${older.id}> `));
    const submitting = submit(newer.draft);
    await Promise.race([filing.asked, submitting]);
    filing.release();
    const { status, json, text } = await submitting;
    expect(status, text).to.equal(201);
    expect([json.stale_warning, json.thread_id]).to.deep.equal([true, older.draft.thread_id]);
    const joined = (await workspace.ask(`GET /v1/threads/${older.draft.thread_id}`)).json;
    expect(joined.drafts.map((each: { id: string }) => each.id)).to.include(json.id);
    expect([joined.status, joined.messages_total]).to.deep.equal(["draft_pending", 3]);
  });

  it("keeps nobody waiting for another's mail: an identity of another workspace is none", async () => {
    const { draft } = await conversation();
    const stranger = await service.workspace();
    const filing = holdFiling();
    await acknowledge(mail({ id: `n${mails}@customer.example` }));
    const begun = performance.now();
    const { status, json } = await stranger.ask("POST /v1/drafts", { json: draft });
    const waited = performance.now() - begun;
    filing.release();
    expect([status, json.error]).to.deep.equal([404, "not_found"]);
    expect(waited).to.be.below(1_500);
  });
});
