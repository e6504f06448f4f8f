import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { createReception } from "#src/commands/inbound/receiveMail.ts";
import { barrier } from "#test/http/framework/support.ts";
import { sized } from "#test/support/full.ts";
import { type InProcess, mail } from "#test/support/inProcess.ts";
import { openTenant, type StoryTenant, startStory } from "#test/support/story/story.ts";
import { createClient } from "../../../scripts/support/client.ts";
import { freePort } from "../../../scripts/support/freePort.ts";

const rounds = sized(4, 15);

/** A mail that was acknowledged counts for a later submission, filed or not. */
describe("http: stale_warning of a submission [d4 stale_warning]", () => {
  let service: InProcess;
  let tenant: StoryTenant;
  let smtpPort: number;

  before(async () => {
    smtpPort = await freePort();
    ({ service, tenant } = await startStory({ SMTP_IN_PORT: String(smtpPort) }));
  });
  after(() => service.stop());

  /** Has a mail acknowledged, and does not wait for its filing. */
  async function acknowledge({ inReplyTo, references }: { inReplyTo?: string; references?: string }): Promise<void> {
    const written = mail({ id: `${randomUUID()}@customer.example`, inReplyTo });
    const raw = references ? written.replace("References: ", `References: <${references}> `) : written;
    const to = tenant.identity.address;
    const { resolve, accept } = createReception(service.deps);
    const recipient = (await resolve(to))!;
    const remote = { ip: "192.0.2.1", helo: "mx.customer.example" };
    await accept({
      recipients: [{ recipient, address: to }],
      from: "ann@customer.example",
      raw: Buffer.from(raw),
      remote,
    });
  }

  /** Stops filing in the middle of a mail, until `release`; `asked` opens when the inbox's length is read. */
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

  it(`a submission right after a reply was answered 250 over SMTP has stale_warning, ${rounds} times of ${rounds}`, async () => {
    const { mail: smtp } = createClient({ url: service.url, smtpPort, apiKey: tenant.key });
    const warnings: boolean[] = [];
    for (let round = 0; round < rounds; round++) {
      const question = await tenant.mail();
      const reply = {
        from: "ann@customer.example",
        to: tenant.identity.address,
        subject: "Re: My order",
        text: "Hello?",
      };
      await smtp({ ...reply, inReplyTo: `<${question.id}>`, references: [`<${question.id}>`] });
      const { json } = await tenant.draft(question);
      expect(json.newer_message_id === null).to.equal(!json.stale_warning);
      warnings.push(json.stale_warning);
    }
    expect(warnings).to.deep.equal(Array(rounds).fill(true));
  });

  it("a submission waits for a mail that is being filed, and names it", async () => {
    const question = await tenant.mail();
    const filing = holdFiling();
    await acknowledge({ inReplyTo: question.id });
    const submitting = tenant.draft(question);
    await Promise.race([filing.asked, submitting]);
    filing.release();
    const { json } = await submitting;
    expect(json.stale_warning).to.equal(true);
    const { messages } = await tenant.thread(question);
    expect(json.newer_message_id).to.equal(messages.at(-1).id);
  });

  it("a submission waits at most 2 s for filing and is then accepted without a warning; the newer mail is named once it is filed", async () => {
    const question = await tenant.mail();
    const filing = holdFiling();
    await acknowledge({ inReplyTo: question.id });
    const begun = performance.now();
    const draft = await tenant.draft(question);
    const waitedMs = performance.now() - begun;
    filing.release();
    expect(draft.json).to.include({ stale_warning: false, newer_message_id: null });
    expect(waitedMs).to.be.above(1_900);
    await draft.becomes(({ newer_message_id }) => newer_message_id !== null);
    expect((await draft.ask("POST send")).outcome).to.equal("409 stale_draft");
  });

  it("a submission is checked against the thread with which the awaited mail merges its own thread", async () => {
    const [older, newer] = [await tenant.mail(), await tenant.mail()];
    const filing = holdFiling();
    await acknowledge({ inReplyTo: newer.id, references: older.id });
    const submitting = tenant.draft(newer);
    await Promise.race([filing.asked, submitting]);
    filing.release();
    const { id, json } = await submitting;
    expect(json).to.include({ stale_warning: true, thread_id: older.threadId });
    const joined = await tenant.thread(older);
    expect(joined.drafts.map((each: { id: string }) => each.id)).to.include(id);
    expect([joined.status, joined.messages_total]).to.deep.equal(["draft_pending", 3]);
  });

  it("a submission with an identity of another workspace is refused at once, without waiting for the mail of that identity", async () => {
    const question = await tenant.mail();
    const stranger = await openTenant(service);
    const filing = holdFiling();
    await acknowledge({});
    const begun = performance.now();
    const { outcome } = await stranger.submit(question);
    const waitedMs = performance.now() - begun;
    filing.release();
    expect(outcome).to.equal("404 not_found");
    expect(waitedMs).to.be.below(1_500);
  });
});
