import { expect } from "chai";
import type { NewIdentity } from "#src/commands/identities/identities.ts";
import type { ApprovalChannel } from "#streams/identity/events.ts";
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
import { type StoryTenant, startStory } from "#test/support/story/story.ts";

const serviceSecret = "8f742231b10e8888abcd99yyyzzz85a5";
const ownSecret = "an-identity-of-its-own";

describe("an approver in Slack", () => {
  let slack: TestSlack;
  let service: InProcess;
  let tenant: StoryTenant;
  const log: string[] = [];
  /** Number of the test. Each has its own response_url, because answers to an earlier test may still arrive. */
  let cases = 0;
  before(async () => {
    slack = await startSlack();
    ({ service, tenant } = await startStory(
      {
        SLACK_ALLOWED_HOSTS: `hooks.slack.com,${slack.host}`,
        WEBHOOK_ALLOWED_HOSTS: slack.host,
        SLACK_SIGNING_SECRET: serviceSecret,
        LOG_LEVEL: "debug",
      },
      { log: (line) => log.push(line) },
    ));
  });
  after(async () => {
    await service.stop();
    await slack.stop();
  });
  beforeEach(() => {
    cases += 1;
    slack.requests.length = 0;
    slack.answersWith(undefined);
  });

  const byWebhook = () => ({ type: "slack" as const, config: { webhook_url: slack.webhookUrl } });
  const byBot = (more: Record<string, string> = {}) => ({
    type: "slack" as const,
    config: { webhook_url: slack.webhookUrl, bot_token: botToken, channel: slack.channel.approvals, ...more },
  });

  /** Submits a draft to a new identity whose approvers are asked by this channel, and waits until they were. */
  async function asked(channel: ApprovalChannel, more: Partial<NewIdentity> = {}, text = "Tomorrow.") {
    const identity = await tenant.newIdentity({ approvalChannel: channel, ...more });
    const draft = await tenant.draft(await tenant.mail({ to: identity }), { body_text: text });
    await draft.becomes(({ notification_status }) => notification_status.state !== "none");
    const message = await newest(channel.config.bot_token ? slack.channel.approvals : slack.channel.general);
    return { draft, message };
  }

  const newest = async (channel: string) => (await slack.history(channel)).at(-1);
  const responses = () => slack.requests.filter(({ path }) => path === `/response/${cases}`);
  const responseUrl = () => `${slack.url}/response/${cases}`;

  const send = (call: ReturnType<typeof signedCall>) =>
    fetch(`${service.url}/hooks/slack/interactions`, { method: "POST", body: call.body, headers: call.headers });
  const sendSigned = (payload: object, secret = serviceSecret) =>
    send(signedCall(payload, secret, service.clock.now()));
  const press = (message: any, actionId: string, more: Record<string, unknown> = {}) =>
    pressOf(message, actionId, { response_url: responseUrl(), ...more });

  it("a press of Approve under a webhook's card sends the reply, records the approver and updates the card", async () => {
    const { draft, message } = await asked(byWebhook());
    expect(buttonsOf(message).map(({ action_id }) => action_id)).to.deep.equal([
      "approve",
      "request_changes_page",
      "reject_page",
      "review_page",
    ]);
    expect(message.unfurl_links).to.equal(false);
    const answer = await sendSigned(press(message, "approve"));
    expect([answer.status, await answer.text()]).to.deep.equal([200, ""]);
    await draft.becomes("sent");
    const { decided_by: by } = await draft.read();
    expect(by).to.include({ decision: "approve", kind: "slack", id: "U0ADA", name: "ada", channel: "slack" });
    expect(by).not.to.have.any.keys("ip", "user_agent");
    await until(async () => responses().length > 0);
    const [{ body } = { body: undefined }] = responses();
    expect(body).to.include({ replace_original: true });
    expect(body.text).to.match(/^Approved by “ada”/);
    expect(buttonsOf(body)).to.deep.equal([]);
  });

  it("a rejection in a bot's form records the reason in the draft's history", async () => {
    const { draft, message } = await asked(byBot());
    const place = { channel: { id: slack.channel.approvals } };
    expect(
      (await sendSigned(press(message, "reject", { ...place, trigger_id: await slack.trigger() }))).status,
    ).to.equal(200);
    await until(async () => slack.requests.some(({ path }) => path === "/api/views.open"));
    expect((await draft.read()).status).to.equal("pending");
    const { view } = slack.requests.find(({ path }) => path === "/api/views.open")!.body;
    const tooLong = await sendSigned(submissionOf(view, "é".repeat(1_500)));
    expect(await tooLong.json()).to.have.property("response_action", "errors");
    expect((await draft.read()).status).to.equal("pending");
    const answer = await sendSigned(submissionOf(view, "Wrong <!channel> & \u0000 date"));
    expect([answer.status, await answer.text()]).to.deep.equal([200, ""]);
    await draft.becomes("rejected");
    const rejected = (await draft.history()).find(({ type }) => type === "DraftRejected");
    expect(rejected.data.reason).to.equal("Wrong <!channel> &  date");
    expect(rejected.actor).to.include({ kind: "slack", id: "U0ADA" });
    await until(async () => responses().length > 0);
    expect(responses()[0]!.body.text).to.contain("Rejected by “ada”").and.to.contain("&lt;!channel&gt;");
  });

  it("a request for changes in a bot's form needs a text, asks the agent, and closes the card", async () => {
    const { draft, message } = await asked(byBot());
    const place = { channel: { id: slack.channel.approvals } };
    await sendSigned(press(message, "request_changes", { ...place, trigger_id: await slack.trigger() }));
    await until(async () => slack.requests.some(({ path }) => path === "/api/views.open"));
    const { view } = slack.requests.find(({ path }) => path === "/api/views.open")!.body;
    expect(view.title.text).to.equal("Ask for changes");
    const empty = await sendSigned(submissionOf(view, " "));
    expect(await empty.json()).to.have.property("response_action", "errors");
    expect((await draft.read()).changes_requested).to.equal(null);
    await sendSigned(submissionOf(view, "Say when."));
    const requested = (await draft.becomes(({ changes_requested }) => changes_requested !== null)).changes_requested;
    expect([requested.text, requested.by.kind, requested.by.id]).to.deep.equal(["Say when.", "slack", "U0ADA"]);
    await until(async () => responses().some(({ body }) => body.replace_original === true));
    expect(responses().find(({ body }) => body.replace_original)!.body.text).to.match(/^Changes requested by/);
    await sendSigned(press(message, "approve", place));
    expect((await draft.read()).status).to.equal("pending");
  });

  it("Reject links to a page if no form can be opened, and a bot's card changes after a decision elsewhere", async () => {
    const { draft, message } = await asked(byWebhook());
    const reject = buttonsOf(message).find(({ action_id }) => action_id === "reject_page");
    expect(reject.url).to.match(/\/a\/[\w-]{43}\?d=reject$/);
    expect((await sendSigned(press(message, "reject_page"))).status).to.equal(200);
    const page = await fetch(reject.url.replace(/^http:\/\/localhost:8080/, service.url));
    expect(await page.text()).to.contain("Reject");
    const bot = await asked(byBot());
    const place = { channel: { id: slack.channel.approvals } };
    await sendSigned(press(bot.message, "reject", { ...place, trigger_id: "none" }));
    await until(async () => responses().length > 0);
    expect(responses()[0]!.body).to.include({ replace_original: false, response_type: "ephemeral" });
    expect(responses()[0]!.body.text).to.match(/<http:\/\/localhost:8080\/a\/[\w-]{43}\?d=reject\|/);
    for (const each of [draft, bot.draft]) expect((await each.read()).status).to.equal("pending");
    // After a decision elsewhere a card that the bot posted loses its buttons.
    await bot.draft.reject("Too late");
    const card = async () => (await slack.history(slack.channel.approvals)).find(({ ts }) => ts === bot.message.ts);
    await until(async () => buttonsOf(await card()).length === 0);
    expect((await card()).text).to.match(/Rejected by/);
  });

  it("a channel with allowed users counts only their presses and forms, and its page shows the draft without buttons", async () => {
    const { draft, message } = await asked(byBot({ allowed_users: "U0ADA" }));
    const place = { channel: { id: slack.channel.approvals } };
    const eve = { user: { ...user, id: "U0EVE", name: "eve" } };
    for (const action of ["approve", "reject", "request_changes"])
      await sendSigned(press(message, action, { ...place, ...eve, trigger_id: await slack.trigger() }));
    await until(async () => responses().length === 3);
    for (const { body } of responses()) expect(body.text).to.match(/^You may not decide about drafts in this channel/);
    expect(slack.requests.some(({ path }) => path === "/api/views.open")).to.equal(false);
    // A form that a member opened by other means is judged again when it is submitted.
    await sendSigned(press(message, "reject", { ...place, trigger_id: await slack.trigger() }));
    await until(async () => slack.requests.some(({ path }) => path === "/api/views.open"));
    const { view } = slack.requests.find(({ path }) => path === "/api/views.open")!.body;
    await sendSigned({ ...submissionOf(view, "No."), ...eve });
    expect((await draft.read()).status).to.equal("pending");
    const review = buttonsOf(message).find(({ action_id }) => action_id === "review_page").url;
    const url = review.replace(/^http:\/\/localhost:8080/, service.url);
    const page = await (await fetch(url)).text();
    expect(page).to.include("Only the users listed for the chat can decide").and.not.include("<form");
    const forged = new URLSearchParams({ decision: "approve", nonce: "1.x" });
    expect((await fetch(url, { method: "POST", body: forged })).status).to.equal(403);
    await sendSigned(press(message, "approve", place));
    await draft.becomes("sent");
  });

  it("a draft that needs two approvals in Slack is sent only when a second person approves", async () => {
    const { draft, message } = await asked(byWebhook(), { approvalsRequired: 2 });
    await sendSigned(press(message, "approve"));
    await sendSigned(press(message, "approve"));
    await until(async () => responses().length === 2);
    expect(responses().map(({ body }) => [body.replace_original, body.text.split(".")[0]])).to.have.deep.members([
      [false, "Your approval counts"],
      [false, "You have already approved this version"],
    ]);
    expect((await draft.read()).status).to.equal("pending");
    await sendSigned(press(message, "approve", { user: { ...user, id: "U0BOB", name: "bob" } }));
    await draft.becomes("sent");
  });

  it("Approve pressed three times approves once, and the last press is answered with the outcome", async () => {
    const { draft, message } = await asked(byWebhook());
    const answers = await Promise.all([1, 2].map(() => sendSigned(press(message, "approve"))));
    expect(answers.map(({ status }) => status)).to.deep.equal([200, 200]);
    await until(async () => responses().length === 2);
    await draft.becomes("sent");
    await sendSigned(press(message, "approve"));
    await until(async () => responses().length === 3);
    expect(responses()[2]!.body.text).to.match(/^Already approved and sent by “ada”/);
    expect((await draft.history()).filter(({ type }) => type === "DraftApproved")).to.have.length(1);
  });

  it("a button from before an edit decides nothing, and a new card asks about the new version", async () => {
    const { draft, message } = await asked(byWebhook());
    await draft.edit({ body_text: "On Monday." });
    await until(async () => JSON.stringify(await newest(slack.channel.general)).includes("On Monday."));
    await sendSigned(press(message, "approve"));
    await until(async () => responses().length > 0);
    expect(responses()[0]!.body.text).to.match(/^This draft changed/);
    expect((await draft.read()).status).to.equal("pending");
    await sendSigned(press(await newest(slack.channel.general), "approve"));
    await draft.becomes("sent");
  });

  it("a press in another channel or under another message than the question decides nothing", async () => {
    const { draft, message } = await asked(byBot());
    const place = { channel: { id: slack.channel.approvals } };
    const wrong = [
      press(message, "approve", { channel: { id: slack.channel.elsewhere } }),
      press({ ...message, ts: "1.000001" }, "approve", place),
      press(message, "approve", { channel: null }),
    ];
    for (const payload of wrong) expect((await sendSigned(payload)).status).to.equal(200);
    await until(async () => responses().length === wrong.length);
    for (const { body } of responses()) expect(body.text).to.match(/^This button belongs to another message/);
    expect((await draft.read()).status).to.equal("pending");
    await sendSigned(press(message, "approve", place));
    await draft.becomes("sent");
  });

  /** A draft with a card that is still pending, shared by tests whose presses decide nothing. */
  const waiting = async () => (waits ??= await asked(byWebhook()));
  let waits: Awaited<ReturnType<typeof asked>> | undefined;

  it("a press from another Slack workspace with the same app decides nothing", async () => {
    const { draft, message } = await waiting();
    const elsewhere = { team: { id: "T0ELSEWHERE" }, user: { ...user, id: "U0EVE", team_id: "T0ELSEWHERE" } };
    for (const type of ["approve", "reject"]) {
      const [button] = press(message, type === "approve" ? "approve" : "reject_page").actions;
      const actions = [{ ...button, action_id: type }];
      expect((await sendSigned(press(message, "approve", { ...elsewhere, actions }))).status).to.equal(200);
    }
    await until(async () => responses().length === 2);
    for (const { body } of responses()) expect(body.text).to.match(/^This button belongs to another message/);
    expect((await draft.read()).status).to.equal("pending");
  });

  it("a press counts only if it is signed with the secret of the card's identity", async () => {
    const own = await asked({ type: "slack", config: { ...byWebhook().config, signing_secret: ownSecret } });
    const others = await asked(byWebhook());
    const approve = press(own.message, "approve");
    const foreign = press(others.message, "approve");
    const refused = [
      [approve, serviceSecret],
      [foreign, ownSecret],
      // Two buttons in one call: one of an identity whose secret is known, and one of another identity.
      [{ ...approve, actions: [...approve.actions, ...foreign.actions] }, ownSecret],
      [{ ...foreign, actions: [...approve.actions, ...foreign.actions] }, ownSecret],
    ] as const;
    for (const [payload, secret] of refused) expect((await sendSigned(payload, secret)).status).to.equal(401);
    for (const { draft } of [own, others]) expect((await draft.read()).status).to.equal("pending");
    expect((await sendSigned(approve, ownSecret)).status).to.equal(200);
    await own.draft.becomes("sent");
    expect((await others.draft.read()).status).to.equal("pending");
  });

  it("a press in Slack that is forged, late or cut off is refused with 401", async () => {
    const { draft, message } = await waiting();
    const payload = press(message, "approve");
    const now = service.clock.now().getTime();
    const at = (seconds: number) => signedCall(payload, serviceSecret, new Date(now + seconds * 1000));
    const good = at(0);
    const bad: ReturnType<typeof signedCall>[] = [
      at(-302),
      at(302),
      signedCall(payload, "guessed", service.clock.now()),
      { ...good, body: good.body.slice(0, -20) },
      { ...good, body: `${good.body}&x=1` },
      { ...good, headers: { ...good.headers, "x-slack-signature": "v0=" } },
      { ...good, headers: { ...good.headers, "x-slack-request-timestamp": `${Math.floor(now / 1000)}.0` } },
      { ...good, headers: { "content-type": good.headers["content-type"] } as any },
    ];
    for (const call of bad) expect((await send(call)).status).to.equal(401);
    expect((await draft.read()).status).to.equal("pending");
    expect(responses()).to.deep.equal([]);
  });

  it("a signed call that is not a press of our button is acknowledged and decides nothing", async () => {
    const { draft, message } = await waiting();
    const payloads: [object | string, number][] = [
      [press(message, "review_page"), 200],
      [press(message, "something_else"), 200],
      [{ ...press(message, "approve"), actions: [] }, 200],
      [{ ...press(message, "approve"), type: "message_action" }, 200],
      [{ ...press(message, "approve"), actions: [{ action_id: "approve", value: "x".repeat(43) }] }, 200],
      // The token of one button does not work for another.
      [
        {
          ...press(message, "approve"),
          actions: [{ ...press(message, "reject_page").actions[0], action_id: "approve" }],
        },
        200,
      ],
      [
        { ...press(message, "approve"), actions: [{ ...press(message, "approve").actions[0], action_id: "reject" }] },
        200,
      ],
      // Names of properties that every JavaScript object has.
      ...["constructor", "__proto__", "toString"].map((action_id): [object, number] => [
        {
          ...press(message, "approve"),
          actions: [{ ...press(message, "reject_page").actions[0], action_id }],
        },
        200,
      ]),
      [submissionOf({ callback_id: "reject", private_metadata: '{"token":"nobody"}' }, "x"), 200],
      [submissionOf({ callback_id: "reject", private_metadata: "{" }, "x"), 200],
      ["no JSON", 200],
      ["null", 200],
    ];
    for (const [payload, status] of payloads) {
      const answer = await send(signedCall(payload, serviceSecret, service.clock.now()));
      expect(answer.status, JSON.stringify(payload).slice(0, 80)).to.equal(status);
    }
    expect((await draft.read()).status).to.equal("pending");
    expect((await fetch(`${service.url}/hooks/slack/interactions`)).status).to.equal(404);
    const large = signedCall({ type: "x".repeat(1_100_000) }, serviceSecret, service.clock.now());
    expect((await send(large)).status).to.equal(413);
  });

  it("the token of an approval mail's link decides nothing in Slack", async () => {
    const to = "approver@mail.example";
    const { draft } = await asked({ type: "email", config: { to } });
    const value = (await draft.approvalMail(to)).token();
    const payload = press((await waiting()).message, "approve", { actions: [{ action_id: "approve", value }] });
    expect((await sendSigned(payload)).status).to.equal(200);
    await until(async () => responses().length > 0);
    expect(responses()[0]!.body.text).to.match(/^This button does not exist any more/);
    expect((await draft.read()).status).to.equal("pending");
  });

  it("a press with a foreign response_url counts, and nothing is sent to that address", async () => {
    const { draft, message } = await waiting();
    for (const url of [
      "http://169.254.169.254/x",
      "https://evil.example/x",
      `http://user@${slack.host}/response/stolen`,
    ]) {
      await sendSigned(press(message, "approve", { response_url: url }));
    }
    await draft.becomes("sent");
    await sendSigned(press(message, "approve"));
    await until(async () => responses().length > 0);
    expect(slack.requests.filter(({ path }) => path === "/response/stolen")).to.deep.equal([]);
  });

  it("a 100 kB draft is shown in Slack in several harmless messages, with buttons under the last", async () => {
    const hostile = "<!channel> <@U1> *bold* :skull: https://evil.example/x \u202eabc &lt; ```\n";
    const { draft, message } = await asked(byBot(), {}, hostile.repeat(1_400));
    const all = (await slack.history(slack.channel.approvals)).filter(({ text }) => /PART|Part|evil/.test(text));
    const mine = all.slice(all.findLastIndex(({ text }) => text.startsWith("SEND THIS REPLY")));
    expect(mine.length).to.be.within(2, 6);
    expect(mine.map((each) => buttonsOf(each).length)).to.deep.equal([...mine.slice(1).map(() => 0), 4]);
    for (const each of mine) {
      expect(JSON.stringify(each)).not.to.match(/<[!@#]|https:\/\/evil\.example|\u202e/);
      expect(each.blocks.length).to.be.at.most(50);
      for (const { text } of each.blocks.filter(({ type }: any) => type === "section")) {
        expect(text.text.length).to.be.within(1, 3_000);
      }
    }
    const call = signedCall(
      press(message, "approve", { channel: { id: slack.channel.approvals } }),
      serviceSecret,
      service.clock.now(),
    );
    expect(call.body.length).to.be.below(500_000);
    await send(call);
    await draft.becomes("sent");
  });

  it("a draft says why Slack refused its notification, without a secret", async () => {
    slack.answersWith((_, response) => {
      response.writeHead(404).end("no_service");
      return true;
    });
    const { draft } = await asked(byWebhook());
    await draft.becomes(({ notification_status }) => notification_status.state === "failed");
    const { error } = (await draft.read()).notification_status;
    expect(error).to.equal(
      "no approver was notified through the slack channel: Slack answered no_service (set a new webhook_url)",
    );
    slack.answersWith(undefined);
    const unknown = await asked(byBot({ channel: "C0NOWHERE" }));
    await unknown.draft.becomes(({ notification_status }) => notification_status.state === "failed");
    expect((await unknown.draft.read()).notification_status.error).to.contain("channel_not_found");
  });

  it("a rule posts plain lines in Slack, or its evaluation says why not [4 action notify_channel]", async () => {
    const { identity } = tenant;
    const post = { ...byBot(), config: { ...byBot().config, channel: slack.channel.elsewhere } };
    const actions = [byWebhook(), post, byBot({ channel: "C0NOWHERE" })].map(({ type, config }) => ({
      ...{ type: "notify_channel", channel: type, config },
    }));
    const rule = { name: "<!channel> *now*", identity_id: identity.id, trigger_event: "email.received", actions };
    const made = await tenant.ask("POST /v1/rules", { json: rule });
    expect(made.status, made.text).to.equal(200);
    const subject = "Help <https://evil.example|us> @ada";
    await tenant.mail({ subject });
    const taken = async (): Promise<any[]> =>
      (await tenant.ask(`GET /v1/rules/${made.json.id}/evaluations`)).json.data[0]?.actions ?? [];
    await until(async () => (await taken()).filter(({ outcome }) => outcome !== "pending").length === 3);
    expect((await taken()).map(({ outcome, reason }) => [outcome, reason])).to.deep.equal([
      ["done", null],
      ["done", null],
      [
        "refused",
        "nothing was posted in Slack: Slack answered channel_not_found (invite the app into the channel, or choose another channel)",
      ],
    ]);
    for (const channel of [slack.channel.general, slack.channel.elsewhere]) {
      const { text, blocks } = await newest(channel);
      expect(text).to.match(/^A rule of your workspace matched the event email/);
      expect(text)
        .to.contain("“&lt;!channel&gt; *now*”")
        .and.not.to.match(/[<>]|evil\.example|@ada/);
      expect(blocks.map((block: any) => [block.type, block.text.type])).to.deep.equal([["section", "plain_text"]]);
    }
  });

  it("a bot's card that nobody decided about loses its buttons when they expire, and a press on a webhook's card says what to do", async () => {
    const [byUrl, bot] = [await asked(byWebhook()), await asked(byBot())];
    service.clock.advance(72 * 3_600_000);
    const cards = () => slack.history(slack.channel.approvals);
    const card = async () => (await cards()).find(({ ts }) => ts === bot.message.ts);
    await until(async () => buttonsOf(await card()).length === 0);
    expect((await card()).text).to.match(/^These buttons have expired, .* UTC\. Nothing was decided\./);
    expect((await card()).text).to.include("decide in the console under Review");
    await sendSigned(press(byUrl.message, "approve"));
    await until(async () => responses().length > 0);
    const [{ body } = { body: undefined }] = responses();
    expect(body).to.include({ replace_original: true });
    expect(body.text).to.include("Nothing was decided.").and.include("use a newer message about it");
    expect(buttonsOf(body)).to.deep.equal([]);
    for (const { draft } of [byUrl, bot]) {
      expect((await draft.read()).status).to.equal("pending");
      const asks = async () => (await draft.history()).filter(({ type }) => type === "ApproversNotified").length;
      await until(async () => (await asks()) === 2);
    }
    // The newer card decides.
    const again = (await cards()).filter(
      (each) => buttonsOf(each).length > 0 && Number(each.ts) > Number(bot.message.ts),
    );
    await sendSigned(press(again.at(-1), "approve", { channel: { id: slack.channel.approvals } }));
    await until(async () => {
      const drafts = await Promise.all([byUrl, bot].map(({ draft }) => draft.read()));
      return drafts.some(({ status }) => status === "sent");
    });
  });

  it("secrets of Slack are neither in the log nor in stored events", async () => {
    const { rows } = await service.database.query("select data::text || metadata::text as text from es.events");
    const everything = `${log.join("\n")}\n${rows.map(({ text }: any) => text).join("\n")}`;
    expect(everything).to.contain("no_service").and.to.contain("hooks/slack/interactions");
    for (const secret of ["X000000001", botToken, serviceSecret, ownSecret]) expect(everything).not.to.contain(secret);
  });
});
