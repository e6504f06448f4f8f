import { expect } from "chai";
import type { ChannelRequest } from "#src/channels/channel.ts";
import { telegramBots } from "#src/channels/telegram/botApi.ts";
import { telegramChannel } from "#src/channels/telegram/telegramChannel.ts";
import { botToken } from "#test/support/telegram/emulator.ts";
import { type BotCallAnswer, refused, startFront } from "#test/support/telegram/front.ts";
import { carded, ordinary } from "../email/examples.ts";

const token = botToken(300_001);
const request: ChannelRequest = {
  channel: { type: "telegram", config: { bot_token: token, chat_id: "-5" } },
  view: carded(ordinary),
  tokens: { approve: "A".repeat(43), reject: "R".repeat(43) },
  links: { approve: "https://mail.example.com/a/A?d=approve", reject: "https://mail.example.com/a/R?d=reject" },
  workspaceId: "w",
  origin: { identityId: "i", threadId: "t", attemptId: "n" },
};
const sent = (id: number): BotCallAnswer => ({ body: { ok: true, result: { message_id: id, chat: { id: -5 } } } });

describe("a Telegram channel", () => {
  let front: Awaited<ReturnType<typeof startFront>>;
  before(async () => {
    front = await startFront();
  });
  after(() => front.stop());

  /** Asks while the Bot API gives these answers in turn, the last one repeatedly. Returns the result and the calls. */
  async function asking(...answers: BotCallAnswer[]) {
    const from = front.calls.length;
    const stop = front.answers(() => (answers.length > 1 ? answers.shift() : answers[0]));
    const channel = telegramChannel({
      bots: telegramBots({ apiRoot: front.url, callMs: answers[0]?.hangs ? 250 : 10_000 }),
    });
    const answer = await channel.ask(request).finally(stop);
    return { answer, calls: front.calls.slice(from) };
  }

  it("the Telegram channel returns the chat and all messages of a question, the last of which has the buttons", async () => {
    const { answer, calls } = await asking(sent(7), sent(8));
    expect(answer).to.deep.equal({ reached: true, message: { chat: "-5", ids: ["7", "8"] } });
    expect(calls.map(({ params }) => params.reply_markup !== undefined)).to.deep.equal([false, true]);
    expect(calls.map(({ params }) => params.disable_notification)).to.deep.equal(["true", undefined]);
    for (const { params } of calls)
      expect(JSON.parse(params.link_preview_options!)).to.deep.equal({ is_disabled: true });
  });

  const cases: [what: string, answer: BotCallAnswer, again: boolean, says: RegExp][] = [
    ["a bot that was blocked", refused(403, "Forbidden: bot was blocked by the user"), false, /blocked the bot/],
    [
      "a bot that was removed",
      refused(403, "Forbidden: bot was kicked from the supergroup chat"),
      false,
      /may not write/,
    ],
    ["a chat that does not exist", refused(400, "Bad Request: chat not found"), false, /cannot find the chat/],
    ["a token that was revoked", refused(401, "Unauthorized"), false, /has no bot with this bot_token/],
    ["a bot that does not exist", refused(404, "Not Found"), false, /has no bot with this bot_token/],
    [
      "any other refusal",
      refused(400, `Bad Request: ${token}`),
      false,
      /refused the call \(400\): “Bad Request: \[…\]”$/,
    ],
    ["a topic that is closed", refused(400, "Bad Request: TOPIC_CLOSED"), false, /: “Bad Request: TOPIC_CLOSED”$/],
    [
      "a refusal that quotes the call",
      refused(400, `Bad Request: bad webhook https://api.telegram.org/bot${token}/x\nsee\u202e ${token.split(":")[1]}`),
      false,
      /: “Bad Request: bad webhook \[…\] see\[U\+202E\] \[…\]”$/,
    ],
    ["a refusal of many words", refused(400, "word ".repeat(700)), false, /“(word ){39}word…”$/],
    ["a refusal of 10,000 words", refused(400, "word ".repeat(10_000)), false, /refused the call \(400\)$/],
    ["a refusal without words", refused(400, " "), false, /refused the call \(400\)$/],
    ["a refusal as a number", { status: 400, body: { ok: false, error_code: 400, description: 7 } }, false, /\(400\)$/],
    ["an error of Telegram's", refused(500, "Internal Server Error"), true, /500/],
    ["an HTML error page", { status: 502, body: "<html>Bad Gateway</html>" }, true, /cannot be reached/],
    ["HTML with status 200", { status: 200, body: "<html>" }, true, /cannot be read/],
    ["an answer of null", { body: "null" }, true, /cannot be read/],
    ["an answer without chat and message", { body: { ok: true, result: true } }, true, /cannot be read/],
    ["an answer of 10 MB", { body: `{"ok":true,"x":"${"x".repeat(10_000_000)}"}` }, true, /cannot be reached/],
    ["a missing answer", { hangs: true }, true, /in time/],
  ];
  for (const [what, answer, again, says] of cases) {
    it(`the Telegram channel reports ${what} as an error that ${again ? "is retried" : "is not retried"}`, async () => {
      const { answer: said } = await asking(answer);
      expect(said).to.include({ reached: false, again });
      expect((said as { error: string }).error)
        .to.match(says)
        .and.not.contain(token.split(":")[1]);
    });
  }

  it("the Telegram channel waits for a short pause that Telegram asks for, and returns a long one, at most an hour", async () => {
    const long = await asking(refused(429, "Too Many Requests", { retry_after: 40 }));
    expect(long.answer).to.include({ reached: false, again: true, inMs: 40_000 });
    for (const retry_after of [1e7, 1e300]) {
      const endless = await asking(refused(429, "Too Many Requests", { retry_after }));
      expect(endless.answer).to.include({ again: true, inMs: 3_600_000 });
    }
    const short = await asking(refused(429, "Too Many Requests", { retry_after: 1 }), sent(7));
    expect(short.answer).to.include({ reached: true });
  });

  it("the Telegram channel asks in the new chat of a group that got another id, and returns it", async () => {
    const moved = refused(400, "Bad Request: group chat was upgraded", { migrate_to_chat_id: -100_5 });
    const { answer, calls } = await asking(moved, {
      body: { ok: true, result: { message_id: 1, chat: { id: -100_5 } } },
    });
    expect(answer).to.deep.equal({ reached: true, message: { chat: "-1005", ids: ["1", "1"] }, movedTo: "-1005" });
    expect(calls.map(({ params }) => params.chat_id)).to.deep.equal(["-5", "-1005", "-1005"]);
  });

  it("the Telegram channel replaces the question by its outcome, and succeeds if that is done or the message gone", async () => {
    const channel = telegramChannel({ bots: telegramBots({ apiRoot: front.url, callMs: 10_000 }) });
    const said = { sentence: "Approved by “<b>Zoë</b>”.", threadSubject: "My order", workspaceId: "w" };
    const conclude = (answer: BotCallAnswer) => {
      const stop = front.answers(() => answer);
      return channel.conclude!({ channel: request.channel, message: { chat: "-5", ids: ["7", "8"] }, ...said }).finally(
        stop,
      );
    };
    expect(await conclude({ body: { ok: true, result: true } })).to.deep.equal({ reached: true });
    const { method, params } = front.calls.at(-1)!;
    expect([method, params.message_id, params.reply_markup]).to.deep.equal([
      "editMessageText",
      "8",
      '{"inline_keyboard":[]}',
    ]);
    expect(params.text).to.contain("<b>Zoë</b>");
    for (const description of ["Bad Request: message is not modified", "Bad Request: message to edit not found"]) {
      expect(await conclude(refused(400, description))).to.deep.equal({ reached: true });
    }
    expect(await conclude(refused(403, "Forbidden: bot was kicked"))).to.include({ reached: false, again: false });
    expect(await conclude({ status: 503 })).to.include({ reached: false, again: true });
  });
});
