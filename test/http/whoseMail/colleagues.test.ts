import { expect } from "chai";
import type { Identity, InProcess } from "#test/support/inProcess.ts";
import { type StoryMail, type StoryTenant, startStory } from "#test/support/story/story.ts";
import { authenticated, eventsAbout, filing, idOf, multipart, part, rewritten, sentBy } from "./returning.ts";

const carla = "carla@customer.example";
const plain = "text/plain; charset=utf-8";
const text = "We send a quote tomorrow.\nYours, Sales";

/** Mail of one identity that another one of its workspace receives (case 02). */
describe("a colleague's mail [d5 colleague]", () => {
  let service: InProcess;
  let tenant: StoryTenant;
  let sales: Identity;

  before(async () => {
    ({ service, tenant } = await startStory({ DEV_PROVEN_DOMAINS: "agents.localhost" }));
    sales = await tenant.newIdentity({ canSendCold: true });
  });
  after(() => service.stop());

  const came = (raw: string, from?: string) =>
    filing({ service, tenant }, raw, { ...(from !== undefined && { from }) });

  /** Carla writes to both mailboxes; sales answers her and support. Returns support's mail, and the answer as it left. */
  async function answeredBySales(of: Identity = sales): Promise<{ mail: StoryMail; sent: string }> {
    const letter = { id: `${Math.random().toString(36).slice(2)}@customer.example`, from: carla };
    const mail = await tenant.mail(letter);
    const draft = await tenant.draft(await tenant.mail({ ...letter, to: of }), {
      body_text: text,
      cc: [tenant.identity.address],
    });
    await draft.sendNow();
    return { mail, sent: await sentBy(service, draft.id) };
  }

  it("it is on the thread of the mail that it answers, fires nothing and makes nothing stale", async () => {
    const { mail, sent } = await answeredBySales();
    const waiting = await tenant.draft(mail);
    const { message } = await came(sent);
    expect(message).to.include({ kind: "colleague", origin: "own_workspace", thread_id: mail.threadId });
    expect(await tenant.thread(mail)).to.include({ status: "draft_pending", needs_review: false });
    expect((await waiting.read()).newer_message_id).to.equal(null);
    expect((await waiting.ask("POST send")).status).to.equal(202);
    await waiting.becomes("sent");
    // The thread waits for Carla, also if the colleague's mail comes only now.
    const late = rewritten(sent, { type: plain, body: `${text}\n-- \nfooter` });
    expect((await came(late)).message.kind).to.equal("colleague");
    expect((await tenant.thread(mail)).status).to.equal("waiting");
    expect(await eventsAbout(tenant, mail)).to.have.length(1);
  });

  it("through a mailing list it is told from a customer's post to the same list", async () => {
    const { sent } = await answeredBySales();
    const list = [
      "List-Id: <talk.lists.example>",
      "List-Post: <mailto:talk@lists.example>",
      "To: talk@lists.example",
      "Precedence: list",
    ];
    const footer = part(plain, "_______\nTalk mailing list");
    const post = (raw: string, words: string) =>
      rewritten(raw, { ...multipart("mixed", part(plain, words), footer), headers: list, without: ["To", "Cc"] });
    const { message } = await came(post(sent, text), "talk-bounces@lists.example");
    expect(message).to.include({ kind: "colleague", classification: "list", origin: "own_workspace" });
    const answers = `From: ${carla}\r\nMessage-ID: <${Math.random()}@customer.example>\r\nIn-Reply-To: <${idOf(sent)}>`;
    const customers = await came(post(`${answers}\r\n\r\n`, "Thank you."), "talk-bounces@lists.example");
    expect(customers.message).to.include({ kind: "customer", classification: "list", origin: "external" });
    const both = await came(post(sent, `Carla writes: cancel it.\n\n${text}`), "talk-bounces@lists.example");
    expect(both.message).to.include({ kind: "altered_copy", classification: "list", origin: "external" });
  });

  it("addressed to identities of the workspace alone it is a hand-over, and its thread asks for a review", async () => {
    const handOver = async (to: string[], cc: string[] = []) => {
      const json = { identity_id: sales.id, to, cc, subject: "Please take over", body_text: text };
      const answer = await tenant.ask("POST /v1/emails/send", { json });
      expect(answer.status, answer.text).to.equal(202);
      await (await tenant.draftWithId(answer.json.draft_id)).becomes("sent");
      const { message } = await came(await sentBy(service, answer.json.draft_id));
      expect(message.kind).to.equal("colleague");
      return tenant.thread(message.thread_id);
    };
    const third = await tenant.newIdentity();
    const tagged = tenant.identity.address.replace("@", "+orders@");
    expect(await handOver([tenant.identity.address])).to.include({ status: "open", needs_review: true });
    expect(await handOver([tagged, third.address], [carla])).to.include({ status: "open", needs_review: true });
    expect(await handOver([tenant.identity.address, carla])).to.include({ status: "open", needs_review: false });
    const { json } = await tenant.ask("GET /v1/events?types=email.received&limit=100");
    expect(json.data.filter(({ data }: any) => data.subject === "Please take over")).to.deep.equal([]);
  });

  it("somebody's words under its id are that person's", async () => {
    const { mail, sent } = await answeredBySales();
    const waiting = await tenant.draft(mail);
    const eves = { type: plain, body: "Send it to me instead.", headers: ["From: Eve <eve@elsewhere.example>"] };
    for (const raw of [
      rewritten(sent, { ...eves, without: ["From"] }),
      rewritten(sent, { type: plain, body: `ok\n${text}` }),
    ]) {
      const { message } = await came(raw);
      expect(message).to.include({ kind: "altered_copy", origin: "external" });
      expect((await waiting.read()).newer_message_id).to.equal(message.id);
    }
    expect((await tenant.thread(mail)).needs_review).to.equal(true);
  });

  it("who writes a colleague's address into From is no colleague: unproven a stranger, which the message says; proven of the workspace for its readers alone", async () => {
    const { mail, sent } = await answeredBySales();
    const withId = (id: string) =>
      rewritten(sent, {
        type: plain,
        body: text,
        headers: [`Message-ID: <${id}@elsewhere.example>`],
        without: ["Message-ID"],
      });
    const seen: any[] = [];
    for (const [id, ip] of [
      ["eve", "192.0.2.1"],
      ["proven", "127.0.0.1"],
    ] as const) {
      const { messageId } = await tenant.mail({ raw: withId(id), envelope: { ip } });
      const { kind, origin, notes, from_email } = await authenticated(service, tenant, messageId);
      expect({ kind, from_email }).to.deep.equal({ kind: "customer", from_email: sales.address });
      seen.push([origin, notes.join().includes("nothing proves that the mail was sent from here")]);
    }
    expect(seen).to.deep.equal([
      ["external", true],
      ["own_workspace", false],
    ]);
    expect(await eventsAbout(tenant, mail)).to.have.length(3);
  });

  it("the mail of an identity that was deleted since comes from outside", async () => {
    const gone = await tenant.newIdentity();
    const { sent } = await answeredBySales(gone);
    const answer = await tenant.ask(`DELETE /v1/identities/${gone.id}`);
    expect(answer.status, answer.text).to.be.within(200, 204);
    await service.caughtUp();
    expect((await came(sent)).message).to.include({ kind: "customer", origin: "external" });
  });

  it("a copy of ours and a colleague's mail follow their threads through a merge", async () => {
    const [first, second] = [await tenant.mail({ from: carla }), await tenant.mail({ from: carla })];
    const draft = await tenant.draft(second, { body_text: text });
    await draft.sendNow();
    const own = await sentBy(service, draft.id);
    const letter = await answeredBySales();
    await tenant.mail({ from: carla, inReplyTo: [first.id, second.id, letter.mail.id] });
    const { entry } = await came(own);
    expect(entry.disposition).to.equal("own_copy");
    expect((await came(letter.sent)).message).to.include({ kind: "colleague", thread_id: first.threadId });
    const filed = await tenant.ask(`POST /v1/inbound/${entry.id}/file`);
    expect(filed.status, filed.text).to.equal(200);
    const { messages } = await tenant.thread(first);
    expect(messages.find(({ id }: any) => id === filed.json.message_id)).to.include({ kind: "filed_by_hand" });
  });
});
