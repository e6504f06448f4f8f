import { expect } from "chai";
import type { NewIdentity } from "#src/commands/identities/identities.ts";
import { type InProcess, until } from "#test/support/inProcess.ts";
import { type StoryTenant, startStory } from "#test/support/story/story.ts";
import {
  botToken,
  type EmulatedMessage,
  startTelegram,
  type Telegram,
  type TelegramPerson,
} from "#test/support/telegram/emulator.ts";
import { freePort } from "../../../scripts/support/freePort.ts";

const token = botToken(100_001);
const draftText = "It arives tomorow.";
const newText = "It arrives tomorrow.\n\nRegards";
const zoe = { userId: 42, firstName: "Zoë" };
const eve = { userId: 43, firstName: "Eve" };

describe("approvers who edit in Telegram", () => {
  let telegram: Telegram;
  let service: InProcess;
  let tenant: StoryTenant;
  let chats = -1000;

  before(async () => {
    telegram = await startTelegram();
    const port = String(await freePort());
    const settings = { PORT: port, PUBLIC_URL: `http://127.0.0.1:${port}`, TELEGRAM_MODE: "webhook" };
    ({ service, tenant } = await startStory({ ...settings, TELEGRAM_API_ROOT: telegram.apiRoot }));
  });
  after(async () => {
    await service?.stop();
    await telegram?.stop();
  });

  /** Submits a draft to a new identity with a new chat; returns it with the question in that chat. */
  async function asked(
    content: object = { body_text: draftText },
    { allowedUsers, ...more }: Partial<NewIdentity> & { allowedUsers?: string } = {},
  ) {
    const chat = String(chats--);
    const config = { bot_token: token, chat_id: chat, ...(allowedUsers && { allowed_users: allowedUsers }) };
    const approvalChannel = { type: "telegram" as const, config };
    const identity = await tenant.newIdentity({ approvalChannel, editByChannel: true, ...more });
    const draft = await tenant.draft(await tenant.mail({ to: identity, subject: "My order" }), content);
    await draft.asked();
    const question = await newest(chat, ({ buttons }) => buttons.length > 0);
    return { draft, identity, chat, question };
  }
  async function newest(chat: string, is: (message: EmulatedMessage) => boolean, after = 0): Promise<EmulatedMessage> {
    const found = () => telegram.shown(token, chat).findLast((message) => message.id > after && is(message));
    await until(async () => found() !== undefined);
    return found()!;
  }
  const dataOf = ({ buttons }: EmulatedMessage, label: RegExp) =>
    buttons.find(({ text }) => label.test(text))?.callback_data ?? "";
  type Asked = Awaited<ReturnType<typeof asked>>;
  const pressEdit = async ({ chat, question }: Asked, by: TelegramPerson = zoe) => {
    await telegram.press(token, { chat, message: question, data: dataOf(question, /^Edit$/), by });
    return newest(chat, ({ asksReply }) => asksReply, question.id);
  };
  const reply = (to: EmulatedMessage, text: string, by: TelegramPerson = zoe) =>
    telegram.reply(token, { chat: to.chat, to: to.id, text, by });
  const isPreview = (message: EmulatedMessage) => message.buttons.some(({ text }) => text === "Cancel");
  /** Presses Edit and replies; returns the message with the buttons of the preview. */
  async function previewed(of: Asked, text = newText) {
    const prompt = await pressEdit(of);
    await reply(prompt, text);
    return newest(of.chat, isPreview, prompt.id);
  }
  const press = (
    { chat }: Asked,
    preview: EmulatedMessage,
    {
      label = /^Send this$/,
      by = zoe,
      answered = newText,
    }: { label?: RegExp; by?: TelegramPerson; answered?: string } = {},
  ) => telegram.press(token, { chat, message: preview, data: dataOf(preview, label), by, answered });
  const untouched = async ({ draft }: Asked) => {
    await service.caughtUp();
    const { status, version } = await draft.read();
    expect({ status, version }).to.deep.equal({ status: "pending", version: 1 });
  };
  const toasts = () =>
    telegram.calls.filter(({ method }) => method === "answerCallbackQuery").map(({ params }) => params.text ?? "");
  const textIn = (chat: string) =>
    telegram
      .shown(token, chat)
      .map(({ text }) => text)
      .join("\n")
      .replaceAll("\u200c", "");

  it("Edit asks for the text, shows what changes, and the last press sends exactly that", async () => {
    const of = await asked();
    expect(of.question.buttons.map(({ text }) => text)).to.deep.equal([
      ...["Approve & send", "Reject", "Edit", "Ask for changes"],
    ]);
    const prompt = await pressEdit(of);
    const copy = telegram.shown(token, of.chat).find(({ text }) => text === draftText);
    expect(copy?.entities.map(({ type }) => type)).to.deep.equal(["pre"]);
    await reply(prompt, newText);
    const preview = await newest(of.chat, isPreview, prompt.id);
    expect(preview.text).to.include("not saved yet");
    expect(textIn(of.chat)).to.include("What changed since version 1").and.to.include("It arrives tomorrow.");
    await untouched(of);
    await press(of, preview);
    const sent = await of.draft.becomes("sent");
    expect(sent).to.include({ version: 2, body_text: newText, subject: of.draft.json.subject });
    expect(sent.decided_by).to.deep.include({ kind: "telegram", id: "42", name: "Zoë", version: 2 });
    await until(async () => /Edited and approved by .*Zoë/.test(textIn(of.chat)));
    // The same press again sends nothing more.
    await press(of, preview);
    const types = (await of.draft.history()).map(({ type }) => type);
    for (const type of ["DraftEdited", "DraftApproved", "DraftSent"])
      expect(
        types.filter((each) => each === type),
        type,
      ).to.have.length(1);
  });

  it("a first line “Subject: …” changes the subject too", async () => {
    const of = await asked();
    const answered = `Subject: Your parcel\n\n${newText}`;
    const preview = await previewed(of, answered);
    await press(of, preview, { answered });
    expect(await of.draft.becomes("sent")).to.include({ subject: "Your parcel", body_text: newText });
  });

  it("an edit by an anonymous administrator must come by name, and in a channel Edit leads elsewhere", async () => {
    const of = await asked();
    const prompt = await pressEdit(of);
    await telegram.tell(token, {
      ...{ message_id: 9_000, from: { id: 1_087_968_824, is_bot: true }, sender_chat: { id: Number(of.chat) } },
      ...{
        chat: { id: Number(of.chat), type: "supergroup" },
        text: newText,
        reply_to_message: { message_id: prompt.id },
      },
    });
    await newest(of.chat, ({ text }) => /Reply once more as yourself/.test(text), prompt.id);
    expect(telegram.shown(token, of.chat).some(isPreview)).to.equal(false);
    await reply(prompt, newText);
    await newest(of.chat, isPreview, prompt.id);
    const { chat, question } = await asked();
    await telegram.press(token, { chat, message: question, data: dataOf(question, /^Edit$/), chatType: "channel" });
    expect(toasts().at(-1)).to.match(/nobody can reply by name. Do this on the draft's page/);
    expect(telegram.shown(token, chat).some(({ asksReply }) => asksReply)).to.equal(false);
  });

  it("only a reply to the prompt, by the person who pressed Edit, is an edit", async () => {
    const of = await asked();
    const prompt = await pressEdit(of);
    await reply(prompt, newText, eve);
    await reply(of.question, newText);
    await telegram.tell(token, {
      message_id: 9_000,
      from: { id: 42 },
      chat: { id: Number(of.chat) },
      text: newText,
    });
    await service.caughtUp();
    expect(telegram.shown(token, of.chat).some(isPreview)).to.equal(false);
    const unchanged = await reply(prompt, draftText).then(() =>
      newest(of.chat, ({ text }) => text.includes("Nothing is changed yet"), prompt.id),
    );
    expect(unchanged.buttons).to.deep.equal([]);
    await untouched(of);
  });

  it("a preview is sent by its author only, and only with the text that it showed", async () => {
    const of = await asked();
    const preview = await previewed(of);
    await press(of, preview, { by: eve });
    expect(toasts().at(-1)).to.include("Only the person who wrote this edit");
    // The person changed the message after the preview, or deleted it.
    await press(of, preview, { answered: "Pay to another account." });
    expect(toasts().at(-1)).to.include("not the one that you were shown");
    await telegram.press(token, { chat: of.chat, message: preview, data: dataOf(preview, /^Send/), by: zoe });
    expect(toasts().at(-1)).to.include("is gone");
    await untouched(of);
    await press(of, preview);
    expect((await of.draft.becomes("sent")).body_text).to.equal(newText);
  });

  it("Cancel sends nothing, and ends the preview", async () => {
    const of = await asked();
    const preview = await previewed(of);
    await press(of, preview, { label: /^Cancel$/ });
    await press(of, preview);
    await untouched(of);
    expect(telegram.shown(token, of.chat).find(({ id }) => id === preview.id)?.buttons).to.deep.equal([]);
  });

  it("forged buttons edit nothing: other messages, other chats, other drafts", async () => {
    const [one, two] = [await asked(), await asked()];
    const preview = await previewed(one);
    const data = dataOf(preview, /^Send/);
    const strange = data.replace(/:.*/, dataOf(two.question, /^Edit$/).slice(1));
    for (const [what, pressed] of Object.entries({
      "under the question": { chat: one.chat, message: one.question, data },
      "in another chat": { chat: two.chat, message: preview, data },
      "another draft's token": { chat: one.chat, message: preview, data: strange },
      "the token to reject": {
        ...{ chat: one.chat, message: preview },
        data: data.replace(/:.*/, dataOf(one.question, /^Reject$/).slice(1)),
      },
    })) {
      await telegram.press(token, { ...pressed, by: zoe, answered: newText });
      await service.caughtUp();
      expect((await one.draft.read()).version, what).to.equal(1);
    }
    // The token to reject opens no edit.
    const reject = dataOf(one.question, /^Reject$/).replace(/^r/, "e");
    await telegram.press(token, { chat: one.chat, message: one.question, data: reject, by: zoe });
    expect(toasts().at(-1)).to.include("does not exist any more");
    await untouched(one);
    await untouched(two);
  });

  it("only the allowed users edit", async () => {
    const of = await asked(undefined, { allowedUsers: "42" });
    await telegram.press(token, { chat: of.chat, message: of.question, data: dataOf(of.question, /^Edit$/), by: eve });
    expect(toasts().at(-1)).to.include("You may not decide");
    const preview = await previewed(of);
    await tenant.ask(`PATCH /v1/identities/${of.identity.id}`, {
      json: {
        approval_channel: { type: "telegram", config: { bot_token: token, chat_id: of.chat, allowed_users: "43" } },
      },
    });
    await press(of, preview);
    await untouched(of);
  });

  it("while the setting is off there is no button, and no press and no reply edits", async () => {
    const of = await asked();
    const preview = await previewed(of);
    const prompt = await newest(of.chat, ({ asksReply }) => asksReply);
    await tenant.ask(`PATCH /v1/identities/${of.identity.id}`, { json: { edit_by_channel: false } });
    await press(of, preview);
    expect(toasts().at(-1)).to.include("cannot edit the drafts of this address");
    await reply(prompt, newText);
    await newest(of.chat, ({ text }) => text.includes("cannot edit the drafts of this address"), preview.id);
    await telegram.press(token, { chat: of.chat, message: of.question, data: dataOf(of.question, /^Edit$/), by: zoe });
    expect(toasts().at(-1)).to.include("cannot edit the drafts of this address");
    await untouched(of);
    const off = await asked(undefined, { editByChannel: false });
    expect(off.question.buttons.map(({ text }) => text)).not.to.include("Edit");
  });

  it("an HTML draft and a long one cannot be edited in the chat", async () => {
    for (const content of [{ body_html: "<p>It <b>arives</b>.</p>" }, { body_text: "x ".repeat(2_100) }]) {
      const of = await asked(content);
      expect(dataOf(of.question, /^Edit$/)).to.equal("");
      const forged = dataOf(of.question, /^Approve/).replace(/^a/, "e");
      await telegram.press(token, { chat: of.chat, message: of.question, data: forged, by: zoe });
      expect(toasts().at(-1)).to.include("formatted text or is too long");
      await untouched(of);
    }
  });

  it("a draft that the agent changed, or that was approved, is not edited by an old preview", async () => {
    const of = await asked();
    const preview = await previewed(of);
    await of.draft.edit({ body_text: "The agent wrote anew." });
    await press(of, preview);
    expect((await of.draft.read()).body_text).to.equal("The agent wrote anew.");
    const other = await asked();
    const ready = await previewed(other);
    await Promise.all([
      press(other, ready),
      telegram.press(token, {
        ...{ chat: other.chat, message: other.question },
        ...{ data: dataOf(other.question, /^Approve/), by: eve },
      }),
    ]);
    const sent = await other.draft.becomes("sent");
    const approvals = (await other.draft.history()).filter(({ type }) => type === "DraftApproved");
    expect(approvals).to.have.length(1);
    expect(sent.body_text).to.equal(approvals[0].data.version === 2 ? newText : draftText);
  });
});
