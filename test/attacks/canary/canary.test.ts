import { expect } from "chai";
import { createLogger } from "#src/platform/logger.ts";
import type { Ask } from "#test/support/asking.ts";
import { asking } from "#test/support/asking.ts";
import { inFull } from "#test/support/full.ts";
import { type Identity, type InProcess, mail, startInProcess, until } from "#test/support/inProcess.ts";
import { type SmtpRelay, startSmtpRelay } from "#test/support/smtpRelay.ts";
import { finderOf, givenAway, operatorSecrets, personSecrets, tenantSecrets } from "./canaries.ts";
import { startEcho } from "./echo.ts";

const { SMTP_URL: smtpPassword, SECRETS_KEYS: keyRing, ...otherSettings } = operatorSecrets;

/** A text that the service answered, logged or stored, and where. */
type Place = [where: string, text: string];

/**
 * Uses every secret in a service whose providers all fail and repeat what they were sent. No secret may appear in what is logged,
 * answered, measured, or stored unsealed.
 */
for (const provider of inFull ? (["smtp", "sendgrid"] as const) : (["smtp"] as const)) {
  describe(`secrets of a service that sends by ${provider} while every provider fails and repeats them`, () => {
    let service: InProcess;
    let relay: SmtpRelay;
    let echo: Awaited<ReturnType<typeof startEcho>>;
    let secrets: Record<string, string>;
    const places: Place[] = [];

    before(async () => {
      echo = await startEcho();
      const credentials = Buffer.from(`\0agent\0${smtpPassword}`).toString("base64");
      relay = await startSmtpRelay(
        [{ at: "AUTH", how: `535 5.7.8 AUTH PLAIN ${credentials} (${smtpPassword}) refused` }],
        {
          password: "another",
        },
      );
      service = await startInProcess(
        {
          ...otherSettings,
          MAIL_PROVIDER: provider,
          SMTP_URL: `smtp://agent:${smtpPassword}@127.0.0.1:${relay.port}`,
          SECRETS_KEYS: `k1:${keyRing}`,
          SMTP_RETRY_SECONDS: "0,0",
          WEBHOOK_RETRY_SECONDS: "0,0",
          NOTIFY_THROTTLE_SECONDS: "0",
          WEBHOOK_ALLOWED_HOSTS: `127.0.0.1:${echo.port}`,
          SENDGRID_BASE_URL: echo.url,
          TELEGRAM_API_ROOT: echo.url,
          STRIPE_API_BASE: echo.url,
          SLACK_ALLOWED_HOSTS: `127.0.0.1:${echo.port}`,
          ...Object.fromEntries(
            ["PRO_MONTHLY", "PRO_ANNUAL", "AGENCY_MONTHLY", "AGENCY_ANNUAL"].map((name) => [
              `STRIPE_PRICE_${name}`,
              `price_${name.replace("_", "")}`,
            ]),
          ),
        },
        { logger: createLogger("trace", { write: (line) => void places.push(["the log", line]) }) },
      );
    });
    after(async () => {
      await service.stop();
      await Promise.all([relay.close(), echo.close()]);
    });

    const slackAt = (path: string) => `http://127.0.0.1:${echo.port}/services/${path}`;
    const telegram = {
      type: "telegram",
      config: { bot_token: tenantSecrets["telegram bot_token"], chat_id: "-1001" },
    };
    const slackChannel = () => ({
      type: "slack",
      config: {
        webhook_url: slackAt(tenantSecrets["slack webhook_url"]),
        signing_secret: tenantSecrets["slack signing_secret"],
        bot_token: tenantSecrets["slack bot_token"],
      },
    });

    it(`no secret is shown, logged or stored unsealed while ${provider} and every other provider fail`, async () => {
      const workspace = await service.workspace();
      secrets = { ...operatorSecrets, ...tenantSecrets, "API key": workspace.key };
      const asked = asking(service.url, workspace.key);
      const ask: Ask = async (line, options) => {
        const answer = await asked(line, options);
        places.push([line, JSON.stringify([...answer.headers]) + answer.text]);
        return answer;
      };
      const identity = await giveSecrets(ask, asked);
      const drafts = await receiveAndSubmit(ask, { identity });
      await sendForgedRequests(ask);
      await until(async () => givenAway(echo.heard(), { token: telegram.config.bot_token }).length > 0);
      await until(async () => {
        const { json } = await asked(`GET /v1/drafts/${drafts.asked}`);
        return json.notification_status.state === "failed" || json.notification_status.channel === "slack";
      });
      // A send whose credentials are refused waits for better ones: its status then stays `sending`.
      const isRefused = () => provider === "sendgrid" && echo.heard().includes("/mail/send");
      await until(async () => isRefused() || (await asked(`GET /v1/drafts/${drafts.sent}`)).json.status !== "sending");
      const [{ id: webhookId }] = (await asked("GET /v1/webhooks")).json.data;
      await until(async () =>
        (await asked(`GET /v1/webhooks/${webhookId}/deliveries`)).json.data.some((each: any) => each.attempts > 0),
      );
      await readEverything(ask, { drafts: Object.values(drafts), webhookId, identityId: identity.id });
      await signUpAndReset();
      await readTables();
      expect(places.length).to.be.above(60);
      const found = finderOf(secrets);
      const hits = places.flatMap(([where, text]) => found(text).map((name) => `${name}: ${where} ${excerpt(text)}`));
      expect(hits).to.deep.equal([]);
      expect(places.filter(([, text]) => /PRIVATE KEY/.test(text)).map(([where]) => where)).to.deep.equal([]);
    });

    it(`the secrets for ${provider}, Telegram and Slack were in use while the providers failed`, () => {
      const heard = echo.heard() + relay.commands.join("\n");
      const used = givenAway(heard, secrets);
      const told = ["telegram bot_token", "slack webhook_url", provider === "smtp" ? "SMTP_URL" : "SENDGRID_API_KEY"];
      expect(used).to.include.members(told);
    });

    /** Gives the service every secret of a tenant, in valid and in invalid requests. */
    async function giveSecrets(ask: Ask, unseen: Ask): Promise<Identity> {
      const slack = slackChannel();
      const identity = await service.identity((await ask("GET /v1/workspaces/me")).json.id, { canSendCold: true });
      const channels = { approval_channel: telegram, secondary_approval_channel: slack, escalation_delay_minutes: 1 };
      const path = `PATCH /v1/identities/${identity.id}`;
      expect((await ask(path, { json: channels })).status).to.equal(200);
      for (const wrong of [
        { approval_channel: { ...telegram, config: { bot_token: `x${telegram.config.bot_token}/..`, chat_id: "1" } } },
        { approval_channel: { ...telegram, config: { bot_tokn: telegram.config.bot_token, chat_id: "1" } } },
        { approval_channel: { ...telegram, config: { ...telegram.config, chat_id: 7 } } },
        {
          approval_channel: {
            ...slack,
            config: { ...slack.config, webhook_url: slack.config.webhook_url.replace("http", "ftp") },
          },
        },
        { approval_channel: { ...slack, config: { ...slack.config, bot_token: [slack.config.bot_token] } } },
        { approval_channel: slack.config.webhook_url },
      ])
        expect((await ask(path, { json: wrong })).status, JSON.stringify(wrong)).to.be.within(400, 422);
      expect((await ask(path, { body: `{"approval_channel": ${slack.config.bot_token}` })).status).to.be.within(
        400,
        422,
      );
      const config = { webhook_url: slackAt(tenantSecrets["rule's slack webhook_url"]) };
      const rule = {
        name: "Tell",
        trigger_event: "email.received",
        conditions: {},
        actions: [{ type: "notify_channel", channel: "slack", config }],
      };
      const made = await ask("POST /v1/rules", { json: rule });
      expect(made.status, made.text).to.equal(200);
      await ask("POST /v1/rules/test", { json: { rule } });
      // The answer that creates a webhook or a key shows its secret once, and is not checked.
      const headers = { "Idempotency-Key": "canary" };
      const hook = { url: `http://127.0.0.1:${echo.port}/hook`, events: ["email.received", "draft.created"] };
      const webhook = (await unseen("POST /v1/webhooks", { json: hook, headers })).json;
      secrets["webhook secret"] = webhook.secret;
      secrets["webhook secret, rotated"] = (await unseen(`POST /v1/webhooks/${webhook.id}/rotate-secret`)).json.secret;
      secrets["second API key"] = (await unseen("POST /v1/api-keys", { json: { name: "second" } })).json.key;
      for (const [name, secret] of Object.entries(secrets)) expect(secret, name).to.be.a("string");
      return identity;
    }

    /** Receives mail and submits drafts while no provider can be reached. */
    async function receiveAndSubmit(ask: Ask, { identity }: { identity: Identity }) {
      await service.deliver(identity.address, mail({ id: "q@customer.example" }));
      const [thread] = (await ask("GET /v1/threads")).json.data;
      const [message] = (await ask(`GET /v1/threads/${thread.id}`)).json.messages;
      const json = { thread_id: thread.id, identity_id: identity.id, based_on_message_id: message.id, body_text: "Hi" };
      const submit = async () => (await ask("POST /v1/drafts", { json })).json.id as string;
      const drafts = { asked: await submit(), sent: await submit() };
      await ask(`POST /v1/drafts/${drafts.sent}/send`);
      await ask(`POST /v1/identities/${identity.id}/test-email`, { json: { to: "ann@customer.example" } });
      await ask("POST /v1/domains", { json: { name: "canary-domain.example" } });
      for (const json of [
        { plan: "pro", interval: "monthly" },
        { plan: "agency", interval: "annual" },
      ])
        await ask("POST /v1/billing/checkout", { json });
      await ask("POST /v1/billing/portal", { json: {} });
      return drafts;
    }

    /** Sends requests with true and false secrets in right and wrong places. */
    async function sendForgedRequests(ask: Ask): Promise<void> {
      const key = secrets["API key"] as string;
      const { STRIPE_WEBHOOK_SECRET, SENDGRID_INBOUND_SECRET, SLACK_SIGNING_SECRET, METRICS_TOKEN, OUTBOX_TOKEN } =
        operatorSecrets;
      const tries: [line: string, options?: Parameters<Ask>[1]][] = [
        ["GET /v1/threads", { key: `${key}x` }],
        ["GET /v1/threads", { key: null, headers: { authorization: key } }],
        ["GET /v1/threads", { key: null, headers: { "x-api-key": key } }],
        ["GET /v1/nothing", { key }],
        ["POST /v1/drafts", { json: { thread_id: key } }],
        ["POST /v1/drafts", { body: `{"${key}"`, headers: { "content-type": "application/json" } }],
        ["POST /hooks/stripe", { body: "{}", headers: { "stripe-signature": STRIPE_WEBHOOK_SECRET } }],
        [`POST /hooks/sendgrid/inbound/${SENDGRID_INBOUND_SECRET}x`, { body: "x" }],
        [`POST /hooks/sendgrid/inbound/${SENDGRID_INBOUND_SECRET}`, { body: "no form" }],
        ["POST /hooks/sendgrid/events", { body: "[]" }],
        [
          "POST /hooks/slack/interactions",
          { body: "payload={}", headers: { "x-slack-signature": SLACK_SIGNING_SECRET } },
        ],
        [
          "POST /hooks/telegram/123456789",
          { json: {}, headers: { "x-telegram-bot-api-secret-token": telegram.config.bot_token } },
        ],
        ["GET /metrics", { key: METRICS_TOKEN }],
        ["GET /readyz", { key: METRICS_TOKEN }],
        ["GET /outbox", { key: OUTBOX_TOKEN }],
        ["GET /outbox.json", { key: OUTBOX_TOKEN }],
      ];
      for (const [line, options] of tries) await ask(line, options);
      // The recorded path contains the secret because this test put it there.
      for (const place of places) place[0] = place[0].replaceAll(SENDGRID_INBOUND_SECRET, "<secret>");
    }

    /** Requests everything that can be read. */
    async function readEverything(
      ask: Ask,
      ids: { drafts: string[]; webhookId: string; identityId: string },
    ): Promise<void> {
      const paths = [
        ...ids.drafts.flatMap((id) => [
          `/v1/drafts/${id}`,
          `/v1/drafts/${id}/history?limit=100`,
          `/v1/drafts/${id}/content`,
        ]),
        ...[`/v1/identities/${ids.identityId}`, "/v1/identities", "/v1/rules", "/v1/webhooks", "/v1/api-keys"],
        ...[
          `/v1/webhooks/${ids.webhookId}`,
          `/v1/webhooks/${ids.webhookId}/deliveries`,
          "/v1/domains",
          "/v1/workspaces/me",
        ],
        ...["/v1/events?limit=100", "/v1/threads", "/v1/inbound", "/v1/billing/subscription"],
        ...["/openapi.json", "/v1/openapi.json", "/docs", "/", "/metrics", "/readyz", "/healthz"],
      ];
      for (const path of paths) await ask(`GET ${path}`);
    }

    /** Signs up, mistypes, forgets and resets a password. Links are taken where they are issued, because no mail is sent. */
    async function signUpAndReset(): Promise<void> {
      const { links } = service.deps.accounts;
      const issue = links.issue;
      links.issue = async (link) => {
        const token = await issue(link);
        secrets[`${link.kind} link`] = token;
        return token;
      };
      Object.assign(secrets, personSecrets);
      const [password, next, wrong] = Object.values(personSecrets) as [string, string, string];
      const email = "canary@people.example";
      let cookie = "";
      const post = async (path: string, json: unknown) => {
        const response = await fetch(`${service.url}${path}`, {
          method: "POST",
          headers: { "Content-Type": "application/json", cookie },
          body: JSON.stringify(json),
        });
        const given = /^\w+=([\w-]{43});/.exec(response.headers.get("set-cookie") ?? "");
        if (given) {
          cookie = given[0]!.slice(0, -1);
          secrets[`cookie of ${path}`] = given[1]!;
        }
        places.push([path, await response.text()]);
        return response.status;
      };
      const linkOf = async (kind: string) => {
        await until(async () => secrets[`${kind} link`] !== undefined);
        return secrets[`${kind} link`];
      };
      expect(await post("/auth/sign-up", { email })).to.equal(202);
      const token = await linkOf("confirm");
      expect(await post("/auth/confirm", { token, password: `${email}${email}` })).to.equal(422);
      expect(await post("/auth/confirm", { token: `${token}x`, password })).to.equal(422);
      expect(await post("/auth/confirm", { token, password })).to.equal(201);
      expect(await post("/auth/confirm", { token, password })).to.equal(422);
      expect(await post("/auth/sign-in", { email, password: wrong })).to.equal(401);
      expect(await post("/auth/sign-in", { email, password: { wrong } })).to.equal(422);
      expect(await post("/auth/sign-in", { email, password })).to.equal(200);
      expect(await post("/auth/email", { new_email: "canary2@people.example", password: wrong })).to.equal(422);
      expect(await post("/auth/email", { new_email: "canary2@people.example", password })).to.equal(202);
      await linkOf("email");
      expect(await post("/auth/password/forgot", { email })).to.equal(202);
      const reset = await linkOf("reset");
      expect(await post("/auth/password/reset", { token: reset, password: next })).to.equal(200);
      links.issue = issue;
    }

    /** Adds every row of every table to `places`. */
    async function readTables(): Promise<void> {
      const rows = async <R extends Record<string, unknown>>(sql: string): Promise<R[]> =>
        (await service.database.query<R>(sql)).rows;
      const tables = await rows<{ name: string }>(
        `select format('%I.%I', table_schema, table_name) as name from information_schema.tables
         where table_type = 'BASE TABLE' and table_schema not in ('pg_catalog', 'information_schema')`,
      );
      expect(tables.map(({ name }) => name)).to.include.members(["es.events", "work.items"]);
      for (const { name } of tables) {
        for (const { row } of await rows<{ row: string }>(`select t::text as row from ${name} t`))
          places.push([name, row]);
      }
    }
  });
}

const excerpt = (text: string): string => text.slice(0, 300);

describe("the search for secrets", () => {
  it("the search for secrets finds a secret in plain, hexadecimal, URL and base64 form, and not a part of it", () => {
    const secret = "canary-of-some-length-41";
    const forms = [secret, Buffer.from(secret).toString("hex"), encodeURIComponent(secret)];
    const basic = ["", "a", "ab", "agent\0"].map((name) => Buffer.from(`${name}${secret}:x`).toString("base64"));
    for (const text of [...forms, ...basic]) expect(givenAway(`x${text}x`, { secret }), text).to.deep.equal(["secret"]);
    expect(givenAway("canary-of-some", { secret })).to.deep.equal([]);
  });
});
