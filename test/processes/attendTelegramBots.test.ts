import { expect } from "chai";
import { type InProcess, mail, startInProcess, until, type Workspace } from "#test/support/inProcess.ts";
import { botToken, startTelegram, type Telegram } from "#test/support/telegram/emulator.ts";
import { refused } from "#test/support/telegram/front.ts";

const token = botToken(200_001);
const chat = "-77";

describe("updates fetched from Telegram, where Telegram cannot call the service", () => {
  let telegram: Telegram;
  let service: InProcess;
  let workspace: Workspace;
  before(async () => {
    telegram = await startTelegram();
    service = await startInProcess({ TELEGRAM_API_ROOT: telegram.apiRoot });
    workspace = await service.workspace();
  });
  after(async () => {
    await service?.stop();
    await telegram?.stop();
  });

  const fetches = () => telegram.calls.filter(({ method }) => method === "getUpdates");

  it("a Telegram button pressed twice decides once, although fetching fails in between", async () => {
    let away = 2;
    // An old webhook makes fetching fail.
    telegram.answers(({ method }) =>
      method === "getUpdates" && away-- > 0 ? refused(409, "Conflict: webhook") : undefined,
    );
    const approvalChannel = { type: "telegram" as const, config: { bot_token: token, chat_id: chat } };
    const identity = await service.identity(workspace.id, { approvalChannel });
    await service.deliver(identity.address, mail({ id: "m1@x.example" }));
    const thread = (await workspace.ask(`GET /v1/threads?identity_id=${identity.id}`)).json.data[0];
    const { messages } = (await workspace.ask(`GET /v1/threads/${thread.id}`)).json;
    const based = { thread_id: thread.id, identity_id: identity.id, based_on_message_id: messages[0].id };
    const { json } = await workspace.ask("POST /v1/drafts", { json: { ...based, body_text: "It arrives tomorrow." } });
    await until(async () => telegram.question(token, chat) !== undefined);
    const question = telegram.question(token, chat)!;
    // Telegram refuses messages with a button that links to a private address.
    expect(question.buttons.filter(({ url }) => url !== undefined)).to.deep.equal([]);
    expect(question.text).to.contain("http://localhost:8080/a/");
    const [approve] = question.buttons;
    await telegram.press(token, { chat, message: question, data: approve!.callback_data! });
    await telegram.press(token, { chat, message: question, data: approve!.callback_data! });
    await until(async () => {
      service.clock.advance(2_000);
      await service.caughtUp();
      return (await workspace.ask(`GET /v1/drafts/${json.id}`)).json.status === "sent";
    });
    expect(telegram.calls.filter(({ method }) => method === "setWebhook")).to.deep.equal([]);
    expect(telegram.calls.filter(({ method }) => method === "deleteWebhook")).to.have.length(1);
    const { data } = (await workspace.ask(`GET /v1/drafts/${json.id}/history?limit=100`)).json;
    expect(data.filter(({ type }: any) => type === "DraftApproved")).to.have.length(1);
    expect(telegram.shown(token, chat).find(({ id }) => id === question.id)!.buttons).to.deep.equal([]);
  });

  it("a token that Telegram refuses does not keep updates from other identities with the same bot", async () => {
    const live = botToken(200_002);
    const dead = ["x", "y", "z"].map((letter) => `200002:${letter.repeat(35)}`);
    telegram.answers(({ token: shown }) => (dead.includes(shown) ? refused(401, "Unauthorized") : undefined));
    const stranger = await service.workspace();
    const named = (by: Workspace, bot_token: string) =>
      service.identity(by.id, {
        approvalChannel: { type: "telegram" as const, config: { bot_token, chat_id: "-78" } },
      });
    for (const bot_token of dead) await named(stranger, bot_token);
    await named(workspace, live);
    await until(async () => {
      service.clock.advance(2_000);
      return fetches().filter((call) => call.token === live).length > 1;
    });
  });

  it("a handled Telegram update is confirmed once, and later requests name no old offset", async () => {
    const before = fetches().length;
    await until(async () => {
      service.clock.advance(2_000);
      return fetches().length > before + 2;
    });
    const offsets = fetches().map(({ params }) => params.offset);
    expect(offsets.filter((offset) => offset !== undefined)).not.to.have.length(0);
    expect(offsets.at(-1)).to.equal(undefined);
  });
});
