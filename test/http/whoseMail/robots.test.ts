import { expect } from "chai";
import type { Identity, InProcess } from "#test/support/inProcess.ts";
import { type StoryMail, type StoryTenant, startStory } from "#test/support/story/story.ts";
import { authenticated, eventsAbout, filings, idOf, multipart, part, sentBy } from "./returning.ts";

/** Mail that programs write (case 04). test/mail/in/programs.test.ts has their forms. */
describe("the mail of programs over HTTP [d5 generated]", () => {
  let service: InProcess;
  let tenant: StoryTenant;
  let granting: Identity;

  before(async () => {
    ({ service, tenant } = await startStory({ AUTO_ANSWERS_PER_ADDRESS: "2/3600" }));
    granting = await tenant.newIdentity({ autoApproveReplies: true });
  });
  after(() => service.stop());

  type Form = { headers: readonly string[]; from?: string; envelope?: { from: string } };
  const shop = "Shop form <form@shop.example>";
  const webForm = (customer: string, more: readonly string[] = ["Auto-Submitted: auto-generated"]): Form => ({
    from: shop,
    headers: [`Reply-To: ${customer}`, ...more],
  });

  it("the inquiry of a web form fires and makes drafts stale, and its answer goes to the customer", async () => {
    const forms: Record<string, Form> = {
      "case 04": webForm("customer@mail.example"),
      "Contact Form 7 with no return path": {
        ...webForm("customer@mail.example", ["X-WPCF7-Content-Type: text/plain"]),
        envelope: { from: "" },
      },
    };
    for (const [name, form] of Object.entries(forms)) {
      const first = await tenant.mail({ ...form, subject: "New inquiry" });
      const message = await authenticated(service, tenant, first.messageId);
      expect(message, name).to.include({ kind: "program", generated: true });
      const waiting = await tenant.draft(first);
      expect((await waiting.content()).to, name).to.deep.equal(["customer@mail.example"]);
      const second = await tenant.mail({ ...form, inReplyTo: first, subject: "Re: New inquiry" });
      expect((await waiting.read()).newer_message_id, name).to.equal(second.messageId);
      await authenticated(service, tenant, second.messageId);
      expect(await eventsAbout(tenant, first), name).to.have.length(2);
    }
  });

  it("answers to a form's mail are counted by who gets them: many customers are many, and one of them is one", async () => {
    const answered = async (customer: string, form = webForm(customer)): Promise<string> =>
      (await (await tenant.draft(await tenant.mail(form))).ask("POST send")).outcome;
    for (let customer = 1; customer <= 3; customer += 1)
      expect(await answered(`customer-${customer}@mail.example`), `customer ${customer}`).to.equal("202");
    // A ticket system makes a new tag for each mail.
    expect(await answered("Customer-1+ticket7@Mail.example")).to.equal("202");
    expect(await answered("customer-1@mail.example")).to.equal("422 loop_guarded");
    // Without a Reply-To the program itself is answered.
    const alone = (): Form => ({ from: "robot@shop.example", headers: ["Precedence: bulk"] });
    const outcomes = [await answered("", alone()), await answered("", alone()), await answered("", alone())];
    expect(outcomes).to.deep.equal(["202", "202", "422 loop_guarded"]);
  });

  it("no setting approves an answer to a program's mail, and one on its thread is enough", async () => {
    const grantedOn = async (form: Partial<Form>) => {
      const mail = await tenant.mail({ to: granting, ...form });
      return { mail, draft: await tenant.draft(mail) };
    };
    const persons = await grantedOn({});
    expect(persons.draft.json.auto_approved).to.equal(true);
    const { mail, draft } = await grantedOn(webForm("one@mail.example"));
    expect(draft.json).to.include({ auto_approved: null, status: "pending" });
    await draft.sendNow();
    expect((await tenant.submit(mail)).outcome).to.equal("422 loop_guarded");
    const another = await tenant.mail({ to: granting, ...webForm("two@mail.example"), inReplyTo: mail });
    await (await tenant.draft(another)).sendNow();
  });

  /** Answers a customer's mail. `ours`: the answer as it left. */
  async function answeredMail(): Promise<{ mail: StoryMail; ours: string }> {
    const mail = await tenant.mail({ from: `${Math.random().toString(36).slice(2)}@customer.example` });
    const draft = await tenant.draft(mail);
    await draft.sendNow();
    return { mail, ours: await sentBy(service, draft.id) };
  }

  it("an autoresponder's mail fires nothing, makes nothing stale and leaves the thread as it was; what a server moved or forwarded is the customer's", async () => {
    const { mail, ours } = await answeredMail();
    const waiting = await tenant.draft(mail, { body_text: "Anything else?" });
    const answering = (field: string): string =>
      [
        `Message-ID: <${Math.random()}@customer.example>`,
        "From: carla@customer.example",
        "Subject: Re: My order",
        `In-Reply-To: <${idOf(ours)}>`,
        field,
        "",
        "I am away until Monday.",
      ].join("\r\n");
    const came = async (...fields: string[]) => {
      const filed = await filings({ service, tenant }, fields.map(answering));
      return filed.map(({ message }) => message);
    };
    const away = await came("X-Apple-Action: VACATION", "X-Autogenerated: Reply", "X-Precedence: auto_reply");
    for (const message of away) expect(message).to.include({ kind: "automatic_reply", thread_id: mail.threadId });
    expect((await waiting.read()).newer_message_id).to.equal(null);
    expect(await eventsAbout(tenant, mail)).to.have.length(1);
    const moved = await came("X-Apple-Action: MOVE_TO_FOLDER/INBOX", "X-Autogenerated: Redirect");
    for (const message of moved) expect(message).to.include({ kind: "customer", thread_id: mail.threadId });
    expect((await waiting.read()).newer_message_id).to.equal(moved.at(-1).id);
  });

  it("a list server's notice about our post is on the thread of that post and fires nothing; a post to the list fires", async () => {
    const { mail, ours } = await answeredMail();
    const list = ["List-Id: <talk.lists.example>", "Precedence: bulk"];
    const written = (from: string, more: string[], { type, body }: { type: string; body: string }) =>
      [
        `Message-ID: <${Math.random()}@lists.example>`,
        `From: ${from}`,
        `To: ${tenant.identity.address}`,
        "Subject: Talk",
        ...list,
        ...more,
        "MIME-Version: 1.0",
        `Content-Type: ${type}`,
        "",
        body,
      ].join("\r\n");
    const notice = multipart(
      "mixed",
      part("text/plain", "Your mail is held until its moderator has read it."),
      part("message/rfc822", ours),
    );
    const [held, confirmed, posted] = await filings({ service, tenant }, [
      written("talk-bounces@lists.example", ["X-List-Administrivia: yes"], notice),
      written("talk-confirm+12ab@lists.example", [], { type: "text/plain", body: "Confirm." }),
      written("carla@customer.example", ["List-Post: <mailto:talk@lists.example>"], {
        type: "text/plain",
        body: "Hello.",
      }),
    ]);
    expect(held!.message).to.include({ kind: "automatic_reply", thread_id: mail.threadId });
    expect(confirmed!.message.kind).to.equal("automatic_reply");
    expect(posted!.message).to.include({ kind: "customer", classification: "list", generated: false });
    const fired = async ({ message }: any) => (await eventsAbout(tenant, { threadId: message.thread_id })).length;
    // The first event is about the mail that we answered.
    expect([await fired(held), await fired(confirmed), await fired(posted)]).to.deep.equal([1, 0, 1]);
  });
});
