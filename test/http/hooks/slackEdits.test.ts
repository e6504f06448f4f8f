import { expect } from "chai";
import type { NewIdentity } from "#src/commands/identities/identities.ts";
import { type InProcess, until } from "#test/support/inProcess.ts";
import {
  botToken,
  buttonsOf,
  pressOf,
  signedCall,
  startSlack,
  submissionOf,
  type TestSlack,
  user,
} from "#test/support/slack/slack.ts";
import type { StoryDraft } from "#test/support/story/draft.ts";
import { type StoryTenant, startStory } from "#test/support/story/story.ts";

const secret = "8f742231b10e8888abcd99yyyzzz85a5";
const draftText = "It arives tomorow.";
const edit = { subject: "Your parcel", text: "It arrives tomorrow.\n\nRegards" };

describe("an approver who edits in Slack", () => {
  let slack: TestSlack;
  let service: InProcess;
  let tenant: StoryTenant;
  let cases = 0;
  before(async () => {
    slack = await startSlack();
    ({ service, tenant } = await startStory({
      SLACK_ALLOWED_HOSTS: `hooks.slack.com,${slack.host}`,
      WEBHOOK_ALLOWED_HOSTS: slack.host,
      SLACK_SIGNING_SECRET: secret,
    }));
  });
  after(async () => {
    await service.stop();
    await slack.stop();
  });
  beforeEach(() => {
    cases += 1;
    slack.requests.length = 0;
  });

  const byBot = (more: Record<string, string> = {}) => ({
    type: "slack" as const,
    config: { webhook_url: slack.webhookUrl, bot_token: botToken, channel: slack.channel.approvals, ...more },
  });
  async function asked(more: Partial<NewIdentity> = {}, content: object = { body_text: draftText }) {
    const identity = await tenant.newIdentity({ approvalChannel: byBot(), editByChannel: true, ...more });
    const draft = await tenant.draft(await tenant.mail({ to: identity }), content);
    await draft.asked();
    const channel = (more.approvalChannel ?? byBot()).config.channel ? "approvals" : "general";
    const message = (await slack.history(slack.channel[channel])).at(-1);
    return { identity, draft, message };
  }
  const sendSigned = (payload: object, by = secret) => {
    const { body, headers } = signedCall(payload, by, service.clock.now());
    return fetch(`${service.url}/hooks/slack/interactions`, { method: "POST", body, headers });
  };
  const responses = () => slack.requests.filter(({ path }) => path === `/response/${cases}`);
  const press = async (message: any, actionId: string, more: Record<string, unknown> = {}) =>
    sendSigned(
      pressOf(message, actionId, {
        response_url: `${slack.url}/response/${cases}`,
        channel: { id: slack.channel.approvals },
        trigger_id: await slack.trigger(),
        ...more,
      }),
    );
  /** Presses Edit, and returns the form that was opened. */
  async function opened(message: any): Promise<any> {
    expect((await press(message, "edit")).status).to.equal(200);
    await until(async () => slack.requests.some(({ path }) => path === "/api/views.open"));
    return slack.requests.findLast(({ path }) => path === "/api/views.open")!.body.view;
  }
  const filled = (view: any, typed = edit, more: Record<string, unknown> = {}) => {
    const call = submissionOf(view, null, more) as any;
    const input = (value: string) => ({ type: "plain_text_input", value });
    call.view.state.values = { subject: { subject: input(typed.subject) }, text: { text: input(typed.text) } };
    return call;
  };
  const submit = async (view: any, typed = edit, more: Record<string, unknown> = {}): Promise<any> => {
    const answer = await sendSigned(filled(view, typed, more));
    const text = await answer.text();
    expect(answer.status, text).to.equal(200);
    return text === "" ? undefined : JSON.parse(text);
  };
  const untouched = async (draft: StoryDraft) => {
    const { status, version } = await draft.read();
    expect({ status, version }).to.deep.equal({ status: "pending", version: 1 });
  };
  const said = (view: any): string => JSON.stringify(view.blocks).replaceAll("\u200c", "");

  it("an approver edits in a form, sees the changes in it, and the second press sends exactly that", async () => {
    const { draft, message } = await asked();
    expect(buttonsOf(message).map(({ action_id }) => action_id)).to.deep.equal([
      ...["approve", "edit", "request_changes", "reject", "review_page"],
    ]);
    const view = await opened(message);
    expect(said(view)).to.include(draftText);
    const checked = await submit(view);
    expect([checked.response_action, checked.view.submit.text]).to.deep.equal(["update", "Approve & send"]);
    expect(said(checked.view)).to.include("What changed since version 1").and.to.include("not saved yet");
    await untouched(draft);
    expect(await submit(checked.view)).to.equal(undefined);
    const sent = await draft.becomes("sent");
    expect(sent).to.include({ version: 2, subject: edit.subject, body_text: edit.text });
    expect(sent.decided_by).to.deep.include({ kind: "slack", id: user.id, version: 2 });
    await until(async () => responses().some(({ body }) => body.replace_original === true));
    expect(responses().find(({ body }) => body.replace_original)!.body.text).to.match(/^Approved by “ada”/);
    // The same press again sends nothing more.
    await submit(checked.view);
    const types = (await draft.history()).map(({ type }) => type);
    for (const type of ["DraftEdited", "DraftApproved", "DraftSent"])
      expect(
        types.filter((each) => each === type),
        type,
      ).to.have.length(1);
  });

  it("a text that was changed after its preview is previewed again, and not sent", async () => {
    const { draft, message } = await asked();
    const checked = await submit(await opened(message));
    const again = await submit(checked.view, { ...edit, text: "Something else." });
    expect([again.response_action, said(again.view).includes("Something else.")]).to.deep.equal(["update", true]);
    await untouched(draft);
    await submit(again.view, { ...edit, text: "Something else." });
    expect((await draft.becomes("sent")).body_text).to.equal("Something else.");
  });

  it("an unchanged, empty or too long text is refused under its field", async () => {
    const { draft, message } = await asked();
    const view = await opened(message);
    for (const [typed, field, words] of [
      [{ ...edit, text: " " }, "text", "The text is empty"],
      [{ ...edit, subject: " " }, "subject", "The subject is empty"],
      [{ ...edit, text: "x".repeat(3_001) }, "text", "3,000 characters"],
      [{ subject: draft.json.subject, text: draftText }, "text", "Nothing is changed yet"],
    ] as const) {
      const refused = await submit(view, typed);
      expect(refused.response_action).to.equal("errors");
      expect(refused.errors[field]).to.include(words);
    }
    await untouched(draft);
  });

  it("a form that Slack did not sign, and a forged state, edit nothing", async () => {
    const { draft, message } = await asked();
    const checked = await submit(await opened(message));
    expect((await sendSigned(filled(checked.view), "another secret")).status).to.equal(401);
    const { body } = signedCall(filled(checked.view), secret, service.clock.now());
    const unsigned = await fetch(`${service.url}/hooks/slack/interactions`, { method: "POST", body });
    expect(unsigned.status).to.equal(401);
    const state = JSON.parse(checked.view.private_metadata);
    const withState = (changed: object) => ({
      ...checked.view,
      private_metadata: JSON.stringify({ ...state, ...changed }),
    });
    // A hash that is not the text's own only shows the preview again.
    expect((await submit(withState({ previewed: "0".repeat(64) }))).response_action).to.equal("update");
    // The token to reject cannot edit.
    const { value: rejecting } = buttonsOf(message).find(({ action_id }) => action_id === "reject");
    await submit(withState({ token: rejecting }));
    await untouched(draft);
    const strange = (await asked()).message;
    const elsewhere = await press(strange, "edit", { channel: { id: slack.channel.elsewhere } });
    expect(elsewhere.status).to.equal(200);
    await until(async () => responses().some(({ body: { text } }) => text.includes("belongs to another message")));
  });

  it("only the allowed users edit, also by a form that another user opened", async () => {
    const { draft, message } = await asked({ approvalChannel: byBot({ allowed_users: user.id }) });
    const checked = await submit(await opened(message));
    const eve = { ...user, id: "U0EVE", name: "eve", username: "eve" };
    expect(await submit(checked.view, edit, { user: eve })).to.equal(undefined);
    await untouched(draft);
    slack.requests.length = 0;
    await press(message, "edit", { user: eve });
    await until(async () => responses().some(({ body: { text } }) => text.includes("You may not decide")));
    expect(slack.requests.some(({ path }) => path === "/api/views.open")).to.equal(false);
    await submit(checked.view);
    expect((await draft.becomes("sent")).decided_by.id).to.equal(user.id);
  });

  it("while the setting is off there is no button, and no press and no form edits", async () => {
    const { identity, draft, message } = await asked();
    const checked = await submit(await opened(message));
    await tenant.ask(`PATCH /v1/identities/${identity.id}`, { json: { edit_by_channel: false } });
    const refused = await submit(checked.view);
    expect(refused.errors.text).to.include("cannot edit the drafts of this address");
    await press(message, "edit");
    await until(async () => responses().some(({ body: { text } }) => text.includes("cannot edit this draft here")));
    await untouched(draft);
    const off = await asked({ editByChannel: false });
    expect(JSON.stringify(off.message)).not.to.include('"edit');
  });

  it("an HTML draft, a long one and a channel without a bot lead to the page", async () => {
    for (const [what, more, content] of [
      ["HTML", {}, { body_html: "<p>It <b>arives</b>.</p>" }],
      ["long", {}, { body_text: "x ".repeat(1_600) }],
      ["no bot", { approvalChannel: { type: "slack", config: { webhook_url: slack.webhookUrl } } }, undefined],
    ] as [string, Partial<NewIdentity>, object | undefined][]) {
      const { draft, message } = await asked(more, content ?? { body_text: draftText });
      const button = buttonsOf(message).find(({ action_id }) => action_id === "edit_page");
      expect(button?.url, what).to.match(/\/a\/[\w-]{43}\?d=approve$/);
      const page = await (await fetch(button.url.replace(/^http:\/\/localhost:8080/, service.url))).text();
      // The page of a link in a chat has no code: it leads to the console.
      expect(page, what).to.include("open the draft in the console").and.not.to.include("Check the edit");
      if (what !== "no bot") {
        const pressed = { ...message, blocks: [{ type: "actions", elements: [{ ...button, action_id: "edit" }] }] };
        await press(pressed, "edit");
        await until(async () => responses().some(({ body: { text } }) => text.includes("cannot be edited in Slack")));
      }
      await untouched(draft);
    }
  });

  it("an edit of a version that the agent changed meanwhile is refused in the form", async () => {
    const { draft, message } = await asked();
    const checked = await submit(await opened(message));
    await draft.edit({ body_text: "The agent wrote anew." });
    const refused = await submit(checked.view);
    expect(refused.errors.text).to.include("This draft changed");
    expect((await draft.read()).body_text).to.equal("The agent wrote anew.");
  });

  it("two people who edit and approve at the same moment: one decides, and one mail is sent", async () => {
    const { draft, message } = await asked();
    const checked = await submit(await opened(message));
    const bob = { ...user, id: "U0BOB", name: "bob", username: "bob" };
    await Promise.all([submit(checked.view), press(message, "approve", { user: bob })]);
    const sent = await draft.becomes("sent");
    const events = await draft.history();
    const approvals = events.filter(({ type }) => type === "DraftApproved");
    expect(approvals).to.have.length(1);
    expect(sent.body_text).to.equal(approvals[0].data.version === 2 ? edit.text : draftText);
  });

  it("with several approvals an edit counts once, and the channel is asked about the new version", async () => {
    const { draft, message } = await asked({ approvalsRequired: 2 });
    const checked = await submit(await opened(message));
    await submit(checked.view);
    const counted = await draft.becomes(({ version }) => version === 2);
    expect([counted.status, counted.approvals.given.length]).to.deep.equal(["pending", 1]);
    let anew: any;
    await until(async () => {
      anew = (await slack.history(slack.channel.approvals)).at(-1);
      return anew.ts !== message.ts && buttonsOf(anew).length > 0;
    });
    expect(said(anew)).to.include("A person edited it.");
    await press(anew, "approve");
    expect((await draft.read()).status).to.equal("pending");
    await press(anew, "approve", { user: { ...user, id: "U0BOB", name: "bob" } });
    expect((await draft.becomes("sent")).body_text).to.equal(edit.text);
  });
});
