import { expect } from "chai";
import { telegramBots } from "#src/channels/telegram/botApi.ts";
import { postgresBotRegistry } from "#src/channels/telegram/postgresBotRegistry.ts";
import { readUpdate } from "#src/channels/telegram/updates.ts";
import { approvalDecisions } from "#src/commands/approvals/approvalLinks.ts";
import { telegramUpdates } from "#src/commands/approvals/telegram/telegramUpdates.ts";
import { type InProcess, until } from "#test/support/inProcess.ts";
import { type StoryTenant, startStory } from "#test/support/story/story.ts";
import {
  botToken,
  type EmulatedMessage,
  startTelegram,
  type Telegram,
  type TelegramPerson,
} from "#test/support/telegram/emulator.ts";
import { type BotCallAnswer, refused } from "#test/support/telegram/front.ts";
import { freePort } from "../../../scripts/support/freePort.ts";

const token = botToken(100_001);
const otherToken = botToken(100_002);

describe("approvers in Telegram", () => {
  let telegram: Telegram;
  let service: InProcess;
  let tenant: StoryTenant;
  let chats = -1000;
  const logged: string[] = [];

  before(async () => {
    telegram = await startTelegram();
    const port = String(await freePort());
    const settings = { PORT: port, PUBLIC_URL: `http://127.0.0.1:${port}`, TELEGRAM_MODE: "webhook" };
    ({ service, tenant } = await startStory(
      { ...settings, TELEGRAM_API_ROOT: telegram.apiRoot, LOG_LEVEL: "debug" },
      { log: (line) => logged.push(line) },
    ));
  });
  after(async () => {
    await service?.stop();
    await telegram?.stop();
  });

  type Channel = { bot_token: string; chat_id: string; allowed_users?: string };
  const channelOf = (config: Channel) => ({ type: "telegram" as const, config: config as Record<string, string> });

  /** Submits a draft to a new identity with a new chat; returns it with the question in that chat. */
  async function asked({
    text = "It arrives tomorrow.",
    subject = "My order",
    ...config
  }: Partial<Channel> & { text?: string; subject?: string } = {}) {
    const chat = config.chat_id ?? String(chats--);
    const bot = config.bot_token ?? token;
    const identity = await tenant.newIdentity({
      approvalChannel: channelOf({ ...config, bot_token: bot, chat_id: chat }),
    });
    const draft = await tenant.draft(await tenant.mail({ to: identity, subject }), {
      body_text: text,
      rationale: "Tracking.",
    });
    const question = await newQuestion(bot, chat);
    await draft.asked();
    return { ...draft, chat, identity, question, bot };
  }

  async function newQuestion(bot: string, chat: string, after = 0): Promise<EmulatedMessage> {
    const found = () => telegram.shown(bot, chat).findLast(({ buttons, id }) => buttons.length > 0 && id > after);
    await until(async () => found() !== undefined);
    return found()!;
  }

  /** Reads the draft after the read models have caught up. */
  const draftOf = async (id: string) => {
    await service.caughtUp();
    return (await tenant.ask(`GET /v1/drafts/${id}`)).json;
  };
  const historyOf = async (id: string): Promise<any[]> => {
    await service.caughtUp();
    return (await tenant.ask(`GET /v1/drafts/${id}/history?limit=100`)).json.data;
  };
  const button = ({ buttons }: EmulatedMessage, label: RegExp) =>
    buttons.find(({ text }) => label.test(text))!.callback_data!;
  const press = (
    of: { chat: string; question: EmulatedMessage; bot?: string },
    label: RegExp,
    by: TelegramPerson = {},
  ) => telegram.press(of.bot ?? token, { chat: of.chat, message: of.question, data: button(of.question, label), by });
  const nowAt = (of: { chat: string; question: EmulatedMessage; bot?: string }) =>
    telegram.shown(of.bot ?? token, of.chat).find(({ id }) => id === of.question.id)!;
  const prompt = async (chat: string) => {
    await until(async () => telegram.shown(token, chat).some(({ asksReply }) => asksReply));
    return telegram.shown(token, chat).findLast(({ asksReply }) => asksReply)!;
  };

  it("a press of Approve in Telegram sends the draft once, and the message names the approver without buttons", async () => {
    const draft = await asked();
    const card = telegram.shown(token, draft.chat)[0]!;
    expect(card.text).to.contain("It arrives tomorrow.").and.contain("Where is it?").and.contain("Tracking.");
    expect(draft.question.buttons.map(({ text }) => text)).to.deep.equal([
      "Approve & send",
      "Reject",
      "Ask for changes",
    ]);
    await press(draft, /Approve/, { userId: 42, firstName: "Zoë" });
    await draft.becomes("sent");
    expect(nowAt(draft)).to.deep.include({ buttons: [] });
    await until(async () => /approved.*Zoë/i.test(nowAt(draft).text));
    const approved = (await historyOf(draft.id)).find(({ type }) => type === "DraftApproved");
    expect(approved.actor).to.include({ kind: "telegram", id: "42", name: "Zoë", channel: "telegram" });
    const sent = (await service.outbox.newest(100)).filter(({ text }) => text?.includes("It arrives tomorrow."));
    expect(sent).to.have.length(1);
  });

  it("an edited draft is asked about again in Telegram with its changes, and the old buttons decide nothing", async () => {
    const draft = await asked();
    expect((await draft.edit({ body_text: "It arrives on Friday." })).version).to.equal(2);
    const second = await newQuestion(token, draft.chat, draft.question.id);
    await press(draft, /Approve/);
    expect(await draftOf(draft.id)).to.include({ status: "pending", version: 2 });
    await until(async () => /changed/i.test(nowAt(draft).text));
    expect(nowAt(draft).buttons).to.deep.equal([]);
    const card = telegram.shown(token, draft.chat).filter(({ id }) => id > draft.question.id && id < second.id);
    expect(card[0]!.text).to.contain("What changed since version 1");
    expect(card[0]!.entities.map(({ type }) => type)).to.include.members(["strikethrough", "underline"]);
    await press({ ...draft, question: second }, /Approve/);
    await draft.becomes("sent");
    const sent = (await service.outbox.newest(100)).filter(({ text }) => text?.includes("It arrives on Friday."));
    expect(sent).to.have.length(1);
  });

  describe("rejections with a reason", () => {
    it("a press of Reject in Telegram waits for a reason, which only that person can reply", async () => {
      const draft = await asked();
      await press(draft, /^Reject$/, { userId: 42, firstName: "Zoë" });
      const question = await prompt(draft.chat);
      expect((await draftOf(draft.id)).status).to.equal("pending");
      expect(nowAt(draft).buttons.map(({ text }) => text)).to.deep.equal([
        "Approve & send",
        "Reject without a reason",
        "Ask for changes",
      ]);
      await telegram.reply(token, { chat: draft.chat, to: question.id, text: "Mine", by: { userId: 43 } });
      await telegram.reply(token, { chat: draft.chat, to: question.id, text: "x".repeat(2049), by: { userId: 42 } });
      await telegram.reply(token, { chat: draft.chat, to: draft.question.id, text: "Elsewhere", by: { userId: 42 } });
      expect((await draftOf(draft.id)).status).to.equal("pending");
      // A new object knows only what is stored, like another instance or one that restarted.
      const restarted = telegramUpdates(service.deps, {
        bots: telegramBots({ apiRoot: telegram.apiRoot }),
        registry: postgresBotRegistry(service.database),
        decisions: approvalDecisions(service.deps),
      });
      const reply = {
        message_id: 9_000,
        from: { id: 42 },
        chat: { id: Number(draft.chat) },
        text: "Wrong\u202e tone & <b>tags</b>",
      };
      const update = { update_id: 9_001, message: { ...reply, reply_to_message: { message_id: question.id } } };
      await restarted.take("100001", readUpdate(update)!);
      await restarted.take("100001", readUpdate(update)!);
      await draft.becomes("rejected");
      const rejected = (await historyOf(draft.id)).filter(({ type }) => type === "DraftRejected");
      expect(rejected).to.have.length(1);
      expect(rejected[0].actor).to.include({ kind: "telegram", id: "42", name: "Telegram user 42" });
      expect((await draftOf(draft.id)).reason).to.equal("Wrong[U+202E] tone & <b>tags</b>");
      await until(async () => /rejected/i.test(nowAt(draft).text));
    });

    it("Ask for changes in Telegram waits for a text from that person, then asks the agent and closes the buttons", async () => {
      const draft = await asked();
      await press(draft, /^Ask for changes$/, { userId: 42, firstName: "Zoë" });
      const question = await prompt(draft.chat);
      expect(question.text).to.include("what should the agent change?");
      expect((await draftOf(draft.id)).changes_requested).to.equal(null);
      await telegram.reply(token, { chat: draft.chat, to: question.id, text: "Mine", by: { userId: 43 } });
      expect((await draftOf(draft.id)).changes_requested).to.equal(null);
      await telegram.reply(token, { chat: draft.chat, to: question.id, text: "Say when.", by: { userId: 42 } });
      const { status, changes_requested: requested } = await draftOf(draft.id);
      expect([status, requested.text, requested.by.kind, requested.by.id]).to.deep.equal([
        ...["pending", "Say when.", "telegram", "42"],
      ]);
      await until(async () => /Changes requested by/.test(nowAt(draft).text) && nowAt(draft).buttons.length === 0);
      await press(draft, /Approve/);
      expect((await draftOf(draft.id)).status).to.equal("pending");
      await draft.edit({ body_text: "It arrives on Friday at noon." });
      const second = await newQuestion(token, draft.chat, draft.question.id);
      const card = telegram.shown(token, draft.chat).filter(({ id }) => id > draft.question.id && id < second.id);
      expect(card.map(({ text }) => text).join("\n")).to.include("asked for changes to version 1: “Say when.”");
      await press({ ...draft, question: second }, /Approve/);
      await draft.becomes("sent");
    });

    it("a draft is rejected without a reason by a separate button in Telegram", async () => {
      const draft = await asked();
      await press(draft, /^Reject$/);
      await press({ ...draft, question: nowAt(draft) }, /without a reason/);
      const rejected = await draftOf(draft.id);
      expect([rejected.status, rejected.reason]).to.deep.equal(["rejected", null]);
    });

    it('a reason for a draft that was approved meanwhile is answered with "Already decided"', async () => {
      const draft = await asked();
      await press(draft, /^Reject$/, { userId: 42 });
      const question = await prompt(draft.chat);
      await press(draft, /Approve/, { userId: 43 });
      await telegram.reply(token, { chat: draft.chat, to: question.id, text: "No!", by: { userId: 42 } });
      await draft.becomes("sent");
      expect(telegram.shown(token, draft.chat).at(-1)!.text).to.contain("Already decided");
    });
  });

  describe("answers that do not show who wrote them", () => {
    const group = { id: 1_087_968_824, is_bot: true, first_name: "Group", username: "GroupAnonymousBot" };
    const channel = { id: 136_817_688, is_bot: true, first_name: "Channel", username: "Channel_Bot" };
    const shop = { id: -1_001_111, type: "channel", title: "Shop" };
    const said = ({ chat }: { chat: string }) => telegram.shown(token, chat).at(-1)!.text;
    /** Answers a prompt as Telegram shows it if no person is named. */
    const answer = (chat: string, to: number, written: object) =>
      telegram.tell(token, {
        ...{ message_id: 9_100, chat: { id: Number(chat), type: "supergroup" }, text: "Wrong tone." },
        ...{ reply_to_message: { message_id: to }, ...written },
      });
    const forms: [what: string, written: (chat: string) => object][] = [
      [
        "an anonymous administrator",
        (chat) => ({ from: group, sender_chat: { id: Number(chat), type: "supergroup" } }),
      ],
      ["an anonymous administrator of an older group", () => ({ from: group })],
      ["a member in the name of a channel", () => ({ from: channel, sender_chat: shop })],
      ["a linked channel", () => ({ from: { id: 777_000 }, sender_chat: shop, is_automatic_forward: true })],
      ["a chat without any account", () => ({ sender_chat: shop })],
      ["an anonymous administrator who sends a sticker", () => ({ from: group, text: undefined, sticker: {} })],
    ];
    for (const [what, written] of forms)
      it(`a reason by ${what} decides nothing, and the chat says that it must come by name`, async () => {
        const draft = await asked();
        await press(draft, /^Reject$/, { userId: 42, firstName: "Zoë" });
        const { id } = await prompt(draft.chat);
        await answer(draft.chat, id, written(draft.chat));
        await until(async () => /Reply once more as yourself/.test(said(draft)));
        expect(said(draft)).to.match(/Nothing is decided yet.*or press “Reject without a reason”\.$/);
        expect((await draftOf(draft.id)).status).to.equal("pending");
        await telegram.reply(token, { chat: draft.chat, to: id, text: "Wrong tone.", by: { userId: 42 } });
        const { status, reason } = await draftOf(draft.id);
        expect([status, reason]).to.deep.equal(["rejected", "Wrong tone."]);
      });

    it("an anonymous answer to Ask for changes asks for one by name, and one to any other message is ignored", async () => {
      const draft = await asked();
      await press(draft, /^Ask for changes$/, { userId: 42 });
      const { id } = await prompt(draft.chat);
      const before = telegram.shown(token, draft.chat).length;
      await answer(draft.chat, draft.question.id, { from: group });
      expect(telegram.shown(token, draft.chat)).to.have.length(before);
      await answer(draft.chat, id, { from: group });
      await until(async () => telegram.shown(token, draft.chat).length > before);
      expect(said(draft)).to.match(/Reply once more as yourself[^“]*“Remain anonymous” switched off\)\.$/);
      expect((await draftOf(draft.id)).changes_requested).to.equal(null);
    });

    it("in a channel, where nobody can answer by name, no text is asked for, and a draft is rejected without a reason", async () => {
      const draft = await asked();
      const answers = () => telegram.calls.filter(({ method }) => method === "answerCallbackQuery");
      for (const [label, says] of [
        [/^Ask for changes$/, /nobody can reply by name. Do this on the draft's page/],
        [/^Reject$/, /nobody can reply by name. Press “Reject without a reason”/],
      ] as const) {
        const { question: message, chat } = draft;
        await telegram.press(token, { chat, message, data: button(message, label), chatType: "channel" });
        expect(answers().at(-1)!.params.text).to.match(says);
        expect(answers().at(-1)!.params.show_alert).to.equal("true");
      }
      expect(telegram.shown(token, draft.chat).some(({ asksReply }) => asksReply)).to.equal(false);
      expect((await draftOf(draft.id)).status).to.equal("pending");
      const { chat } = draft;
      const message = nowAt(draft);
      await telegram.press(token, { chat, message, data: button(message, /without a reason/), chatType: "channel" });
      expect((await draftOf(draft.id)).status).to.equal("rejected");
    });
  });

  describe("presses that do not decide", () => {
    it("a press in another chat, message or bot, or with another button's token, decides nothing", async () => {
      const other = await asked({ bot_token: otherToken });
      const draft = await asked();
      const data = button(draft.question, /Approve/);
      const { question: message } = draft;
      await telegram.press(token, { chat: other.chat, message, data });
      await telegram.press(token, { chat: draft.chat, message: message.id + 1_000, data });
      await telegram.press(otherToken, { chat: draft.chat, message, data });
      await telegram.press(otherToken, { chat: other.chat, message: other.question, data });
      await telegram.press(token, { chat: draft.chat, message, data: data.replace("a:", "n:") });
      await telegram.press(token, { chat: draft.chat, message, data: button(message, /Reject/).replace("r:", "a:") });
      await telegram.press(token, { chat: draft.chat, message, data: data.replace("a:", "c:") });
      for (const nonsense of ["", "a:", "a:../x", `a:${"x".repeat(43)}`, "start", "a".repeat(64)]) {
        await telegram.press(token, { chat: draft.chat, message, data: nonsense });
      }
      const types = (await historyOf(draft.id)).map(({ type }) => type);
      expect([(await draftOf(draft.id)).status, types.includes("DraftApproved")]).to.deep.equal(["pending", false]);
      expect(nowAt(draft).buttons).to.have.length(3);
      expect((await draftOf(other.id)).status).to.equal("pending");
    });

    it("a channel with allowed users accepts only their presses, and the chat shows no link that decides", async () => {
      const draft = await asked({ allowed_users: "7,42" });
      for (const { text, entities } of telegram.shown(token, draft.chat)) {
        expect(text).not.to.contain("/a/");
        expect(entities.filter(({ type }) => type === "text_link")).to.deep.equal([]);
      }
      await press(draft, /Approve/, { userId: 43 });
      await press(draft, /^Reject$/, { userId: 43 });
      // A member's program can read a button's token.
      const page = { token: button(draft.question, /Approve/).slice(2), reason: undefined };
      const where = { ip: undefined, userAgent: undefined, requestId: undefined };
      const decisions = approvalDecisions(service.deps);
      for (const decision of ["approve", "reject"] as const) {
        expect(await decisions.decide({ ...page, ...where, decision })).to.deep.equal({ kind: "in_chat_only" });
      }
      expect(telegram.shown(token, draft.chat).some(({ asksReply }) => asksReply)).to.equal(false);
      expect((await draftOf(draft.id)).status).to.equal("pending");
      await press(draft, /Approve/, { userId: 42 });
      await draft.becomes("sent");
    });

    it("a question in a chat that the identity no longer names decides nothing", async () => {
      const draft = await asked();
      const approval_channel = channelOf({ bot_token: token, chat_id: String(chats--) });
      await tenant.ask(`PATCH /v1/identities/${draft.identity.id}`, { json: { approval_channel } });
      await press(draft, /Approve/);
      expect((await draftOf(draft.id)).status).to.equal("pending");
    });
  });

  describe("the webhook of Telegram", () => {
    const call = (bot: string, update: unknown, headers: Record<string, string> = {}) =>
      fetch(`${service.url}/hooks/telegram/${bot}`, {
        method: "POST",
        headers: { "Content-Type": "application/json", ...headers },
        body: typeof update === "string" ? update : JSON.stringify(update),
      });
    const secretOf = (bot: string) => ({ "X-Telegram-Bot-Api-Secret-Token": telegram.webhooks[bot]!.secret_token! });
    const pressOf = (
      draft: { chat: string; question: EmulatedMessage },
      label: RegExp,
      { id, user = 42 }: { id: number; user?: number },
    ) => ({
      update_id: id,
      callback_query: {
        id: String(id),
        from: { id: user, first_name: `User ${user}` },
        message: { message_id: draft.question.id, chat: { id: Number(draft.chat) } },
        data: button(draft.question, label),
      },
    });

    it("a call to a bot's webhook without the secret of that bot is refused", async () => {
      await asked({ bot_token: otherToken });
      const draft = await asked();
      const update = pressOf(draft, /Approve/, { id: 1 });
      await until(async () => telegram.webhooks[token] !== undefined && telegram.webhooks[otherToken] !== undefined);
      expect(secretOf(token)["X-Telegram-Bot-Api-Secret-Token"]).to.match(/^[\w-]{43}$/);
      const forged = [{}, secretOf(otherToken), { "X-Telegram-Bot-Api-Secret-Token": "x".repeat(43) }];
      for (const headers of forged) expect((await call("100001", update, headers)).status).to.equal(401);
      expect((await call("100003", update, secretOf(token))).status).to.equal(401);
      expect((await call("x", update)).status).to.equal(404);
      expect((await call("100002", update, secretOf(otherToken))).status).to.equal(200);
      expect((await draftOf(draft.id)).status).to.equal("pending");
      for (const body of [
        "",
        "null",
        "[]",
        "{",
        "{}",
        '{"update_id":1,"callback_query":{"data":7}}',
        '{"update_id":"1"}',
      ]) {
        expect((await call("100001", body, secretOf(token))).status, body).to.equal(200);
      }
      expect((await call("100001", `"${"x".repeat(300_000)}"`, secretOf(token))).status).to.equal(413);
      expect((await call("100001", update, secretOf(token))).status).to.equal(200);
      await draft.becomes("sent");
    });

    it("an update of Telegram that arrives six times makes one decision and one mail", async () => {
      const draft = await asked({ text: "Only once, please." });
      const update = pressOf(draft, /Approve/, { id: 2 });
      const answers = await Promise.all([1, 2, 3, 4, 5].map(() => call("100001", update, secretOf(token))));
      expect(answers.map(({ status }) => status)).to.deep.equal([200, 200, 200, 200, 200]);
      await draft.becomes("sent");
      expect((await call("100001", update, secretOf(token))).status).to.equal(200);
      const types = (await historyOf(draft.id)).map(({ type }) => type);
      expect(types.filter((type) => type === "DraftApproved")).to.have.length(1);
      const sent = (await service.outbox.newest(100)).filter(({ text }) => text?.includes("Only once, please."));
      expect(sent).to.have.length(1);
    });

    it("of two simultaneous presses in Telegram one decides", async () => {
      const draft = await asked();
      const reject = { ...pressOf(draft, /Reject/, { id: 4, user: 43 }) };
      reject.callback_query.data = reject.callback_query.data.replace("r:", "n:");
      await Promise.all(
        [pressOf(draft, /Approve/, { id: 3 }), reject].map((update) => call("100001", update, secretOf(token))),
      );
      await draft.becomes(({ status }) => ["sent", "rejected"].includes(status));
      const types = (await historyOf(draft.id)).map(({ type }) => type);
      expect(types.filter((type) => type === "DraftApproved" || type === "DraftRejected")).to.have.length(1);
    });
  });

  describe("groups that get another id", () => {
    it("a group that gets another id still decides by its buttons, and the identity has the new id", async () => {
      const draft = await asked();
      const to = -1_001_234_567_890;
      await telegram.tell(token, { chat: { id: Number(draft.chat) }, migrate_to_chat_id: to });
      const identity = async () => (await tenant.ask(`GET /v1/identities/${draft.identity.id}`)).json;
      await service.caughtUp();
      expect((await identity()).approval_channel.config.chat_id).to.equal(String(to));
      await telegram.press(token, {
        chat: String(to),
        message: draft.question,
        data: button(draft.question, /Approve/),
      });
      await draft.becomes("sent");
    });

    it("a question refused because its group got another id is asked in the new group", async () => {
      const to = "-1009876543210";
      const chat = String(chats--);
      const stop = telegram.answers(({ method, params }) =>
        method === "sendMessage" && params.chat_id === chat
          ? refused(400, "Bad Request: group chat was upgraded to a supergroup chat", {
              migrate_to_chat_id: Number(to),
            })
          : undefined,
      );
      const identity = await tenant.newIdentity({ approvalChannel: channelOf({ bot_token: token, chat_id: chat }) });
      const draft = await tenant.draft(await tenant.mail({ to: identity }));
      const question = await newQuestion(token, to);
      stop();
      await draft.asked();
      await press({ chat: to, question }, /Approve/);
      await draft.becomes("sent");
    });
  });

  describe("bots of Telegram", () => {
    const own = botToken(100_010);
    const told = (method: string) => telegram.calls.filter((call) => call.token === own && call.method === method);

    it("a shared bot is registered once, and its webhook is deleted with the last identity that names it", async () => {
      const named = () => tenant.newIdentity({ approvalChannel: channelOf({ bot_token: own, chat_id: "5" }) });
      const first = await named();
      await until(async () => told("setWebhook").length === 1);
      const second = await named();
      const { url, secret_token = "", allowed_updates = "[]" } = told("setWebhook")[0]!.params;
      expect(url).to.equal(`${service.deps.settings.publicUrl}/hooks/telegram/100010`);
      expect(secret_token)
        .to.match(/^[\w-]{43}$/)
        .and.not.equal(telegram.webhooks[token]?.secret_token);
      expect(JSON.parse(allowed_updates)).to.have.members(["callback_query", "message"]);
      const uses = async () => (await postgresBotRegistry(service.database).find("100010"))?.uses.length;
      await until(async () => (await uses()) === 2);
      await tenant.ask(`DELETE /v1/identities/${first.id}`);
      await until(async () => (await uses()) === 1);
      service.clock.advance(61_000);
      expect(told("deleteWebhook")).to.have.length(0);
      const approval_channel = { type: "email", config: { to: "ann@approvers.example" } };
      await tenant.ask(`PATCH /v1/identities/${second.id}`, { json: { approval_channel } });
      await until(async () => (await postgresBotRegistry(service.database).find("100010")) === undefined);
      expect([told("setWebhook").length, told("deleteWebhook").length]).to.deep.equal([1, 1]);
    });

    it("a bot works although other identities name false tokens with the same bot id", async () => {
      const real = botToken(100_020);
      const false_ = (n: number) => `100020:${String(n).repeat(35)}`;
      const stop = telegram.answers(({ token: by }) =>
        by.startsWith("100020:") && by !== real ? refused(401, "Unauthorized") : undefined,
      );
      const other = await service.workspace();
      for (const n of [1, 2, 3]) {
        const approvalChannel = channelOf({ bot_token: false_(n), chat_id: "-1" });
        await service.identity(other.id, { approvalChannel });
      }
      const draft = await asked({ bot_token: real });
      await until(async () => telegram.webhooks[real] !== undefined);
      await press(draft, /^Reject$/, { userId: 42 });
      await until(async () => telegram.shown(real, draft.chat).some(({ asksReply }) => asksReply));
      const to = telegram.shown(real, draft.chat).findLast(({ asksReply }) => asksReply)!.id;
      await telegram.reply(real, { chat: draft.chat, to, text: "No.", by: { userId: 42 } });
      await draft.becomes("rejected");
      expect(telegram.shown(real, draft.chat).at(-1)!.text).to.match(/^Rejected/);
      stop();
    });

    it("a blocked bot is shown on the draft as failed at once, and a temporary fault is retried", async () => {
      const pending = async (chat: string) => {
        const identity = await tenant.newIdentity({ approvalChannel: channelOf({ bot_token: own, chat_id: chat }) });
        return (await tenant.draft(await tenant.mail({ to: identity }))).id;
      };
      const statusOf = async (id: string) => (await draftOf(id)).notification_status;
      const down: BotCallAnswer[] = [{ status: 502, body: "<html>Bad Gateway</html>" }];
      const stop = telegram.answers(({ method, params }) => {
        if (method !== "sendMessage") return undefined;
        if (params.chat_id === "601") return refused(403, "Forbidden: bot was blocked by the user");
        if (params.chat_id === "603") return refused(400, "Bad Request: TOPIC_CLOSED");
        return params.chat_id === "602" ? down.shift() : undefined;
      });
      const blocked = await pending("601");
      await until(async () => (await statusOf(blocked)).state === "failed");
      expect((await statusOf(blocked)).error)
        .to.contain("blocked")
        .and.not.contain("Forbidden");
      const closed = await pending("603");
      await until(async () => (await statusOf(closed)).state === "failed");
      expect((await statusOf(closed)).error).to.equal(
        "Telegram: Telegram refused the call (400): “Bad Request: TOPIC_CLOSED”",
      );
      const later = await pending("602");
      await until(async () => (await statusOf(later)).state === "retrying");
      await until(async () => {
        service.clock.advance(1_000);
        return (await statusOf(later)).state === "sent";
      });
      stop();
    });
  });

  describe("rules that notify Telegram", () => {
    /** Makes a rule that notifies a chat, delivers a mail; returns the outcome of the rule's action. */
    async function told(config: { bot_token: string; chat_id: string }, name = "Tell") {
      const identity = await tenant.newIdentity();
      const actions = [{ type: "notify_channel", channel: "telegram", config }];
      const rule = { name, identity_id: identity.id, trigger_event: "email.received", actions };
      const made = await tenant.ask("POST /v1/rules", { json: rule });
      expect(made.status, made.text).to.equal(200);
      const subject = "=?utf-8?B?PGI+SGVscDwvYj7igK4gQGVtaWx5IC9zdGFydCBldmlsLmV4YW1wbGUg?=";
      await tenant.mail({ to: identity, subject });
      const action = async () =>
        (await tenant.ask(`GET /v1/rules/${made.json.id}/evaluations`)).json.data[0]?.actions[0];
      await until(async () => ((await action())?.outcome ?? "pending") !== "pending");
      return action();
    }

    it("a rule posts plain lines in Telegram without links, mentions or hidden characters [4 action notify_channel]", async () => {
      const chat = String(chats--);
      expect(await told({ bot_token: token, chat_id: chat }, "*Ring* @ada")).to.include({ outcome: "done" });
      const posts = telegram.shown(token, chat);
      expect(posts).to.have.length(1);
      const [{ text, entities, buttons } = posts[0]!] = posts;
      expect(text).to.match(/^A rule of your workspace matched the event email/);
      expect(text).to.contain("“*Ring* @\u200cada”").and.contain("“<b>Help</b>[U+202E] @\u200cemily /\u200cstart ");
      expect(text).not.to.contain("evil.example").and.not.to.contain("ann@customer");
      expect([entities, buttons]).to.deep.equal([[], []]);
    });

    it("a rule whose Telegram chat cannot be reached says why, without the token", async () => {
      const stop = telegram.answers(({ params }) =>
        params.chat_id === "-77" ? refused(403, `Forbidden: bot was kicked from ${token}`) : undefined,
      );
      const action = await told({ bot_token: token, chat_id: "-77" });
      stop();
      expect(action).to.deep.include({
        outcome: "refused",
        reason:
          "Telegram: the bot may not write in this chat: add it to the group again, with the right to send messages (403)",
      });
      const other = telegram.answers(({ params }) =>
        params.chat_id === "-79" ? refused(400, `Bad Request: CHAT_RESTRICTED for ${token}`) : undefined,
      );
      const restricted = await told({ bot_token: token, chat_id: "-79" });
      other();
      expect(restricted.reason).to.equal(
        "Telegram: Telegram refused the call (400): “Bad Request: CHAT_RESTRICTED for […]”",
      );
    });
  });

  describe("questions that expire", () => {
    it("a question that nobody decided about loses its buttons when they expire, and is asked once more", async () => {
      const draft = await asked();
      const data = button(draft.question, /Approve/);
      const expired = /^These buttons have expired\. Nothing was decided\. .* under Review\.$/;
      const [hour, pressed] = [3_600_000, telegram.calls.length];
      service.clock.advance(72 * hour);
      const second = await newQuestion(token, draft.chat, draft.question.id);
      await until(async () => nowAt(draft).buttons.length === 0);
      expect(nowAt(draft).text).to.match(/These buttons have expired, .* UTC\. Nothing was decided/);
      expect(nowAt(draft).text).to.include("decide in the console under Review");
      // A client may still show the buttons.
      await telegram.press(token, { chat: draft.chat, message: draft.question, data });
      const toasts = telegram.calls.slice(pressed).flatMap(({ params }) => params.text ?? "");
      expect(toasts.filter((text) => expired.test(text))).to.have.length(1);
      expect(await draftOf(draft.id)).to.include({ status: "pending" });
      await until(async () => (await draftOf(draft.id)).notification_status.state === "sent");
      service.clock.advance(72 * hour);
      await draft.becomes(({ notification_status }) => notification_status.state === "expired");
      await until(async () => nowAt({ ...draft, question: second }).buttons.length === 0);
      expect((await draft.ask("POST notify")).status).to.equal(200);
      const third = await newQuestion(token, draft.chat, second.id);
      await press({ chat: draft.chat, question: third }, /Approve/);
      await draft.becomes("sent");
      // The outcome replaces what the expired questions said.
      await until(async () => /Approved by .*Sent/s.test(nowAt(draft).text));
    });
  });

  describe("secrets of Telegram", () => {
    it("secrets of Telegram are not in the log, events, answers or metrics", async () => {
      const secrets = [token, otherToken, ...Object.values(telegram.webhooks).map(({ secret_token }) => secret_token!)];
      const { rows } = await service.database.reads.ofAll.query("select data::text, metadata::text from es.events");
      const answers = await Promise.all(
        ["/v1/identities?limit=100", "/v1/drafts?limit=100", "/v1/events?limit=100"].map((path) =>
          tenant.ask(`GET ${path}`),
        ),
      );
      const metrics = await (await fetch(`${service.url}/metrics`)).text();
      const everything = [JSON.stringify(rows), logged.join(""), metrics, ...answers.map(({ text }) => text)].join(
        "\n",
      );
      expect(everything.length).to.be.above(100_000);
      expect(everything, "forged calls are no fault of ours").not.to.contain("request handler failed");
      expect(secrets.filter((secret) => secret && everything.includes(secret))).to.deep.equal([]);
      const tokens = telegram.calls.flatMap(({ params }) => [...JSON.stringify(params).matchAll(/[ar]:([\w-]{43})/g)]);
      expect(tokens.length).to.be.above(10);
      expect(tokens.filter(([, each]) => everything.includes(each as string))).to.deep.equal([]);
    });
  });
});
