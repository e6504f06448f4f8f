import { expect } from "chai";
import { faultsOf, markOf, payload } from "#test/attacks/words/hostile.ts";
import { type Desk, deskOf } from "#test/support/desk.ts";
import { type InProcess, until } from "#test/support/inProcess.ts";
import { type StoryMail, type StoryTenant, startStory } from "#test/support/story/story.ts";
import { authenticated, messageWithId, returning, sentBy } from "../whoseMail/returning.ts";
import { automaticReplies, letter, reactionTo, receiptOf, reportOf } from "./asideMails.ts";

const approver = "boss@ours.example";

describe("whose mail it is, on conversations and cards", () => {
  let service: InProcess;
  let tenant: StoryTenant;
  let sales: Awaited<ReturnType<StoryTenant["newIdentity"]>>;
  let ben: Desk;

  before(async () => {
    ({ service, tenant } = await startStory({ DEV_PROVEN_DOMAINS: "agents.localhost,customer.example" }));
    sales = await tenant.newIdentity({ displayName: "Sales" });
    ben = await deskOf(service, tenant.id, { role: "approver", name: "Ben" });
  });
  after(() => service.stop());

  /** Our answer to a mail as it left, and its Message-ID. */
  async function answered(mail: StoryMail, content: object = {}) {
    const draft = await tenant.draft(mail, { body_text: "It comes tomorrow.\nYours", ...content });
    await draft.sendNow();
    const sent = await sentBy(service, draft.id);
    return { mail, sent, id: /^Message-ID:\s*<([^>]+)>/im.exec(sent)![1] as string };
  }
  const deliver = (raw: string, envelope: { from?: string; ip?: string } = {}) =>
    service.deliver(tenant.identity.address, raw, { from: "carla@customer.example", ...envelope });
  /** Delivers a mail that becomes a message; returns it, once its sender is known. */
  async function message(raw: string, envelope: { from?: string; ip?: string } = {}): Promise<any> {
    await deliver(raw, envelope);
    const { message_id: id } = (await tenant.ask("GET /v1/inbound?limit=1")).json.data[0];
    return authenticated(service, tenant, id);
  }
  const pageOf = async (threadId: string): Promise<{ text: string; words: string }> => {
    const { text, page } = await ben.get(`/threads/${threadId}`);
    return { text, words: page.replace(/ ([.,:])/g, "$1") };
  };
  const articleOf = (text: string, id: string): string =>
    new RegExp(`<li class="message [^"]*" id="message-${id}">.*?</details></li>`, "s").exec(text)?.[0] ?? "";
  const wordsOf = (markup: string): string =>
    markup
      .replace(/<[^>]+>/g, " ")
      .replaceAll("&#39;", "'")
      .replace(/\s+/g, " ")
      .replace(/ ([.,:])/g, "$1");
  const ours = async (mail: StoryMail): Promise<any> =>
    (await tenant.thread(mail)).messages.findLast(({ direction }: any) => direction === "outbound");

  it("reactions stand at the mail that they are about: the sign, who put it there and when", async () => {
    const { mail, id } = await answered(await tenant.mail());
    const signs = ["👍", "❤️", "🏴󠁧󠁢󠁥󠁮󠁧󠁿"];
    for (const sign of signs) await deliver(reactionTo(id, sign));
    const { id: ownId, reactions } = await ours(mail);
    expect(reactions).to.have.length(3);
    const article = articleOf((await pageOf(mail.threadId)).text, ownId);
    expect(wordsOf(article)).to.include(`Reactions: ${signs.join(" ")}`);
    for (const sign of signs)
      expect(wordsOf(article)).to.match(new RegExp(`${sign} carla@customer\\.example, \\d{1,2} \\w{3} \\d{4}`));
    expect(faultsOf({ kind: "html", content: article })).to.deep.equal([]);
  });

  it("what was reported of each recipient stands at our mail, with the server's words", async () => {
    const [bob, eve] = ["bob@customer.example", "eve@customer.example"];
    const { mail, id } = await answered(await tenant.mail(), { cc: [bob, eve] });
    const before = articleOf((await pageOf(mail.threadId)).text, (await ours(mail)).id);
    expect(wordsOf(before)).not.to.include("recipient");
    const words = `550 ${payload(markOf(2))} \u202e${"no ".repeat(400)}`;
    await deliver(reportOf(id, [{ address: eve, action: "failed", code: "5.1.1", words }]), { from: "" });
    await until(async () => (await ours(mail)).recipients.some(({ status }: any) => status === "bounced"));
    const article = articleOf((await pageOf(mail.threadId)).text, (await ours(mail)).id);
    expect(wordsOf(article)).to.match(
      / Delivered Not delivered to 1 of 3 recipients .*Delivery problems with 1 of 3 recipients/,
    );
    expect(wordsOf(article)).to.match(
      /eve@customer\.example: could not be delivered \( 5\.1\.1 \), \d.*The server said: “ 550 /,
    );
    expect(wordsOf(article)).to.include("No problem reported for the other 2.");
    expect(wordsOf(article).length).to.be.below(2_500);
    expect(faultsOf({ kind: "html", content: article })).to.deep.equal([]);
  });

  /** A mail of each kind that is not simply a customer's: its message, the badge on its page, and the sentence about it. */
  const kinds: Record<string, () => Promise<{ mail: any; badge: string; sentence: string }>> = {
    "a colleague's, by its Message-ID": async () => {
      const { sent } = await answered(await tenant.mail({ to: sales }));
      const mail = await message(sent, { from: sales.address, ip: "192.0.2.1" });
      return { mail, badge: "Colleague", sentence: `From a colleague: ${sales.address} of this workspace.` };
    },
    "a colleague's, by its Message-ID, with a sender that a list wrote": async () => {
      const { sent } = await answered(await tenant.mail({ to: sales }));
      const listed = returning(sent, { without: ["From"], headers: ["From: Sales via talk <talk@lists.example>"] });
      const sentence = `From a colleague: ${sales.address} of this workspace.`;
      return { mail: await message(listed), badge: "Colleague", sentence };
    },
    "a colleague's, by its proven sender": async () => {
      const mail = await message(letter({ from: sales.address }), { from: sales.address, ip: "127.0.0.1" });
      return { mail, badge: "", sentence: `From a colleague: ${sales.address} of this workspace.` };
    },
    "of an unproven sender with a colleague's address": async () => ({
      mail: await message(letter({ from: sales.address }), { from: sales.address, ip: "192.0.2.1" }),
      badge: "Sender not verified",
      sentence:
        "The sender's address is an address of this workspace, but nothing proves that the mail was sent from here.",
    }),
    "a program's, such as a web form's": () => ofProgram({ headers: ["Auto-Submitted: auto-generated"] }),
    "a program's, in bulk": () => ofProgram({ headers: ["Precedence: bulk"] }),
    "a program's, without a return path": () => ofProgram({}, ""),
    "a copy of ours with other words": async () => {
      const { sent } = await answered(await tenant.mail());
      const from = ["From: Carla <carla@customer.example>"];
      const raw = returning(sent, { without: ["From"], headers: from, text: (text) => `Cancel it.\r\n\r\n${text}` });
      const sentence = "This is a mail of ours that came back with other words or files in it";
      return { mail: await message(raw), badge: "Altered copy of our mail", sentence };
    },
    "filed by hand": async () => {
      const mail = await message(letter(automaticReplies.Exchange!));
      const { json } = await tenant.ask("GET /v1/inbound?limit=1");
      await ben.get("/review/aside");
      expect((await ben.post(`/review/aside/${json.data[0].id}/file`)).status).to.equal(303);
      const sentence = "It was put aside as an automatic reply: “Ben” filed it as a message.";
      return { mail: await messageWithId(service, tenant, mail.id), badge: "Filed by hand", sentence };
    },
    "an automatic reply": async () => ({
      mail: await message(letter(automaticReplies["a help desk"]!)),
      badge: "Automatic reply",
      sentence: "It is an automatic reply.",
    }),
    "a receipt": async () => ({
      mail: await message(receiptOf((await answered(await tenant.mail())).id)),
      badge: "Report",
      sentence: "It is a report about a mail, such as a bounce or a receipt.",
    }),
  };
  async function ofProgram(of: Parameters<typeof letter>[0], from = "carla@customer.example") {
    const sentence = "A program sent it, such as a web form or a notification.";
    return { mail: await message(letter(of), { from }), badge: "Program", sentence };
  }
  const said = (mail: any, { badge, sentence }: { badge: string; sentence: string }, { text }: { text: string }) => {
    const article = wordsOf(articleOf(text, mail.id));
    expect(article).to.include(sentence);
    expect(article.slice(0, 250)).to.include(badge);
    if (badge === "Colleague") expect(article).not.to.match(/not verified|cannot verify/);
  };

  for (const [name, mailOf] of Object.entries(kinds))
    it(`a mail that is ${name} says so in its conversation, and on a draft's card`, async () => {
      const { mail, ...expected } = await mailOf();
      said(mail, expected, await pageOf(mail.thread_id));
      const basis = { thread_id: mail.thread_id, identity_id: tenant.identity.id, based_on_message_id: mail.id };
      const draft = await tenant.draft({ basis });
      const shown = await ben.get(`/review?draft=${draft.id}`);
      expect(shown.page.replace(/ ([.,:])/g, "$1")).to.include(
        `About the message that it answers: ${expected.sentence}`,
      );
      expect(draft.json.warning_kinds).to.include("message_note");
    });

  it("the approval mail and its page say it too", async () => {
    const asking = await tenant.newIdentity({ approvalChannel: { type: "email", config: { to: approver } } });
    const raw = letter({ headers: ["Auto-Submitted: auto-generated"] });
    const draft = await tenant.draft(await tenant.mail({ to: asking, raw }));
    const note = "About the message that it answers: A program sent it, such as a web form or a notification.";
    const asked = await draft.approvalMail(approver);
    expect(asked.text!.replace(/\s+/g, " ")).to.include(note);
    const { pathname, search } = new URL(asked.link());
    const page = await fetch(service.url + pathname + search, { headers: { Accept: "text/html" } });
    expect(wordsOf(await page.text())).to.include(note);
  });

  it("a customer's mail and a post to a list say nothing of the kind", async () => {
    for (const raw of [
      letter({}),
      letter({ headers: ["List-Id: <talk.lists.example>", "List-Post: <mailto:talk@lists.example>"] }),
      letter({ headers: ["X-Auto-Response-Suppress: All"] }),
    ]) {
      const mail = await message(raw, { ip: "127.0.0.1" });
      const { text } = await pageOf(mail.thread_id);
      expect(wordsOf(articleOf(text, mail.id))).not.to.match(/colleague|program|Filed|automatic/i);
      const basis = { thread_id: mail.thread_id, identity_id: tenant.identity.id, based_on_message_id: mail.id };
      expect((await tenant.draft({ basis })).json.warning_kinds).to.deep.equal([]);
    }
  });

  it("another identity's mail that comes back with other words is not the colleague's", async () => {
    const { sent } = await answered(await tenant.mail({ to: sales }));
    const mail = await message(returning(sent, { text: (text) => `Cancel it.\r\n\r\n${text}` }), { ip: "192.0.2.1" });
    expect([mail.kind, mail.origin]).to.deep.equal(["altered_copy", "external"]);
    expect(mail.notes.join(" "))
      .to.match(/somebody on its way added them\. It was brought by \S+@\S+\.$/)
      .and.not.include("nothing proves");
    expect(wordsOf(articleOf((await pageOf(mail.thread_id)).text, mail.id))).not.to.include("From a colleague");
  });

  it("a conversation says why it is unanswered by whose mail came last", async () => {
    const why = async (raw: string, from = "carla@customer.example") => {
      const mail = await message(raw, { from });
      return /Not answered[^.]*\.[^.]*\./.exec((await pageOf(mail.thread_id)).words)?.[0];
    };
    const { id } = await answered(await tenant.mail());
    const bounce = reportOf(id, [{ address: "ann@customer.example", action: "failed", code: "5.1.1", words: "no" }]);
    const { sent } = await answered(await tenant.mail({ to: sales }));
    const reply = letter({ headers: ["X-Autoreply: yes"] });
    expect(await why(reply)).to.include("Not answered: The newest message is an automatic reply");
    expect(await why(receiptOf(id))).to.include("Not answered: The newest message is a report about a mail");
    expect(await why(bounce, "")).to.include("Not answered: The newest message is a bounce");
    expect(await why(sent, sales.address)).to.include("Not answered: The newest message is from a colleague");
    for (const words of [letter({}), letter({ headers: ["Auto-Submitted: auto-generated"] })])
      expect(await why(words)).to.include("Not answered yet: No draft has been written since this message.");
  });
});
