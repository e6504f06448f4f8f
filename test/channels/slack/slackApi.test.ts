import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { expect } from "chai";
import type { Channel } from "#src/channels/channel.ts";
import { createSlackApi, type SlackApi } from "#src/channels/slack/slackApi.ts";
import { slackChannel } from "#src/channels/slack/slackChannel.ts";
import { apiOf, isResponseUrl, isSlackUrl } from "#src/channels/slack/slackHosts.ts";
import type { Resolver } from "#src/platform/dns/resolver.ts";
import { carded, ordinary } from "#test/channels/email/examples.ts";

const secret = {
  path: "/services/T1/B1/ThePathIsASecret",
  token: "xoxb-the-token-is-a-secret",
  signing: "the-signing-secret",
};
const noNames: Pick<Resolver, "a" | "aaaa"> = {
  a: async () => ({ outcome: "found", records: ["10.0.0.7"] }) as any,
  aaaa: async () => ({ outcome: "found", records: [] }) as any,
};

describe("requests to Slack", () => {
  let answer: (response: ServerResponse, path: string) => void;
  const asked: { path: string; authorization: string | undefined; body: any }[] = [];
  const server = createServer(async (request, response) => {
    let text = "";
    for await (const part of request) text += part;
    const { authorization } = request.headers;
    asked.push({ path: request.url!, authorization, body: JSON.parse(text) });
    answer(response, request.url!);
  });
  let host: string;
  const apis: SlackApi[] = [];
  let channel: Channel;
  /** A channel with a timeout of 100 ms, for answers that never come. All other answers get 60 s, for busy machines. */
  let hasty: Channel;
  before(async () => {
    await once(server.listen(0, "127.0.0.1"), "listening");
    host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
    const waiting = (timeoutMs: number): Channel => {
      const hosts = { slackAllowedHosts: [host], webhookAllowedHosts: [host] };
      const api = createSlackApi({ ...hosts, resolver: noNames, timeoutMs });
      apis.push(api);
      return slackChannel({ api, signingSecret: secret.signing });
    };
    channel = waiting(60_000);
    hasty = waiting(100);
  });
  after(async () => {
    await Promise.all(apis.map((each) => each.close()));
    server.closeAllConnections();
    server.close();
  });
  beforeEach(() => {
    asked.length = 0;
  });

  const request = (config: Record<string, string>) => ({
    channel: { type: "slack" as const, config },
    view: carded(ordinary),
    tokens: { approve: "A".repeat(43), reject: "R".repeat(43) },
    links: { approve: "https://c.example/a/A?d=approve", reject: "https://c.example/a/R?d=reject" },
    workspaceId: "w",
    origin: { identityId: "i", threadId: "t", attemptId: "n" },
  });
  const webhook = () => ({ webhook_url: `http://${host}${secret.path}` });
  const bot = () => ({ ...webhook(), bot_token: secret.token, channel: "#approvals" });
  const says =
    (status: number, text: string, headers: Record<string, string> = {}) =>
    (response: ServerResponse) => {
      response.writeHead(status, headers).end(text);
    };
  const json = (value: object) => says(200, JSON.stringify(value), { "content-type": "application/json" });

  /** Writes without end, as fast as it is read. */
  const endless = (response: ServerResponse) => {
    const goOn = (): void => {
      while (!response.destroyed && response.write("x".repeat(65_536)));
      if (!response.destroyed) response.once("drain", goOn);
    };
    response.writeHead(200);
    goOn();
  };

  it("a request to Slack fails with a plain error without secrets, and says whether to retry, for every bad answer", async () => {
    const html = "<html>ThePathIsASecret</html>";
    const table: [which: string, given: typeof answer, again: boolean, error: RegExp][] = [
      ["webhook", says(404, "no_service"), false, /no_service \(set a new webhook_url\)/],
      ["webhook", says(410, "channel_is_archived"), false, /channel_is_archived/],
      ["webhook", says(404, html), false, /answered 404$/],
      ["webhook", says(403, "invalid_token"), false, /invalid_token/],
      ["webhook", says(302, "", { location: "https://evil.example" }), false, /redirect/],
      ["webhook", says(200, html), true, /did not come from Slack/],
      ["webhook", says(200, "x".repeat(10_000_000)), true, /did not come from Slack/],
      ["webhook", endless, true, /did not come from Slack/],
      ["webhook", says(500, html), true, /answered 500/],
      ["webhook", says(429, "", { "retry-after": "60" }), true, /retry after 60 s/],
      ["webhook", says(429, ""), true, /retry after 30 s/],
      ["webhook", () => {}, true, /no answer within/],
      ["webhook", (response) => response.destroy(), true, /cannot be reached/],
      ["webhook", (response) => response.writeHead(200).write("o"), true, /no answer within/],
      ["webhook", says(400, "Missing `text`\nin the payload"), false, /answered 400: “Missing `text` in the payload”$/],
      ["webhook", says(403, `No ${secret.path} for\u202e you`), false, /answered 403: “No \[…\] for\[U\+202E\] you”$/],
      ["webhook", says(400, "x".repeat(3_000)), false, /answered 400: “x{199}…”$/],
      ["webhook", says(400, "x".repeat(30_000)), false, /answered 400$/],
      ["webhook", says(503, "upstream connect error"), true, /answered 503: “upstream connect error”$/],
      [
        "bot",
        json({ ok: false, error: "invalid_blocks", response_metadata: { messages: ["[ERROR] too long", 7, "x"] } }),
        false,
        /invalid_blocks: “\[ERROR\] too long; x”$/,
      ],
      [
        "bot",
        json({ ok: false, error: "missing_scope", needed: "chat:write", provided: "" }),
        false,
        /missing_scope: “needed: chat:write” \(the app needs the scope chat:write\)$/,
      ],
      [
        "bot",
        json({ ok: false, error: "fatal_error", errors: [`of ${secret.token}`] }),
        true,
        /fatal_error: “of \[…\]”$/,
      ],
      ["bot", json({ ok: false, error: "invalid_auth", response_metadata: null }), false, /invalid_auth \(set/],
      ["bot", json({ ok: false, error: "invalid_auth" }), false, /invalid_auth \(set a new bot_token\)/],
      ["bot", json({ ok: false, error: "account_inactive" }), false, /account_inactive/],
      ["bot", json({ ok: false, error: "channel_not_found" }), false, /channel_not_found/],
      ["bot", json({ ok: false, error: "is_archived" }), false, /is_archived/],
      ["bot", json({ ok: false, error: "internal_error" }), true, /internal_error/],
      ["bot", json({ ok: false, error: `${secret.token}` }), true, /did not come from Slack/],
      ["bot", json({}), true, /did not come from Slack/],
    ];
    for (const [which, given, again, error] of table) {
      answer = given;
      const by = error.source === "no answer within" ? hasty : channel;
      const result = (await by.ask(request(which === "bot" ? bot() : webhook()))) as any;
      expect(result, error.source).to.include({ reached: false, again });
      expect(result.error).to.match(error);
      for (const each of Object.values(secret)) expect(result.error).not.to.contain(each);
      expect(result.error).not.to.contain("ThePathIsASecret");
    }
  });

  it("a request to Slack is repeated after a pause of no seconds, and left to a later retry without a stated pause", async () => {
    let times = 0;
    answer = (response) => (++times < 3 ? says(429, "", { "retry-after": "0" }) : says(200, "ok"))(response);
    expect(await channel.ask(request(webhook()))).to.deep.equal({ reached: true });
    expect(times).to.equal(3);
    times = 0;
    answer = (response) => (++times < 2 ? json({ ok: false, error: "ratelimited" }) : says(200, "ok"))(response);
    const { again } = (await channel.ask(request(bot()))) as any;
    expect([again, times]).to.deep.equal([true, 1]);
  });

  it("a question is posted by the Slack bot, found again and updated; without bot or channel, by the webhook", async () => {
    answer = json({ ok: true, channel: "C9", ts: "17.1" });
    expect(await channel.ask(request(bot()))).to.deep.equal({ reached: true, message: { chat: "C9", ids: ["17.1"] } });
    expect(asked[0]).to.deep.include({ path: "/api/chat.postMessage", authorization: `Bearer ${secret.token}` });
    expect(asked[0]!.body.channel).to.equal("#approvals");
    const about = {
      workspaceId: "w",
      message: { chat: "C9", ids: ["16.1", "17.1"] },
      threadSubject: "Order",
      sentence: "Approved by “Ada”.",
    };
    expect(await channel.conclude!({ channel: { type: "slack", config: bot() }, ...about })).to.deep.equal({
      reached: true,
    });
    expect(asked[1]!.path).to.equal("/api/chat.update");
    expect(asked[1]!.body).to.deep.include({ channel: "C9", ts: "17.1" });
    expect(JSON.stringify(asked[1]!.body)).to.contain("Approved by").and.not.to.contain("actions");
    const without = (await channel.conclude!({ channel: { type: "slack", config: webhook() }, ...about })) as any;
    expect(without).to.include({ reached: false, again: false });
    expect(asked).to.have.length(2);
    answer = says(200, "ok");
    expect(await channel.ask(request({ ...webhook(), bot_token: secret.token }))).to.deep.equal({ reached: true });
    expect(asked[2]).to.deep.include({ path: secret.path, authorization: undefined });
  });

  it("a request to Slack is refused for a host that is not allowed or resolves to a private address", async () => {
    answer = says(200, "ok");
    const hosts = { slackAllowedHosts: ["hooks.slack.com", "127.0.0.1:1"], webhookAllowedHosts: [] };
    const strict = createSlackApi({ ...hosts, resolver: noNames });
    const asking = async (url: string) =>
      (await slackChannel({ api: strict, signingSecret: undefined }).ask(request({ webhook_url: url }))) as any;
    expect((await asking("https://hooks.slack.com/services/x")).error).to.match(
      /resolves to an address that is not public/,
    );
    for (const url of [
      `http://${host}/x`,
      "http://hooks.slack.com/x",
      "https://hooks.slack.com.evil.example/x",
      "https://user:pass@hooks.slack.com/x",
      "https://169.254.169.254/x",
      "no url",
    ]) {
      expect(await asking(url), url).to.include({ again: false });
      expect((await asking(url)).error, url).to.match(/SLACK_ALLOWED_HOSTS/);
    }
    // An empty URL stands for secrets that can no longer be decrypted.
    expect((await asking("")).error).to.match(/set it again/);
    expect(asked).to.deep.equal([]);
    await strict.close();
  });

  it("Slack's own hosts are recognised, and others only where settings allow them", () => {
    const url = (text: string) => new URL(text);
    const usual = { slackAllowedHosts: ["chat.internal:8443"], webhookAllowedHosts: ["chat.internal"] };
    expect(isSlackUrl(url("http://chat.internal:8443/x"), usual)).to.equal(true);
    expect(isSlackUrl(url("http://chat.internal:8443/x"), { ...usual, webhookAllowedHosts: [] })).to.equal(false);
    expect(isSlackUrl(url("https://chat.internal/x"), usual)).to.equal(false);
    expect(isSlackUrl(url("https://hooks.slack.com/x"), usual)).to.equal(false);
    expect(isResponseUrl(url("https://hooks.slack.com/actions/x"), usual)).to.equal(true);
    expect(isResponseUrl(url("https://slack.com/x"), usual)).to.equal(false);
    expect(String(apiOf(url("https://hooks.slack.com/services/x")))).to.equal("https://slack.com/api/");
    expect(String(apiOf(url("http://chat.internal:8443/x")))).to.equal("http://chat.internal:8443/api/");
  });
});
