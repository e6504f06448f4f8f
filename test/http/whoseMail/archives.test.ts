import { existsSync, readFileSync } from "node:fs";
import { expect } from "chai";
import { createReception } from "#src/commands/inbound/receiveMail.ts";
import { corpus, hasCorpus } from "#test/mail/in/mails.ts";
import { sized } from "#test/support/full.ts";
import { type Identity, type InProcess, until } from "#test/support/inProcess.ts";
import { type StoryTenant, startStory } from "#test/support/story/story.ts";
import { authenticated, eventsAbout, filing, idOf, returning, sentBy } from "./returning.ts";

const cases = new URL("../../../../shared/cases/", import.meta.url);
const archives = ["automatic", "mime"];

/** Mail that nobody here wrote, through filing. */
describe("archived mail and reported cases, through filing [d5 classification]", () => {
  let service: InProcess;
  let tenant: StoryTenant;
  let sales: Identity;

  before(async () => {
    ({ service, tenant } = await startStory());
    sales = await tenant.newIdentity();
  });
  after(() => service.stop());

  if (archives.every(hasCorpus))
    it("every mail of an archive is a customer's, a program's, an automatic reply or a report, and the first two fire", async () => {
      const archive = await tenant.newIdentity();
      const { resolve, accept } = createReception(service.deps);
      const recipient = (await resolve(archive.address))!;
      const step = sized(60, 1);
      const mails = archives
        .flatMap((name) => corpus(name))
        .filter(({ raw }, index) => index % step === 0 && raw.length > 0);
      for (const { raw } of mails) {
        const from = /^return-path:[ \t]*<[ \t]*>/im.test(raw.toString("latin1")) ? "" : "relay@mx.example";
        await accept({
          recipients: [{ recipient, address: archive.address }],
          from,
          raw,
          remote: { ip: "192.0.2.1", helo: "mx.example" },
        });
      }
      await service.filed();
      const { rows } = await service.database.reads.ofAll.query<{ kind: string; id: string }>(
        "select kind, id from read.messages where identity_id = $1 and direction = 'inbound'",
        [archive.id],
      );
      const { json } = await tenant.ask(`GET /v1/inbound?identity_id=${archive.id}&disposition=duplicate`);
      expect(rows.length + json.total).to.equal(mails.length);
      const kinds = ["customer", "program", "automatic_reply", "report"];
      expect(rows.filter(({ kind }) => !kinds.includes(kind))).to.deep.equal([]);
      const [words] = kinds.map((_, n) => rows.filter(({ kind }) => kinds.indexOf(kind) <= n)).slice(1);
      const fired = async () => {
        const { rows: found } = await service.database.reads.ofAll.query(
          "select 1 from read.messages m where identity_id = $1 and direction = 'inbound' and authentication is not null",
          [archive.id],
        );
        return found.length === rows.length;
      };
      await until(fired);
      await service.caughtUp();
      const events = await tenant.ask(`GET /v1/events?types=email.received&limit=100`);
      const ofArchive = events.json.data.filter(({ data }: any) => rows.some(({ id }) => id === data.message_id));
      expect(ofArchive).to.have.length(Math.min(words!.length, 100));
    });

  if (!existsSync(cases)) return;

  /** Reads a case; words in braces are replaced by what the scene has for them. */
  const read = (name: string, scene: Record<string, string> = {}): string =>
    readFileSync(new URL(name, cases), "utf8")
      .replace(/\{(\w+)\}/g, (all, key) => scene[key] ?? all)
      .replace(/\r?\n/g, "\r\n");
  const came = (raw: string, from?: string, to = tenant.identity) =>
    filing({ service, tenant }, raw, { to, ...(from !== undefined && { from }) });
  const replyToAll = async (threadId: string): Promise<{ id: string; raw: string }> => {
    const json = { thread_id: threadId, body_text: "It is on its way.\nYours, Support", reply_all: true };
    const answer = await tenant.ask("POST /v1/emails/reply", { json });
    expect(answer.status, answer.text).to.equal(202);
    await (await tenant.draftWithId(answer.json.draft_id)).becomes("sent");
    return { id: answer.json.draft_id, raw: await sentBy(service, answer.json.draft_id) };
  };
  const outbound = async (threadId: string) =>
    (await tenant.thread(threadId)).messages.findLast(({ direction }: any) => direction === "outbound");
  /** Answers a mail of Carla's; returns the words that cases have in braces. */
  async function answered(customer = "carla@cust.test") {
    const mail = await tenant.mail({ from: `Carla <${customer}>` });
    const sent = await replyToAll(mail.threadId);
    const scene = {
      identity: tenant.identity.address,
      from: tenant.identity.address,
      answer: idOf(sent.raw),
      recipient: customer,
      subject: "My order",
    };
    return { mail, sent, scene };
  }

  it("case 01: a copy that a forwarder brings back, with a footer, and with words above it", async () => {
    const { message } = await came(read("01-own-copy.eml"), "bounces@corp.test");
    const { id, raw } = await replyToAll(message.thread_id);
    expect((await (await tenant.draftWithId(id)).content()).cc).to.deep.equal([]);
    const waiting = await tenant.draft({
      basis: { thread_id: message.thread_id, identity_id: tenant.identity.id, based_on_message_id: message.id },
    });
    const tagged = { subject: "[corp] Re: Order 77", without: ["DKIM-Signature"] };
    for (const copy of [raw, returning(raw, { ...tagged, text: (text) => `${text}\r\n____\r\nFor corp only.\r\n` })])
      expect((await came(copy, "bounces@corp.test")).entry.disposition).to.equal("own_copy");
    expect((await waiting.read()).newer_message_id).to.equal(null);
    const words = await came(
      returning(raw, { text: (text) => `Please cancel the order.\r\n\r\n${text}` }),
      "bounces@corp.test",
    );
    expect(words.message.kind).to.equal("altered_copy");
    expect((await waiting.read()).newer_message_id).to.equal(words.message.id);
    expect(await eventsAbout(tenant, { threadId: message.thread_id })).to.have.length(2);
  });

  it("case 02: a mail to two identities that one of them answers to all", async () => {
    const raw = read("02-own-identities.eml", { support: tenant.identity.address, sales: sales.address }).replace(
      "Subject:",
      "Message-ID: <quote@cust.test>\r\nSubject:",
    );
    const [first, second] = [await came(raw), await came(raw, undefined, sales)];
    const waiting = await tenant.submit({
      basis: { thread_id: second.message.thread_id, identity_id: sales.id, based_on_message_id: second.message.id },
    });
    const { id } = await replyToAll(first.message.thread_id);
    expect((await (await tenant.draftWithId(id)).content()).cc).to.deep.equal(["partner@cust.test"]);
    expect((await tenant.ask(`GET /v1/drafts/${waiting.json.id}`)).json)
      .to.include({ newer_message_id: null })
      .and.to.have.nested.property("answered_meanwhile.from_email", tenant.identity.address);
  });

  it("case 04: the inquiry of a web form fires", async () => {
    const { message } = await came(read("04-form.eml", { identity: tenant.identity.address }));
    expect(message).to.include({ kind: "program", generated: true });
    expect(await eventsAbout(tenant, { threadId: message.thread_id })).to.have.length(1);
  });

  it("case 05: a reaction is shown at its message", async () => {
    const { mail, scene } = await answered();
    expect((await came(read("05-reaction.eml", scene))).entry.disposition).to.equal("reaction");
    expect((await outbound(mail.threadId)).reactions).to.have.length(1);
  });

  it("cases 06, 20 and 21: reports are on the thread of the mail that they are about", async () => {
    for (const [name, kind] of [
      ["06-bounce.eml", "bounced"],
      ["20-delay-report.eml", "delivered"],
      ["21-rejection-by-sieve.eml", "bounced"],
    ] as const) {
      const { mail, scene } = await answered();
      const raw = read(name, scene)
        .replace(/<AaIm[\w-]+@acme\.test>/g, `<${scene.answer}>`)
        .replaceAll(/ada@slow\.test|rej@sieve\.test/g, scene.recipient);
      const { message } = await came(raw, "");
      expect(message, name).to.include({ kind: "report", thread_id: mail.threadId });
      await until(async () => (await outbound(mail.threadId)).recipients[0].status === kind);
      expect(await eventsAbout(tenant, mail), name).to.have.length(1);
    }
  });

  it("case 22: an absence notice without signs is a person's mail", async () => {
    await answered("vaca@cust.test");
    const { message } = await came(read("22-absence-without-signs.eml"));
    expect(await authenticated(service, tenant, message.id)).to.include({ kind: "customer", generated: false });
  });
});
