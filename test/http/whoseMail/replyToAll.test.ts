import { expect } from "chai";
import type { Identity, InProcess } from "#test/support/inProcess.ts";
import { openTenant, type StoryTenant, startStory } from "#test/support/story/story.ts";

const carla = "carla@customer.example";
const corp = "info@corp.example";
const partner = "partner@customer.example";

/** Who is left out of a reply to all, and the identity's own address as a recipient. */
describe("a reply to all [d5 reply to all]", () => {
  let service: InProcess;
  let tenant: StoryTenant;
  let sales: Identity;

  before(async () => {
    ({ service, tenant } = await startStory({ AUTO_ANSWERS_PER_ADDRESS: "off" }));
    sales = await tenant.newIdentity();
  });
  after(() => service.stop());

  type Given = { trace?: string[]; from?: string; to?: string; cc?: string[]; more?: string[]; late?: string[] };
  /** Delivers a mail with these recipients. `trace`: fields of servers above the author's; `late`: below them. */
  const received = ({ trace = [], from = carla, to = tenant.identity.address, cc = [], more = [], late = [] }: Given) =>
    tenant.mail({
      raw: [
        ...trace,
        `Message-ID: <${Math.random().toString(36).slice(2)}@customer.example>`,
        `From: ${from}`,
        `To: ${to}`,
        ...(cc.length === 0 ? [] : [`Cc: ${cc.join(", ")}`]),
        "Subject: Quote",
        ...more,
        "Content-Type: text/plain",
        ...late,
        "",
        "Please send a quote.",
      ].join("\r\n"),
    });

  /** Answers a mail to all; returns the cc of the answer and what the caller is told. */
  async function replied(
    given: Given,
    content: object = {},
  ): Promise<{ to: string[]; cc: string[]; warnings: string[] }> {
    const { threadId } = await received(given);
    const json = { thread_id: threadId, body_text: "Here it is.", reply_all: true, ...content };
    const answer = await tenant.ask("POST /v1/emails/reply", { json });
    expect(answer.status, answer.text).to.equal(202);
    const { to, cc } = await (await tenant.draftWithId(answer.json.draft_id)).content();
    return { to, cc, warnings: answer.json.warnings };
  }

  it("addresses of the workspace are left out, also with a tag and in capitals; another workspace's are not", async () => {
    const other = (await openTenant(service)).identity.address;
    const [own, tagged] = [tenant.identity.address, sales.address].map((address) => address.replace("@", "+x@"));
    const { cc, warnings } = await replied({ cc: [sales.address.toUpperCase(), own!, partner, other] });
    expect(cc).to.deep.equal([partner, other]);
    expect(warnings.join()).to.match(
      /leaves out agent-[\w-]+@agents\.localhost: mail to it arrives in this workspace/i,
    );
    expect((await replied({ to: `${tenant.identity.address}, ${tagged}`, cc: [partner] })).cc).to.deep.equal([partner]);
    expect((await replied({ cc: [own!, partner] })).warnings).to.deep.equal([]);
  });

  it("the address that forwarded the mail is left out, and said; not one that the author wrote, a list's, or the sender's", async () => {
    const forwarded = { trace: [`Delivered-To: ${corp}`, "Received: by mx.corp.example"], to: corp, cc: [partner] };
    const { cc, warnings } = await replied(forwarded);
    expect(cc).to.deep.equal([partner]);
    expect(warnings.join()).to.include(`${corp}: the message was forwarded here from it`);
    const resent = { ...forwarded, trace: [`Resent-To: Info <${corp.toUpperCase()}>`] };
    expect((await replied(resent)).cc).to.deep.equal([partner]);
    const kept: Record<string, Given> = {
      "the author's field": { ...forwarded, trace: [], late: [`Delivered-To: ${corp}`] },
      "a list's delivery": { ...forwarded, more: ["List-Id: <talk.corp.example>", `List-Post: <mailto:${corp}>`] },
    };
    for (const [what, given] of Object.entries(kept))
      expect((await replied(given)).cc, what).to.deep.equal([corp, partner]);
    expect(await replied({ ...forwarded, from: corp })).to.deep.include({ to: [corp], cc: [partner] });
    expect(await replied({ ...forwarded, more: [`Reply-To: ${corp}`] })).to.deep.include({ to: [corp], cc: [partner] });
    const several = { ...forwarded, more: [`Reply-To: ${corp}, ${partner}`] };
    expect(await replied(several)).to.deep.include({ to: [carla], cc: [corp, partner] });
    // Whom the caller names is not left out.
    expect(await replied(forwarded, { cc: [corp] })).to.deep.include({ cc: [corp, partner], warnings: [] });
  });

  it("an identity's aliases are left out; they are up to 20 addresses, changed by whoever may change reply_to_email", async () => {
    const { id } = tenant.identity;
    const set = (aliases: unknown, of: StoryTenant = tenant) =>
      of.ask(`PATCH /v1/identities/${id}`, { json: { aliases } });
    const many = Array.from({ length: 21 }, (_, n) => `a${n}@corp.example`);
    expect((await set(many)).outcome).to.equal("422 invalid_request");
    expect((await set(["no address"])).outcome).to.equal("422 invalid_request");
    expect((await set([corp.toUpperCase(), ...many.slice(2)])).status).to.equal(200);
    const { cc, warnings } = await replied({ to: corp, cc: [partner] });
    expect([cc, warnings.join().includes(corp)]).to.deep.equal([[partner], true]);
    expect((await tenant.ask("PATCH /v1/workspaces/me", { json: { require_human_approval: true } })).status).to.equal(
      200,
    );
    const agent = tenant.withKey(await tenant.keyOf(["read:identities", "write:identities", "read:threads"]));
    expect((await set([], agent)).outcome).to.equal("401 insufficient_scope");
    expect((await agent.ask(`PATCH /v1/identities/${id}`, { json: { reply_to_email: corp } })).outcome).to.equal(
      "401 insufficient_scope",
    );
    expect((await tenant.ask("PATCH /v1/workspaces/me", { json: { require_human_approval: false } })).status).to.equal(
      200,
    );
    expect((await set([])).status).to.equal(200);
    expect((await replied({ to: corp, cc: [partner] })).cc).to.deep.equal([corp, partner]);
  });

  it("the identity's own address is no recipient of a draft, an edit, a send or a reply: 422 names the field", async () => {
    const { address } = tenant.identity;
    const cold = await tenant.newIdentity({ canSendCold: true });
    const refused = (answer: { outcome: string; json: any }, field: string, what: string) =>
      expect([answer.outcome, answer.json.field], what).to.deep.equal(["422 invalid_request", field]);
    const mail = await received({});
    const draft = await tenant.draft(mail);
    for (const own of [address, address.toUpperCase(), address.replace("@", "+tag@")])
      for (const field of ["cc", "bcc"]) {
        refused(await tenant.submit(mail, { [field]: [own] }), field, `draft ${field} ${own}`);
        refused(await draft.ask("PATCH", { json: { [field]: [own] } }), field, `edit ${field} ${own}`);
        const reply = { thread_id: mail.threadId, body_text: "Yes.", [field]: [own] };
        refused(await tenant.ask("POST /v1/emails/reply", { json: reply }), field, `reply ${field} ${own}`);
      }
    refused(await draft.ask("PATCH", { json: { to: [address] } }), "to", "edit to");
    for (const field of ["to", "cc", "bcc"]) {
      const json = {
        identity_id: cold.id,
        to: [carla],
        subject: "Hello",
        body_text: "Hello.",
        [field]: [cold.address],
      };
      refused(await tenant.ask("POST /v1/emails/send", { json }), field, `send ${field}`);
    }
    const toItself = await received({ more: [`Reply-To: ${address.toUpperCase()}`] });
    expect((await (await tenant.draft(toItself)).content()).to).to.deep.equal([carla]);
    const fromItself = await received({ from: address });
    expect((await tenant.submit(fromItself)).outcome).to.equal("422 invalid_request");
    const test = await tenant.ask(`POST /v1/identities/${cold.id}/test-email`, {
      json: { recipient_email: cold.address },
    });
    expect(test.status, test.text).to.be.within(200, 202);
  });
});
