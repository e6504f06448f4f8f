import { expect } from "chai";
import type { InProcess } from "#test/support/inProcess.ts";
import { type StoryMail, type StoryTenant, startStory } from "#test/support/story/story.ts";
import { eventsAbout, returning, sentBy } from "./returning.ts";

describe("mail of ours that comes back [d5 own_copy]", () => {
  let service: InProcess;
  let tenant: StoryTenant;

  before(async () => {
    ({ service, tenant } = await startStory());
  });
  after(() => service.stop());

  /** A customer writes to an address that forwards here; the agent answers all of them, and has one more draft waiting. */
  async function forwardedConversation() {
    const corp = "info@corp.example";
    const trace = ["Delivered-To: info@corp.example", "Received: by mx.corp.example"];
    const mail = await tenant.mail({ headers: [], raw: forwardedMail(tenant, trace), envelope: { from: corp } });
    const answer = await tenant.ask("POST /v1/emails/reply", {
      json: { thread_id: mail.threadId, body_text: "It is on its way.\nYours, Support", cc: [corp] },
    });
    expect(answer.status, answer.text).to.equal(202);
    await (await tenant.draftWithId(answer.json.draft_id)).becomes("sent");
    const waiting = await tenant.draft(mail, { body_text: "Anything else?" });
    return { mail, sent: await sentBy(service, answer.json.draft_id), waiting };
  }

  const back = (raw: string) => service.deliver(tenant.identity.address, raw, { from: "bounces@corp.example" });
  const ledger = async () => (await tenant.ask("GET /v1/inbound?limit=1")).json.data[0];
  const messagesOf = async (mail: StoryMail) => (await tenant.thread(mail)).messages_total;

  it("a copy of ours is kept in the ledger alone: as it was, with a footer below a rule, and with a banner known from other mail", async () => {
    const { mail, sent, waiting } = await forwardedConversation();
    const total = await messagesOf(mail);
    const footer = "\r\n_____________\r\nThe information in this mail is for corp only.\r\n";
    const forms = [
      sent,
      returning(sent, { subject: "[corp] My order", text: (text) => text + footer, without: ["DKIM-Signature"] }),
      returning(sent, { text: (text) => `${text}\r\n-- \r\nsent by the gateway of corp\r\n` }),
      returning(sent, { text: (text) => `CAUTION: this mail came from outside.\r\n\r\n${text}` }),
    ];
    for (const [n, form] of forms.entries()) {
      await back(form);
      const entry = await ledger();
      expect(entry, `form ${n}`).to.include({ disposition: "own_copy", message_id: entry.message_id });
      expect((await tenant.ask(`GET /v1/inbound/${entry.id}/raw`)).text).to.equal(form);
    }
    expect(await messagesOf(mail)).to.equal(total);
    expect(await eventsAbout(tenant, mail)).to.deep.equal(["email.received"]);
    expect((await waiting.read()).newer_message_id).to.equal(null);
    expect((await waiting.ask("POST send")).status).to.equal(202);
  });
});

const forwardedMail = (tenant: StoryTenant, trace: readonly string[]): string =>
  [
    ...trace,
    `Message-ID: <${Math.random().toString(36).slice(2)}@customer.example>`,
    "From: Carla <carla@customer.example>",
    "To: info@corp.example",
    "Subject: Order 77",
    "MIME-Version: 1.0",
    "Content-Type: text/plain; charset=utf-8",
    "",
    "CAUTION: this mail came from outside.",
    "",
    `Where is my order? Please tell ${tenant.identity.address}.`,
    "",
  ].join("\r\n");
