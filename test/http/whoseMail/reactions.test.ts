import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { learnMessageId } from "#src/commands/sends/deliveryReports.ts";
import { operator } from "#test/support/cause.ts";
import type { InProcess } from "#test/support/inProcess.ts";
import { type StoryMail, type StoryTenant, startStory } from "#test/support/story/story.ts";
import { eventsAbout, filings, idOf, multipart, part, sentBy } from "./returning.ts";

const carla = "Carla Smith <carla@customer.example>";
const sign = "text/vnd.google.email-reaction+json";

/** Reactions to mail (case 05). test/mail/in/reactions.test.ts has the forms that are one. */
describe("a reaction to a mail of ours [d5 reaction]", () => {
  let service: InProcess;
  let tenant: StoryTenant;

  before(async () => {
    ({ service, tenant } = await startStory());
  });
  after(() => service.stop());

  /** Answers a mail of Carla's. `ours`: the Message-ID of the answer. */
  async function answered(): Promise<{ mail: StoryMail; ours: string; draftId: string }> {
    const mail = await tenant.mail({ from: carla });
    const draft = await tenant.draft(mail);
    await draft.sendNow();
    return { mail, ours: idOf(await sentBy(service, draft.id)), draftId: draft.id };
  }

  type Given = { from?: string; answers: string; headers?: string[]; type?: string; body: string };
  const written = ({ from = carla, answers, headers = [], type = "text/plain; charset=utf-8", body }: Given): string =>
    [
      `Message-ID: <${Math.random().toString(36).slice(2)}@mail.example>`,
      `From: ${from}`,
      `To: ${tenant.identity.address}`,
      "Subject: Re: My order",
      `In-Reply-To: <${answers}>`,
      `References: <${answers}>`,
      ...headers,
      "MIME-Version: 1.0",
      `Content-Type: ${type}`,
      "",
      body,
    ].join("\r\n");
  const react = (...all: Given[]) => filings({ service, tenant }, all.map(written));
  const gmail = (emoji: string, words = "Carla Smith reacted via Gmail") =>
    multipart(
      "alternative",
      part("text/plain; charset=utf-8", `${emoji}\r\n\r\n${words}`),
      part(`${sign}; charset=utf-8`, JSON.stringify({ version: 1, emoji })),
      part("text/html; charset=utf-8", `<div>${emoji}</div><div>${words}</div>`),
    );
  const outlook = { headers: ["Thread-Index: AdxyZ"], body: "[heart]  Carla Smith reacted to your message:\r\n" };

  const ownMessage = async (mail: StoryMail) =>
    (await tenant.thread(mail)).messages.find(({ direction }: any) => direction === "outbound");

  it("it is shown at its message, fires nothing, makes nothing stale and leaves the thread as it was", async () => {
    const { mail, ours } = await answered();
    const waiting = await tenant.draft(mail, { body_text: "Anything else?" });
    const before = await tenant.thread(mail);
    const message = await ownMessage(mail);
    const bob = "Bob <bob@customer.example>";
    const filed = await react(
      { answers: ours, ...gmail("👍") },
      { answers: ours, type: sign, body: '{"version":1,"emoji":"🎉"}' },
      { answers: ours, ...outlook },
      { answers: ours, from: bob, ...gmail("\u{1faea}", "Bob reacted via Gmail") },
      { answers: ours, from: bob, headers: ["Content-Disposition: reaction"], body: "👎" },
    );
    for (const { entry } of filed) expect(entry).to.include({ disposition: "reaction", message_id: message.id });
    const { reactions } = await ownMessage(mail);
    expect(reactions.map(({ emoji, from }: any) => [emoji, from])).to.deep.equal([
      ["👍", "carla@customer.example"],
      ["🎉", "carla@customer.example"],
      ["❤️", "carla@customer.example"],
      ["\u{1faea}", "bob@customer.example"],
      ["👎", "bob@customer.example"],
    ]);
    const { messages_total, status, needs_review, participants } = before;
    expect(await tenant.thread(mail)).to.deep.include({ messages_total, status, needs_review, participants });
    expect(await eventsAbout(tenant, mail)).to.have.length(1);
    expect((await waiting.read()).newer_message_id).to.equal(null);
    expect((await waiting.ask("POST send")).status).to.equal(202);
  });

  it("a message shows the newest 100 of them, however many come", async () => {
    const { mail } = await answered();
    const { id: messageId } = await ownMessage(mail);
    const { newestNumber } = (await service.deps.threads.load(mail.threadId)).state;
    const about = { identityId: tenant.identity.id, messageId, emoji: "👍", at: service.clock.now().toISOString() };
    for (let n = 1; n <= 102; n += 1) {
      const reaction = { ...about, deliveryId: randomUUID(), number: newestNumber + n, from: `c${n}@customer.example` };
      await service.deps.threads.handle(mail.threadId, { type: "FileReaction", reaction }, operator(tenant.id));
      if (n === 99) await service.caughtUp();
    }
    await service.caughtUp();
    const { reactions } = await ownMessage(mail);
    const [first, last] = [reactions[0].from, reactions.at(-1).from];
    expect([reactions.length, first, last]).to.deep.equal([100, "c3@customer.example", "c102@customer.example"]);
  });

  it("it is known under an id that a relay gave our mail", async () => {
    const { mail, draftId } = await answered();
    const { attemptId } = (await service.deps.drafts.load(draftId)).state;
    const learned = { attemptId: attemptId as string, rfcMessageId: "<0102019a-e5f6>" };
    await learnMessageId(service.deps, learned, operator(tenant.id));
    await service.caughtUp();
    const [filed] = await react({ answers: "0102019a-e5f6@eu-west-1.amazonses.com", ...gmail("👍") });
    expect(filed!.entry).to.include({ disposition: "reaction", message_id: (await ownMessage(mail)).id });
  });

  it("with words, to another's mail, or too long it is a customer's mail", async () => {
    const colleague = await tenant.newIdentity();
    const other = await tenant.draft(await tenant.mail({ from: carla, to: colleague }));
    await other.sendNow();
    const { mail, ours } = await answered();
    const waiting = await tenant.draft(mail);
    const forms: Given[] = [
      { answers: ours, ...gmail("👍", "Please cancel it.") },
      { answers: ours, ...gmail("👍", "Carla Smith reacted via Gmail\r\n\r\nok") },
      { answers: ours, ...outlook, body: `${outlook.body}\r\nPlease cancel it.` },
      { answers: ours, body: "👍" },
      {
        answers: ours,
        ...gmail("👍"),
        headers: [`X-Padding: ${"x".repeat(900)}\r\n ${`${"x".repeat(900)}\r\n `.repeat(17)}`.trim()],
      },
      { answers: mail.id, ...gmail("👍") },
      { answers: idOf(await sentBy(service, other.id)), ...gmail("👍") },
      { answers: ours.replace(/^./, (first) => (first === "A" ? "B" : "A")), ...gmail("👍") },
    ];
    const filed = await react(...forms);
    for (const [index, { entry, message }] of filed.entries())
      expect(message?.kind, `form ${index}: ${entry.disposition}`).to.equal("customer");
    const onThread = filed.filter(({ message }) => message.thread_id === mail.threadId);
    expect((await waiting.read()).newer_message_id).to.equal(onThread.at(-1)!.message.id);
    expect((await ownMessage(mail)).reactions).to.deep.equal([]);
    expect(await eventsAbout(tenant, mail)).to.have.length(7);
  });
});
