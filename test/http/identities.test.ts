import { expect } from "chai";
import type { Reads } from "#projections/reads.ts";
import { addressHash, releaseAddress } from "#src/commands/identities/addresses.ts";
import { deleteIdentity } from "#src/commands/identities/identities.ts";
import { sandboxDomainId } from "#src/commands/ids.ts";
import { createRecipients } from "#src/commands/inbound/recipients.ts";
import { defaultSettings } from "#streams/identity/defaults.ts";
import { reservedLocalParts } from "#streams/identity/reservedNames.ts";
import { operator } from "#test/support/cause.ts";
import { inFull, sized } from "#test/support/full.ts";
import { until } from "#test/support/inProcess.ts";
import { type Nouns, sandboxDomain, serveNouns, type Tenant } from "./nounsSupport.ts";

const unknown = "0193a0aa-0000-7000-8000-00000000dead";

describe("identities over HTTP", () => {
  let service: Nouns;
  let tenant: Tenant;
  let count = 0;
  before(async () => {
    service = await serveNouns();
    tenant = await service.workspace({ beta: true });
  });
  after(() => service.close());

  const body = (changes: object = {}, of = tenant) => ({
    domain_id: sandboxDomainId(of.workspaceId),
    local_part: `agent${++count}`,
    display_name: "Support",
    ...changes,
  });
  const create = (changes: object = {}, of = tenant) => of.ask("POST /v1/identities", { json: body(changes, of) });
  const made = async (changes: object = {}, of = tenant) => {
    const { status, json, text } = await create(changes, of);
    expect(status, text).to.equal(201);
    return json;
  };
  const patch = (id: string, json: unknown, of = tenant) => of.ask(`PATCH /v1/identities/${id}`, { json });

  describe("creation of an identity", () => {
    it("a new identity is answered 201 with the contract's fields and defaults [4 POST /v1/identities] [3 identity active] [8 thread_history_depth]", async () => {
      const asked = body();
      const { status, json } = await tenant.ask("POST /v1/identities", { json: asked });
      expect(status).to.equal(201);
      const { id, created_at, updated_at, ...rest } = json;
      expect(created_at).to.equal(updated_at);
      expect(rest).to.deep.equal({
        ...asked,
        workspace_id: tenant.workspaceId,
        email_address: `${asked.local_part}@${sandboxDomain}`,
        aliases: [],
        assistant_id: null,
        reply_to_email: null,
        signature_text: null,
        signature_html: null,
        html_removed: [],
        signature_difference: null,
        thread_history_depth: 10,
        status: "active",
        approval_channel: null,
        secondary_approval_channel: null,
        escalation_delay_minutes: null,
        can_send_cold: false,
        auto_approve_replies: false,
        require_human_approval: false,
        send_on_channel_approval: true,
        covered_recipients: [],
        confirm_code: false,
        edit_by_channel: false,
        approvals_required: 1,
        warnings: [],
      });
      expect((await tenant.ask(`GET /v1/identities/${id}`)).json).to.deep.equal(json);
    });

    it("an identity can have every local part that the contract allows, and no other", async () => {
      for (const local_part of ["a", "_x-1+y", "a.b-c", "9", "-", `${"x".repeat(63)}y`]) await made({ local_part });
      for (const local_part of ["", "A", "a b", "a@b", ".a", "a.", "a..b", "ä", "x".repeat(65), "a\r\nb", 1, null]) {
        const answer = await create({ local_part });
        expect([answer.outcome, answer.json.message.includes("local_part")], String(local_part)).to.deep.equal([
          "422 invalid_request",
          true,
        ]);
      }
    });

    for (const [what, changes, names, outcome = "422 invalid_request"] of [
      ["an email_address", { email_address: "a@agents.test" }, "email_address"],
      ["no display_name", { display_name: undefined }, "display_name"],
      ["a display_name of two lines", { display_name: "A\r\nBcc: x@example.com" }, "display_name"],
      ["a depth of 0", { thread_history_depth: 0 }, "thread_history_depth"],
      ["a depth of 21", { thread_history_depth: 21 }, "thread_history_depth"],
      ["a delay of 0", { escalation_delay_minutes: 0 }, "escalation_delay_minutes"],
      ["two reply-to addresses", { reply_to_email: "a@b.c, d@e.f" }, "reply_to_email"],
      ["an unknown domain", { domain_id: unknown }, "domain_id", "404 not_found"],
      ["an unknown assistant", { assistant_id: unknown }, "assistant_id", "404 not_found"],
      [
        "an approver hosted here",
        { approval_channel: { type: "email", config: { to: `Boss@${sandboxDomain.toUpperCase()}` } } },
        "approval_channel.config.to",
      ],
      [
        "a second approver hosted here",
        { secondary_approval_channel: { type: "email", config: { to: `boss+tag@${sandboxDomain}` } } },
        "secondary_approval_channel.config.to",
      ],
      [
        "a webhook on some other host",
        { approval_channel: { type: "slack", config: { webhook_url: "https://hooks.slack.com.evil.example/x" } } },
        "approval_channel.config.webhook_url",
      ],
      [
        "a webhook without TLS",
        { approval_channel: { type: "slack", config: { webhook_url: "http://hooks.slack.com/x" } } },
        "approval_channel.config.webhook_url",
      ],
      [
        "a bot token that is none",
        { approval_channel: { type: "telegram", config: { bot_token: "110201543:short/../token", chat_id: "1" } } },
        "approval_channel.config.bot_token",
      ],
      [
        "users who are no ids",
        {
          approval_channel: {
            type: "telegram",
            config: { bot_token: "110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw", chat_id: "1", allowed_users: "@ada" },
          },
        },
        "approval_channel.config.allowed_users",
      ],
      [
        "Slack users without a bot token to ask them",
        {
          approval_channel: {
            type: "slack",
            config: {
              webhook_url: "https://hooks.slack.com/services/T/B/x",
              allowed_users: "U0ADA",
              signing_secret: "s",
            },
          },
        },
        "approval_channel.config.allowed_users",
      ],
      [
        "Slack users without a signing secret that proves them",
        {
          approval_channel: {
            type: "slack",
            config: {
              webhook_url: "https://hooks.slack.com/services/T/B/x",
              allowed_users: "U0ADA",
              bot_token: "xoxb-1",
            },
          },
        },
        "approval_channel.config.allowed_users",
      ],
      [
        "a mask of nothing",
        { approval_channel: { type: "telegram", config: { bot_token: "****abcd", chat_id: "1" } } },
        "approval_channel.config.bot_token",
      ],
    ] as const) {
      it(`a new identity with ${what} is refused`, async () => {
        const answer = await create(changes);
        expect(answer.outcome).to.equal(outcome);
        expect(answer.json.message).to.contain(names);
      });
    }

    const bot = "110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw";
    const inTelegram = (chat_id: unknown) =>
      create({ approval_channel: { type: "telegram", config: { bot_token: bot, chat_id } } });
    const inSlack = (channel: string, more: object = { bot_token: "xoxb-1" }) => {
      const config = { webhook_url: "https://hooks.slack.com/services/T/B/x", channel, ...more };
      return create({ secondary_approval_channel: { type: "slack", config } });
    };

    it("a chat_id that is a number or a public name is accepted", async () => {
      const ids = ["42", "-5", "-1001234567890", "4503599627370495", "@public_group", "@Shop1"];
      for (const id of ids) expect((await inTelegram(id)).status, id).to.equal(201);
    });

    it("a chat_id that names no chat is refused, and so are other texts in place of a Slack channel", async () => {
      const none = [
        ...["-1001234567890:17", "-1001234567890_17", "https://t.me/shop", "t.me/shop", "https://t.me/c/1234567890/17"],
        ...[
          "https://t.me/+AbCdEf",
          "tg://resolve?domain=shop",
          " -1001234567890",
          "-100 123",
          "   ",
          "\t",
          "\u2212100123",
        ],
        ...["@", "@ab", "@a b", "@shop/17", "shop", "My group", "0", "-0", "+4915112345678", "1e9", "12.5", "NaN"],
        ...["10000000000000000000", "\uff14\uff12", "42\n", "42,43", "@shop\u202e"],
      ];
      for (const id of none) {
        const { outcome, json } = await inTelegram(id);
        expect([outcome, json.field], id).to.deep.equal(["422 invalid_request", "approval_channel.config.chat_id"]);
        expect(json.message, id).to.match(/: expected the chat's number, which begins with a minus for a group/);
      }
      expect((await inTelegram(-1_001_234_567_890)).json.field).to.equal("approval_channel.config.chat_id");
      for (const channel of ["C0123456789", "#approvals", "approvals", "#übersicht-2", "#承認"])
        expect((await inSlack(channel)).status, channel).to.equal(201);
      expect((await inSlack("Approvers' room (a label)", {})).status).to.equal(201);
      const links = ["https://shop.slack.com/archives/C0123456789", "slack://channel?id=C1"];
      for (const channel of [...links, "  ", "#", "@ada", "two words", "<#C0123456789|a>", "C0123456789:17.1", "a,b"]) {
        const { outcome, json } = await inSlack(channel);
        const field = "secondary_approval_channel.config.channel";
        expect([outcome, json.field], channel).to.deep.equal(["422 invalid_request", field]);
        expect(json.message, channel).to.include("expected the channel's id (C0123456789)");
      }
    });

    it("reserved local parts and those that look like them are refused", async () => {
      const own = ["countersign-mail", "approvals7", "c0unter.s1gn", "your+approval", "no-reply"];
      const names = [reservedLocalParts, ["postmaster+x", "a.b.u.s.e", "web.master+x"], own].flat();
      for (const local_part of inFull ? names : names.slice(-8)) {
        const answer = await create({ local_part });
        expect([answer.outcome, answer.json.field], local_part).to.deep.equal(["422 invalid_request", "local_part"]);
        expect(answer.json.message).to.match(/^local_part: .*reserved.*: choose another local_part/);
      }
      // Capitals and letters of other alphabets are never allowed in a local part.
      const lookAlikes = [
        "Abuse",
        "ABUSE",
        "\uff41buse",
        "аdmin",
        "postm\u00e4ster",
        "admin\u200b",
        "\u2170t",
        "root@x",
        " root",
      ];
      for (const local_part of lookAlikes) {
        const answer = await create({ local_part });
        expect([answer.outcome, answer.json.field], local_part).to.deep.equal(["422 invalid_request", "local_part"]);
      }
      for (const local_part of ["administrators", "it-support"]) {
        expect((await create({ local_part })).status, local_part).to.equal(201);
      }
    });

    it("the service's name is refused as a display name, in a new identity and in a change", async () => {
      for (const display_name of ["Countersign", "Соuntersign approvals"]) {
        const answer = await create({ display_name });
        expect([answer.outcome, answer.json.field]).to.deep.equal(["422 invalid_request", "display_name"]);
      }
      const { id } = await made();
      expect((await patch(id, { display_name: "COUNTER-SIGN" })).outcome).to.equal("422 invalid_request");
    });

    it("an address with a tag and the one without it belong to one workspace, whichever is made first", async () => {
      const other = await service.workspace();
      const status = async (local_part: string, of: Tenant) => (await create({ local_part }, of)).status;
      expect(await status("tagged+orders", tenant)).to.equal(201);
      for (const local_part of ["tagged", "tagged+sales", "tagged+orders+x"]) {
        expect(await status(local_part, other), local_part).to.equal(409);
        expect(await status(local_part, tenant), local_part).to.equal(201);
      }
      expect(await status("plain", other)).to.equal(201);
      expect(await status("plain+orders", tenant)).to.equal(409);
      expect(await status("plain+orders", other)).to.equal(201);
    });

    it("of two workspaces that ask in parallel, one gets an address and all its tags", async () => {
      const other = await service.workspace({ beta: true });
      const resolve = createRecipients(service.deps);
      for (let round = 0; round < sized(8, 40); round++) {
        const name = `raced${round}`;
        const asked: [string, Tenant][] = [
          [`${name}+orders`, tenant],
          [name, other],
          [`${name}+sales`, other],
        ];
        const answers = await Promise.all(asked.map(([local_part, of]) => create({ local_part }, of)));
        const statuses = answers.map(({ status }) => status);
        const owner = statuses[0] === 201 ? tenant : other;
        expect(statuses, name).to.deep.equal(owner === tenant ? [201, 409, 409] : [409, 201, 201]);
        for (const tag of ["", "+orders", "+sales", "+more"]) {
          const found = await resolve(`${name}${tag}@${sandboxDomain}`);
          if (found) expect(found, name + tag).to.include({ kind: "identity", workspaceId: owner.workspaceId });
        }
      }
    });

    it("an identity keeps its address when its local part is reserved later", async () => {
      const identityId = service.deps.ids.uuid();
      const localPart = "hostmaster";
      const emailAddress = `${localPart}@${sandboxDomain}`;
      const { workspaceId } = tenant;
      const domainId = sandboxDomainId(workspaceId);
      const identity = { ...defaultSettings, workspaceId, domainId, localPart, emailAddress, displayName: "Old" };
      const made = await service.deps.identities.handle(identityId, { type: "CreateIdentity", identity }, operator());
      await until(() => service.deps.projected(made.position));
      const { status, json } = await patch(identityId, { display_name: "New" });
      expect([status, json.display_name, json.email_address]).to.deep.equal([200, "New", emailAddress]);
      expect((await patch(identityId, { local_part: "abuse" })).outcome).to.equal("422 invalid_request");
    });

    it("the address that approval mails come from is refused, whatever its name", async () => {
      const { settings } = service.deps;
      const { approvalsFrom } = settings;
      settings.approvalsFrom = `Decisions@${sandboxDomain}`;
      try {
        for (const local_part of ["decisions", "decisions+x"]) {
          const answer = await create({ local_part });
          expect([answer.outcome, answer.json.field]).to.deep.equal(["409 invalid_request", "local_part"]);
        }
      } finally {
        settings.approvalsFrom = approvalsFrom;
      }
    });

    it("another workspace's domain is refused like one that does not exist", async () => {
      const other = await service.workspace();
      const [foreign, missing] = [
        await create({ domain_id: sandboxDomainId(other.workspaceId) }),
        await create({ domain_id: unknown }),
      ];
      expect({ ...foreign.json, request_id: "" }).to.deep.equal({ ...missing.json, request_id: "" });
      expect(foreign.status).to.equal(404);
    });

    it("an address in use is refused, in its own workspace and in any other [7 409 invalid_request]", async () => {
      const { local_part } = await made();
      const other = await service.workspace();
      for (const answer of [await create({ local_part }), await create({ local_part }, other)]) {
        expect(answer.outcome).to.equal("409 invalid_request");
        expect(answer.json.message).to.contain("local_part");
      }
    });

    it("of parallel requests for one address, one succeeds", async () => {
      const other = await service.workspace({ beta: true });
      for (let round = 0; round < sized(5, 20); round++) {
        const local_part = `contended${round}`;
        const answers = await Promise.all(
          Array.from({ length: 8 }, (_, n) => create({ local_part }, n % 4 === 3 ? other : tenant)),
        );
        expect(answers.map(({ status }) => status).sort()).to.deep.equal([201, ...Array(7).fill(409)]);
      }
      const { rows } = await service.database.reads.ofAll.query(
        "select email_address from identities where deleted_at is null group by email_address having count(*) > 1",
      );
      expect(rows).to.deep.equal([]);
    });

    it("an address that was claimed by an interrupted creation can be used by its workspace alone", async () => {
      const local_part = `interrupted${++count}`;
      const address = `${local_part}@${sandboxDomain}`;
      await service.deps.emailAddresses.handle(
        addressHash(address),
        {
          type: "ClaimAddress",
          address,
          identityId: service.deps.ids.uuid(),
          workspaceId: tenant.workspaceId,
          sandbox: true,
        },
        operator(),
      );
      const other = await service.workspace();
      expect((await create({ local_part }, other)).outcome).to.equal("409 invalid_request");
      const answers = await Promise.all([1, 2, 3].map(() => create({ local_part })));
      expect(answers.map(({ status }) => status).sort()).to.deep.equal([201, 409, 409]);
    });

    it("identities are limited by the plan, also in parallel; a refused one does not count [8 identities] [7 402 plan_limit_reached]", async () => {
      const pro = await service.workspace({ plan: "pro" });
      const { local_part } = await made();
      for (let n = 0; n < 12; n++) expect((await create({ local_part }, pro)).status).to.equal(409);
      const answers = await Promise.all(Array.from({ length: 16 }, () => create({}, pro)));
      const refused = answers.filter(({ status }) => status !== 201);
      expect(answers.length - refused.length).to.equal(10);
      for (const answer of refused) {
        expect(answer.outcome).to.equal("402 plan_limit_reached");
        expect(answer.json.upgrade_url).to.equal("https://example.com/upgrade");
      }
      const [first] = (await pro.ask("GET /v1/identities")).json.data;
      await pro.ask(`DELETE /v1/identities/${first.id}`);
      const again = await Promise.all([create({}, pro), create({}, pro)]);
      expect(again.map(({ status }) => status).sort()).to.deep.equal([201, 402]);
    });
  });

  describe("list of identities", () => {
    it("identities are listed by domain and status, the newest first [4 GET /v1/identities] [4 GET /v1/identities/{id}]", async () => {
      const of = await service.workspace();
      const [one, two, three] = [await made({}, of), await made({}, of), await made({}, of)];
      await patch(two.id, { status: "disabled" }, of);
      const ids = async (query: string) =>
        (await of.ask(`GET /v1/identities${query}`)).json.data.map(({ id }: { id: string }) => id);
      expect(await ids("")).to.deep.equal([three.id, two.id, one.id]);
      expect(await ids("?status=active")).to.deep.equal([three.id, one.id]);
      expect(await ids("?status=disabled")).to.deep.equal([two.id]);
      expect(await ids(`?domain_id=${sandboxDomainId(of.workspaceId).toUpperCase()}`)).to.have.length(3);
      expect(await ids(`?domain_id=${unknown}`)).to.deep.equal([]);
      expect(await ids(`?domain_id=${sandboxDomainId(tenant.workspaceId)}`)).to.deep.equal([]);
      expect((await of.ask("GET /v1/identities?limit=1&offset=1")).json).to.deep.include({
        total: 3,
        limit: 1,
        offset: 1,
      });
      for (const query of ["status=deleted", "domain_id=x", "state=active", "limit=0", "limit=101", "offset=-1"]) {
        expect((await of.ask(`GET /v1/identities?${query}`)).status, query).to.equal(422);
      }
    });
  });

  describe("change of an identity", () => {
    it("a changed identity keeps the fields that were not given [4 PATCH /v1/identities/{id}]", async () => {
      const before = await made({ signature_text: "Bye", reply_to_email: "team@example.com" });
      const { json: after } = await patch(before.id, { display_name: "New", signature_text: null });
      expect({ ...after, updated_at: "" }).to.deep.equal({
        ...before,
        display_name: "New",
        signature_text: null,
        updated_at: "",
      });
      expect(after.updated_at > before.updated_at).to.equal(true);
      expect((await patch(before.id, {})).json).to.deep.equal(after);
    });

    for (const field of ["local_part", "email_address", "domain_id", "can_send_cold", "id"]) {
      it(`the ${field} of an identity cannot be changed`, async () => {
        const { id } = await made();
        const answer = await patch(id, { [field]: field === "can_send_cold" ? true : "other" });
        expect(answer.outcome).to.equal("422 invalid_request");
      });
    }

    it("an escalation delay is 60 minutes by default where there is a secondary channel", async () => {
      const secondary_approval_channel = { type: "email", config: { to: "second@example.com" } };
      expect((await made({ secondary_approval_channel })).escalation_delay_minutes).to.equal(60);
      expect(
        (await made({ secondary_approval_channel, escalation_delay_minutes: 5 })).escalation_delay_minutes,
      ).to.equal(5);
      const { id } = await made();
      expect((await patch(id, { secondary_approval_channel })).json.escalation_delay_minutes).to.equal(60);
      expect((await patch(id, { escalation_delay_minutes: null })).json.escalation_delay_minutes).to.equal(60);
    });
  });

  describe("secrets of channels", () => {
    const telegram = (bot_token: string) => ({ type: "telegram", config: { bot_token, chat_id: "42" } });

    it("secrets of channels are masked in answers and sealed in the log and the read model", async () => {
      const token = "110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw";
      const slack = {
        webhook_url: "https://hooks.slack.com/services/T0/B0/XyZwVu",
        channel: "#ok",
        signing_secret: "8f742231b10e8888",
      };
      const identity = await made({
        approval_channel: telegram(token),
        secondary_approval_channel: { type: "slack", config: slack },
      });
      expect(identity.approval_channel).to.deep.equal(telegram("****Dsaw"));
      expect(identity.secondary_approval_channel.config).to.deep.equal({
        webhook_url: "****ZwVu",
        channel: "#ok",
        signing_secret: "****8888",
      });
      const { rows } = await service.database.reads.ofAll.query(
        "select e.data::text as text from es.events e where stream_id = $1 union all select i::text from identities i where id = $2",
        [`identity-${identity.id}`, identity.id],
      );
      expect(rows).to.have.length(2);
      for (const secret of [token, slack.webhook_url, slack.signing_secret])
        expect(JSON.stringify(rows)).not.to.contain(secret);
    });

    it("a channel keeps its secret when the mask is sent back; a new secret replaces it", async () => {
      const plain = async (id: string) => {
        const { rows } = await service.database.reads.ofAll.query(
          "select workspace_id, approval_channel from identities where id = $1",
          [id],
        );
        const owner = { workspaceId: rows[0]!.workspace_id, field: "approvalChannel.bot_token" };
        return service.deps.keyRing.open(rows[0]!.approval_channel.config.bot_token, owner);
      };
      const first = "110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PA-oken";
      const second = "110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PA-tbot";
      const { id, approval_channel } = await made({ approval_channel: telegram(first) });
      const moved = { ...approval_channel, config: { ...approval_channel.config, chat_id: "43" } };
      expect((await patch(id, { approval_channel: moved })).json.approval_channel.config).to.deep.equal({
        bot_token: "****oken",
        chat_id: "43",
      });
      expect(await plain(id)).to.equal(first);
      await patch(id, { approval_channel: telegram(second) });
      expect(await plain(id)).to.equal(second);
      const stale = await patch(id, { approval_channel });
      expect([stale.outcome, await plain(id)]).to.deep.equal(["422 invalid_request", second]);
      const elsewhere = await patch(id, { secondary_approval_channel: telegram("****-bot") });
      expect(elsewhere.outcome).to.equal("422 invalid_request");
    });
  });

  describe("covered recipients [d14 grants]", () => {
    it("covered recipients are stored as given and replaced as a whole", async () => {
      const team = ["Team@example.com", "boss@example.com"];
      const identity = await made({ covered_recipients: team });
      expect(identity.covered_recipients).to.deep.equal(team);
      expect((await patch(identity.id, { display_name: "Same" })).json.covered_recipients).to.deep.equal(team);
      expect((await patch(identity.id, { covered_recipients: [] })).json.covered_recipients).to.deep.equal([]);
    });

    it("covered recipients are at most 20 plain addresses", async () => {
      const { id } = await made();
      const addresses = (count: number) => Array.from({ length: count }, (_, n) => `a${n}@example.com`);
      expect((await patch(id, { covered_recipients: addresses(20) })).status).to.equal(200);
      const wrong = [addresses(21), ["Ann <ann@example.com>"], ["a@example.com, b@example.com"], [1], "a@example.com"];
      for (const covered_recipients of [...wrong, null]) {
        const answer = await patch(id, { covered_recipients });
        expect(answer.outcome, JSON.stringify(covered_recipients)).to.equal("422 invalid_request");
        expect(answer.json.message).to.contain("covered_recipients");
      }
    });
  });

  describe("approvals_required", () => {
    const email = (to: string) => ({ type: "email", config: { to } });
    const slack = (more = {}) => ({
      type: "slack",
      config: { webhook_url: "https://hooks.slack.com/services/T/B/x", ...more },
    });
    const telegram = (chat_id: string, more = {}) => ({
      type: "telegram",
      config: { bot_token: `1:${"a".repeat(35)}`, chat_id, ...more },
    });

    it("approvals_required is 1 to 5, and 1 by default [d13 quorum]", async () => {
      expect((await made()).approvals_required).to.equal(1);
      const { id } = await made({ approvals_required: 5 });
      expect((await patch(id, { approvals_required: 2 })).json.approvals_required).to.equal(2);
      for (const approvals_required of [0, 6, 1.5, "2", null]) {
        const answer = await patch(id, { approvals_required });
        expect(answer.outcome, String(approvals_required)).to.equal("422 invalid_request");
        expect(answer.json.message).to.contain("approvals_required");
      }
    });

    it("an identity warns if members have to give approvals; only approvers whom no channel asks count", async () => {
      const own = await service.workspace({ beta: true });
      const channel = { approval_channel: email("boss@example.com"), require_human_approval: true };
      const { id } = await made({ approvals_required: 2, ...channel }, own);
      const warning = async (): Promise<string> => (await own.ask(`GET /v1/identities/${id}`)).json.warnings[0];
      const join = async (address: string, role: "auditor" | "approver") => {
        const [memberId, userId] = [service.deps.ids.uuid(), service.deps.ids.uuid()];
        const member = { type: "JoinMember", memberId, userId, email: address, role } as const;
        await service.deps.members.handle(own.workspaceId, member, operator(own.workspaceId));
      };
      await join("Boss+2@example.com", "approver");
      await join("auditor@example.com", "auditor");
      expect(await warning()).to.contain("drafts can never be approved");
      await join("ann@example.com", "approver");
      expect(await warning()).to.contain(
        "its approval channels have 1 approver: signed-in members have to give the other approvals",
      );
    });

    it("an identity warns if its channels have too few approvers", async () => {
      const one = email("boss@example.com");
      const warnings = async (changes: object): Promise<string[]> =>
        (await made({ approvals_required: 2, ...changes })).warnings;
      expect((await warnings({ approval_channel: one }))[0]).to.contain("an API key has to give the last approval");
      const never = "drafts can never be approved";
      for (const changes of [
        { approval_channel: one, require_human_approval: true },
        { approval_channel: one, secondary_approval_channel: email("BOSS@example.com"), approvals_required: 3 },
        { approval_channel: slack(), require_human_approval: true },
        {
          ...{ approval_channel: slack(), require_human_approval: true },
          secondary_approval_channel: slack({ webhook_url: "https://hooks.slack.com/services/T/B/y" }),
        },
        {
          approval_channel: one,
          secondary_approval_channel: email("boss+2@example.com"),
          require_human_approval: true,
        },
        { approval_channel: telegram("42"), require_human_approval: true },
        { approval_channel: telegram("-42", { allowed_users: "7" }), require_human_approval: true },
        {},
      ])
        expect((await warnings(changes))[0] ?? "none", JSON.stringify(changes)).to.match(
          "require_human_approval" in changes || "approvals_required" in changes ? new RegExp(never) : /never|API key/,
        );
      for (const changes of [
        { approval_channel: one, secondary_approval_channel: email("other@example.com") },
        { approval_channel: telegram("-42") },
        { approval_channel: telegram("-42", { allowed_users: "7, 8" }) },
        { approval_channel: slack({ signing_secret: "shhh" }) },
        { approvals_required: 1 },
      ])
        expect(await warnings(changes), JSON.stringify(changes)).to.deep.equal([]);
    });

    it("an identity warns if approvers may edit in a channel where they cannot", async () => {
      const warnings = async (changes: object): Promise<string[]> =>
        (await made({ edit_by_channel: true, ...changes })).warnings;
      const mail = "without confirm_code: turn on confirm_code";
      const chat = "without a bot_token: add the bot_token";
      for (const [changes, ...wanted] of [
        [{ approval_channel: email("boss@example.com") }, mail],
        [{ approval_channel: slack(), secondary_approval_channel: email("boss@example.com") }, mail, chat],
        [{ approval_channel: slack() }, chat],
        [{ approval_channel: email("boss@example.com"), confirm_code: true }],
        [{ approval_channel: slack({ bot_token: "xoxb-1", channel: "C1" }) }],
        [{ approval_channel: telegram("-42") }],
        [{ approval_channel: email("boss@example.com"), edit_by_channel: false }],
      ] as [object, ...string[]][]) {
        const given = await warnings(changes);
        expect(given, JSON.stringify(changes)).to.have.length(wanted.length);
        for (const words of wanted) expect(given.join()).to.contain(words);
      }
    });
  });

  describe("require_human_approval", () => {
    const email = (to: string) => ({ type: "email", config: { to } });

    it("a key without write:approvals cannot loosen the approval of an identity that requires a person", async () => {
      const guarded = await made({
        require_human_approval: true,
        approval_channel: email("boss@example.com"),
        confirm_code: true,
        approvals_required: 2,
      });
      const scopes = ["read:identities", "write:identities"];
      const { json: agent } = await tenant.ask("POST /v1/api-keys", { json: { name: "agent", scopes } });
      const byAgent = (json: object) => service.ask(`PATCH /v1/identities/${guarded.id}`, { key: agent.key, json });
      for (const loosened of [
        { require_human_approval: false },
        { approval_channel: email("agent@example.com") },
        { approval_channel: null },
        { secondary_approval_channel: email("agent@example.com") },
        { display_name: "Innocent", require_human_approval: false },
        { covered_recipients: ["agent@example.com"] },
        { confirm_code: false },
        { approvals_required: 1 },
        { approvals_required: 3 },
        { reply_to_email: "agent@example.com" },
        { display_name: "Your bank" },
        { send_on_channel_approval: false },
        { edit_by_channel: true },
      ]) {
        expect((await byAgent(loosened)).outcome, JSON.stringify(loosened)).to.equal("401 insufficient_scope");
      }
      const allowed = await byAgent({ signature_text: "Changed", approval_channel: email("boss@example.com") });
      expect([allowed.status, allowed.json.signature_text]).to.deep.equal([200, "Changed"]);
      const loosened = await patch(guarded.id, { require_human_approval: false, approval_channel: null });
      expect([loosened.status, loosened.json.require_human_approval]).to.deep.equal([200, false]);
      expect((await byAgent({ approval_channel: email("other@example.com") })).status).to.equal(200);
      expect((await byAgent({ confirm_code: false })).json.confirm_code).to.equal(false);
      expect((await byAgent({ require_human_approval: true })).status).to.equal(200);
      const lowered = await patch(guarded.id, { approvals_required: 1 });
      expect([lowered.status, lowered.json.approvals_required]).to.deep.equal([200, 1]);
      // Stricter settings need no right.
      expect((await byAgent({ confirm_code: true })).json.confirm_code).to.equal(true);
    });
  });

  describe("deletion of an identity", () => {
    it("a deleted identity is not found and not listed any more [4 DELETE /v1/identities/{id}]", async () => {
      const { id } = await made();
      const deleted = await tenant.ask(`DELETE /v1/identities/${id}`);
      expect([deleted.status, deleted.json]).to.deep.equal([200, { id, deleted: true }]);
      for (const line of [`GET /v1/identities/${id}`, `DELETE /v1/identities/${id}`]) {
        expect((await tenant.ask(line)).outcome, line).to.equal("404 not_found");
      }
      expect((await patch(id, { display_name: "x" })).outcome).to.equal("404 not_found");
      expect((await tenant.ask("GET /v1/identities?limit=100")).text).not.to.contain(id);
    });

    it("a deleted identity's sandbox address can be used again at once, by the same workspace alone", async () => {
      const identity = await made();
      const other = await service.workspace();
      await tenant.ask(`DELETE /v1/identities/${identity.id}`);
      expect((await create({ local_part: identity.local_part }, other)).status).to.equal(409);
      const again = await made({ local_part: identity.local_part });
      expect(again.id).not.to.equal(identity.id);
    });

    it("a deleted identity's address stays taken while its mail is being sent", async () => {
      const { id: identityId, local_part } = await made();
      const { workspaceId } = tenant;
      const sending = { of: () => ({ query: async () => ({ rows: [{ id: unknown }] }) }) } as unknown as Reads;
      const busy = { ...service.deps, reads: sending };
      await deleteIdentity(busy, { workspaceId, identityId, mayLoosen: true }, operator(workspaceId));
      expect((await create({ local_part })).status).to.equal(409);
      const deleted = { workspaceId, identityId };
      expect(await releaseAddress(busy, deleted, operator(workspaceId))).to.equal(false);
      expect(await releaseAddress(service.deps, deleted, operator(workspaceId))).to.equal(true);
      const { id } = await made({ local_part });
      // A repeated release does not take the address from its new owner.
      await releaseAddress(service.deps, deleted, operator(workspaceId));
      expect((await create({ local_part })).status).to.equal(409);
      expect((await tenant.ask(`GET /v1/identities/${id}`)).status).to.equal(200);
    });
  });

  it("another workspace's identity is answered like one that does not exist", async () => {
    const { id } = await made();
    const other = await service.workspace();
    for (const line of ["GET", "DELETE"]) {
      const answers = await Promise.all([id, unknown, "x"].map((each) => other.ask(`${line} /v1/identities/${each}`)));
      for (const { outcome, json } of answers) {
        expect([outcome, json.message]).to.deep.equal(["404 not_found", "no such resource"]);
      }
    }
    for (const json of [{ display_name: "x" }, { nonsense: 1 }]) {
      expect((await patch(id, json, other)).outcome).to.equal("404 not_found");
    }
    expect((await tenant.ask(`GET /v1/identities/${id}`)).json.display_name).to.equal("Support");
  });

  it("creating an identity needs write:identities", async () => {
    const reader = await service.workspace({ scopes: ["read:identities"] });
    expect((await reader.ask("GET /v1/identities")).status).to.equal(200);
    expect((await create({}, reader)).outcome).to.equal("401 insufficient_scope");
  });
});
