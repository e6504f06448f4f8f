import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect } from "chai";
import pg from "pg";
import { sealedCategories } from "#src/commands/secrets/rotate.ts";
import { fold } from "#streams/decider.ts";
import { categoryOf } from "#streams/event.ts";
import { runHere } from "#test/support/commandHere.ts";
import { webhookHost } from "#test/support/examples/world.ts";
import { sourceFiles, textOf } from "#test/support/imports.ts";
import { type InProcess, startInProcess, type Workspace } from "#test/support/inProcess.ts";
import { type SecondInstance, startSecondInstance } from "#test/support/secondInstance.ts";
import { commandArguments } from "../../../scripts/support/childProcess.ts";

const run = promisify(execFile);
const key = (kid: string, fill: number) => `${kid}:${Buffer.alloc(32, fill).toString("base64")}`;
const [old, young] = [key("old", 1), key("young", 2)];
/** `kid.iv.ciphertext.tag`, as src/platform/secrets/keyRing.ts writes it. */
const sealedText = /"([A-Za-z0-9_-]{1,32})\.[A-Za-z0-9_-]{16}\.[A-Za-z0-9_-]*\.[A-Za-z0-9_-]{22}"/g;
const kidsIn = (text: string): string[] => [...text.matchAll(sealedText)].map((match) => match[1] as string);

describe("npm run secrets", () => {
  let service: InProcess;
  let workspace: Workspace;
  let owner: pg.Client;
  const ids: Record<string, string> = {};

  const environment = (ring: string) => ({
    NODE_ENV: "test",
    DATABASE_URL: service.urls.serviceUrl,
    DATABASE_OWNER_URL: service.urls.ownerUrl,
    SECRETS_KEYS: ring,
  });
  const secrets = async (command: string, ring = `${young},${old}`) => {
    const { code, out, err } = await runHere("secrets", [command], environment(ring));
    expect(code, err).to.equal(0);
    return JSON.parse(out);
  };
  const asProcess = async (command: string, ring = `${young},${old}`) => {
    const env = { ...process.env, ...environment(ring) };
    const { stdout } = await run(process.execPath, [...commandArguments("secrets"), command], { env });
    return JSON.parse(stdout);
  };
  const made = async (line: string, json: unknown) => {
    const answer = await workspace.ask(line, { json });
    expect(answer.status, answer.text).to.be.below(300);
    return answer.json;
  };

  before(async () => {
    service = await startInProcess({ SECRETS_KEYS: old, WEBHOOK_ALLOWED_HOSTS: webhookHost });
    workspace = await service.workspace();
    owner = new pg.Client({ connectionString: service.urls.ownerUrl });
    await owner.connect();
    const telegram = (token: string) => ({ type: "telegram", config: { bot_token: token, chat_id: "1" } });
    const domains = await workspace.ask("GET /v1/domains");
    const identity = await made("POST /v1/identities", {
      domain_id: domains.json.data[0].id,
      local_part: "sealed",
      display_name: "Sealed",
      approval_channel: telegram("111:first-token-of-thirty-letters-AAAA"),
      secondary_approval_channel: {
        type: "slack",
        config: { webhook_url: "https://hooks.slack.com/services/T/B/BBBB", channel: "#a" },
      },
    });
    const rule = await made("POST /v1/rules", {
      name: "tells",
      trigger_event: "draft.stale",
      actions: [
        {
          type: "notify_channel",
          channel: "telegram",
          config: telegram("222:second-token-of-thirty-letters-CCCC").config,
        },
      ],
    });
    const webhook = await made("POST /v1/webhooks", { url: `http://${webhookHost}/h`, events: ["draft.stale"] });
    await made(`POST /v1/webhooks/${webhook.id}/rotate-secret`, undefined);
    await made("POST /v1/domains", { domain_name: "sealed.example" });
    Object.assign(ids, { identity: identity.id, rule: rule.id, webhook: webhook.id });
    await service.caughtUp();
  });
  after(async () => {
    await owner.end();
    await service.stop();
  });

  it("npm run secrets finds every stream with a secret: nothing else in the log holds sealed text", async () => {
    const { rows } = await owner.query("select stream_id, data::text as data from es.events");
    const sealed = rows.filter(({ data }) => kidsIn(data).length > 0).map(({ stream_id }) => categoryOf(stream_id));
    expect([...new Set(sealed)].sort()).to.deep.equal([...sealedCategories].sort());
  });

  it("npm run secrets knows every place that seals, so that a new one is sealed again too", () => {
    const sealing = sourceFiles("src").filter((file) => textOf(file).includes("keyRing.seal("));
    const names = [
      "approvals/approvalChannels",
      // Rows that live for a few days, outside the log: if the key is gone, the person who was asked for a text has to press again.
      "approvals/telegram/edits",
      "approvals/telegram/reasons",
      "domains/domains",
      "rules/ruleSecrets",
      "secrets/rotate",
      "webhooks",
    ];
    expect(sealing).to.have.members(names.map((name) => `src/commands/${name}.ts`));
  });

  it("npm run secrets reports how many secrets each key seals, and seals them again, once", async () => {
    const before = await secrets("status");
    expect(Object.keys(before.secrets)).to.deep.equal(["old"]);
    const rotated = await asProcess("rotate");
    expect(rotated).to.deep.equal({
      streams_resealed: sealedCategories.length,
      cannot_be_opened: [],
      secrets: { young: before.secrets.old },
    });
    expect((await secrets("rotate")).streams_resealed).to.equal(0);
  });

  it("after npm run secrets nothing needs the old key: no state of a stream, and no read model", async () => {
    const { rows } = await owner.query("select stream_id, type, data from es.events order by position");
    const streams = new Map<string, any[]>();
    for (const row of rows) streams.set(row.stream_id, [...(streams.get(row.stream_id) ?? []), row]);
    for (const [stream, events] of streams) {
      const category = categoryOf(stream);
      if (!sealedCategories.includes(category)) continue;
      const { [`${category}Decider`]: decider } = await import(`../../../streams/${category}/decider.ts`);
      const state = JSON.stringify(fold(decider, events));
      expect(kidsIn(state), stream).to.include("young").and.not.include("old");
    }
    await service.caughtUp();
    const { rows: tables } = await owner.query(
      "select format('%I.%I', schemaname, tablename) as name from pg_tables where schemaname not in ('es', 'pg_catalog', 'information_schema')",
    );
    await owner.query("begin");
    for (const { name } of tables) {
      await owner.query(`alter table ${name} no force row level security`);
      const { rows: held } = await owner.query(`select t::text as row from ${name} t where t::text like '%old.%'`);
      expect(held, name).to.deep.equal([]);
    }
    await owner.query("rollback");
  });

  it("every secret opens and every API key works without the old key in the ring", async () => {
    let instance: SecondInstance | undefined;
    try {
      instance = await startSecondInstance(service.urls, { SECRETS_KEYS: young, WEBHOOK_ALLOWED_HOSTS: webhookHost });
      const { url } = instance;
      const read = async (path: string) => {
        const response = await fetch(url + path, { headers: { authorization: `Bearer ${workspace.key}` } });
        return (await response.json()) as any;
      };
      const identity = await read(`/v1/identities/${ids.identity}`);
      expect(identity.approval_channel.config.bot_token).to.equal("****AAAA");
      expect(identity.secondary_approval_channel.config.webhook_url).to.equal("****BBBB");
      const rule = await read(`/v1/rules/${ids.rule}`);
      expect(rule.actions[0].config.bot_token).to.equal("****CCCC");
      expect(rule.updated_at).to.equal(rule.created_at);
      expect((await secrets("status", young)).secrets).to.have.keys("young");
    } finally {
      await instance?.stop();
    }
  });
});
