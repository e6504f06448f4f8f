import { expect } from "chai";
import { type InProcess, until } from "#test/support/inProcess.ts";
import { type StoryMail, type StoryTenant, startStory } from "#test/support/story/story.ts";

const approver = "boss@ours.example";

describe("reports about mail of ours [d5 reports]", () => {
  let service: InProcess;
  let tenant: StoryTenant;

  before(async () => {
    const channel = { type: "email" as const, config: { to: approver } };
    ({ service, tenant } = await startStory({}, { identity: { approvalChannel: channel } }));
  });
  after(() => service.stop());

  /** Answers a customer, with two more recipients in copy; a person approved it by the link in the approval mail. */
  async function answered(cc: string[] = []): Promise<{ mail: StoryMail; id: string; draftId: string }> {
    const mail = await tenant.mail();
    const draft = await tenant.draft(mail, { cc });
    await (await draft.approvalMail(approver)).press("approve");
    const { rfc_message_id: id } = await sentMessage(mail, await draft.becomes("sent"));
    return { mail, id, draftId: draft.id };
  }
  const sentMessage = async (mail: StoryMail, _sent?: unknown): Promise<any> =>
    (await tenant.thread(mail)).messages.findLast(({ direction }: any) => direction === "outbound");

  type Recipient = { address: string; action?: string; original?: string; code?: string; words?: string };
  const recipientBlock = ({ address, action = "failed", original, code = "5.1.1", words }: Recipient): string[] => [
    `Final-Recipient: rfc822; ${address}`,
    ...(original === undefined ? [] : [`Original-Recipient: rfc822;${original}`]),
    `Action: ${action}`,
    `Status: ${code}`,
    ...(words === undefined ? [] : [`Diagnostic-Code: smtp; ${words}`]),
    "",
  ];
  const reportOn = (id: string, recipients: Recipient[]): string =>
    [
      `Message-ID: <report-${Math.random()}@mx.example>`,
      "From: MAILER-DAEMON@mx.example",
      "Subject: Undelivered Mail",
      'Content-Type: multipart/report; report-type=delivery-status; boundary="b"',
      "",
      "--b",
      "Content-Type: message/delivery-status",
      "",
      "Reporting-MTA: dns; mx.example",
      "",
      ...recipients.flatMap(recipientBlock),
      "--b",
      "Content-Type: text/rfc822-headers",
      "",
      `Message-ID: ${id}`,
      "",
      "--b--",
      "",
    ].join("\r\n");
  const deliver = (raw: string) => service.deliver(tenant.identity.address, raw, { from: "" });
  const eventsOf = async (draftId: string, type: string): Promise<any[]> => {
    const { json } = await tenant.ask(`GET /v1/events?types=${type}&limit=100`);
    return json.data.filter(({ data }: any) => data.draft_id === draftId).map(({ data }: any) => data);
  };

  it("a bounce of one of three recipients names it with the server's words, asks for a review, and tells the approver", async () => {
    const { mail, id, draftId } = await answered(["ben@customer.example", "cid@customer.example"]);
    const before = (await tenant.thread(mail)).messages_total;
    await deliver(reportOn(id, [{ address: "ben@customer.example", words: "550 5.1.1 no such\r\n user" }]));
    await until(async () => (await sentMessage(mail)).recipients.some(({ status }: any) => status === "bounced"));
    const { delivery_status, recipients } = await sentMessage(mail);
    // The outbox confirms the delivery to all.
    expect(delivery_status).to.equal("delivered");
    expect(recipients.map(({ address, status, code, text }: any) => [address, status, code, text])).to.deep.equal([
      ["ann@customer.example", "delivered", null, null],
      ["ben@customer.example", "bounced", "5.1.1", "550 5.1.1 no such user"],
      ["cid@customer.example", "delivered", null, null],
    ]);
    await until(async () => (await eventsOf(draftId, "email.bounced")).length === 1);
    const [event] = await eventsOf(draftId, "email.bounced");
    expect(event)
      .to.include({ whole: false })
      .and.to.have.nested.property("recipients[0].text", "550 5.1.1 no such user");
    const { json: history } = await tenant.ask(`GET /v1/drafts/${draftId}/history?limit=100`);
    expect(history.data.find(({ type }: any) => type === "DeliveryBounced").data.recipients).to.have.length(1);
    await until(async () => (await tenant.thread(mail)).needs_review);
    expect((await tenant.thread(mail)).messages_total).to.equal(before + 1);
    await until(async () =>
      (await service.outbox.newest(20)).some(({ subject }) => subject.startsWith("Not delivered")),
    );
    const told = (await service.outbox.newest(20)).find(({ subject }) => subject.startsWith("Not delivered"))!;
    expect(told.envelope.to).to.deep.equal([approver]);
    const text = told.text.replace(/\s+/g, " ");
    for (const words of ["One of its 3 recipients was not reached", "550 5.1.1 no such user"])
      expect(text).to.contain(words);
  });

  it("a mail is bounced only once every To has bounced; a repeated report changes nothing", async () => {
    const { mail, id, draftId } = await answered(["ben@customer.example"]);
    for (const address of ["ben@customer.example", "BEN@customer.example"]) await deliver(reportOn(id, [{ address }]));
    expect((await sentMessage(mail)).delivery_status).to.equal("delivered");
    await deliver(reportOn(id, [{ address: "forwarded@elsewhere.example", original: "ann@customer.example" }]));
    await until(async () => (await sentMessage(mail)).delivery_status === "bounced");
    await service.caughtUp();
    expect((await eventsOf(draftId, "email.bounced")).map(({ whole }) => whole)).to.deep.equal([false, true]);
  });

  it("a bounce that names an address never written to marks nobody, and still asks for a review", async () => {
    const { mail, id } = await answered(["ben@customer.example"]);
    await deliver(reportOn(id, [{ address: "stranger@elsewhere.example" }]));
    await until(async () => (await tenant.thread(mail)).needs_review);
    const { delivery_status, recipients } = await sentMessage(mail);
    expect([delivery_status, ...recipients.map(({ status }: any) => status)]).to.deep.equal(Array(3).fill("delivered"));
  });

  it("a bounce of a mail to one recipient is about that one, whatever it names, and in forms that are no report", async () => {
    const qmail = (id: string) =>
      [
        "Message-ID: <q@mx.example>",
        "From: MAILER-DAEMON@mx.example",
        "Subject: failure notice",
        "",
        "Hi. This is the qmail-send program at mx.example.",
        "",
        "<ann@customer.example>:",
        "Sorry, no mailbox here by that name. (#5.1.1)",
        "",
        "--- Below this line is a copy of the message.",
        "",
        `Message-ID: ${id}`,
        "",
      ].join("\r\n");
    const exchange = (id: string) =>
      [
        "Message-ID: <x@mx.example>",
        "From: postmaster@mx.example",
        "Subject: Undeliverable: hello",
        "X-Failed-Recipients: ann@customer.example",
        "",
        "It could not be delivered.",
        "",
        `Message-ID: ${id}`,
        "",
      ].join("\r\n");
    const forms = [
      (id: string) => reportOn(id, [{ address: "other@elsewhere.example", words: "550 full" }]),
      (id: string) => reportOn(id, []),
      qmail,
      exchange,
    ];
    for (const [n, form] of forms.entries()) {
      const { mail, id } = await answered();
      await deliver(form(id).replace(/<[qx]@/, `<${n}-${Math.random()}@`));
      await until(async () => (await sentMessage(mail)).delivery_status === "bounced").catch(() =>
        expect.fail(`form ${n}`),
      );
      const [recipient] = (await sentMessage(mail)).recipients;
      expect(recipient, `form ${n}`).to.include({ address: "ann@customer.example", status: "bounced" });
      if (n === 2) expect(recipient.text).to.contain("no mailbox here by that name");
    }
  });

  it("a delay joins the thread, and changes nothing there", async () => {
    const { mail, id, draftId } = await answered();
    await deliver(
      reportOn(id, [{ address: "ann@customer.example", action: "delayed", code: "4.4.1", words: "421 refused" }]),
    );
    const thread = await tenant.thread(mail);
    expect(thread).to.include({ status: "waiting", needs_review: false, messages_total: 3 });
    expect(thread.messages.at(-1)).to.include({ kind: "report", classification: "auto_reply" });
    await service.caughtUp();
    expect((await sentMessage(mail)).recipients[0].status, "a report of the delivery came before").to.equal(
      "delivered",
    );
    expect(await eventsOf(draftId, "email.bounced")).to.deep.equal([]);
  });

  it("a rejection by the recipient's rules counts as a bounce, with the words of its rule; a receipt does not", async () => {
    const rejection = (id: string, disposition: string) =>
      [
        `Message-ID: <mdn-${Math.random()}@mx.example>`,
        "From: postmaster@mx.example",
        "Subject: About your mail",
        'Content-Type: multipart/report; report-type=disposition-notification; boundary="b"',
        "",
        "--b",
        "Content-Type: text/plain; charset=utf-8",
        "",
        "No mail from shops,",
        "please.",
        "--b",
        "Content-Type: message/disposition-notification",
        "",
        "Final-Recipient: rfc822; ann@customer.example",
        `Original-Message-ID: ${id}`,
        `Disposition: ${disposition}`,
        "",
        "--b--",
        "",
      ].join("\r\n");
    const read = await answered();
    await deliver(rejection(read.id, "manual-action/MDN-sent-manually; displayed"));
    const refused = await answered();
    await deliver(rejection(refused.id, "automatic-action/MDN-sent-automatically; deleted"));
    await until(async () => (await sentMessage(refused.mail)).delivery_status === "bounced");
    expect((await sentMessage(refused.mail)).recipients[0]).to.include({ text: "No mail from shops, please." });
    expect((await tenant.thread(read.mail)).messages_total).to.equal(3);
    expect((await sentMessage(read.mail)).recipients[0].status).to.equal("delivered");
  });
});
