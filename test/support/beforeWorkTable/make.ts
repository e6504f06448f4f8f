import { type ChildProcess, spawnSync } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { createClient, until } from "../../../scripts/support/client.ts";
import { testSettings } from "../settings.ts";
import { type SmtpRelay, startSmtpRelay } from "../smtpRelay.ts";
import type { Stored } from "./restore.ts";

/**
 * Makes rows.jsonl, what the service of commit d4cd11be, the last one before the work table, left in its database with a draft in each state:
 *
 *   git worktree add ../before d4cd11be && ln -s "$PWD/node_modules" ../before/node_modules
 *   npx tsx test/support/beforeWorkTable/make.ts ../before
 *
 * It drives that service as a customer, an agent and an approver would, with kills at its crash points. Read models are left out: a release that
 * changes one makes it anew from the log.
 */
const before = process.argv[2];
if (!before) throw new Error("Say where the worktree of d4cd11be is.");

type Client = ReturnType<typeof createClient>;
type Instance = Awaited<ReturnType<typeof start>>;

const tables = ["es.events", "work.leases", "work.timers", "work.parked", "work.blobs", "work.migrations"];
const dataDir = await mkdtemp(join(tmpdir(), "countersign-before-"));
const relay = await startSmtpRelay();
const settings = {
  ...testSettings,
  DATA_DIR: dataDir,
  npm_lifecycle_event: "before",
  MAIL_PROVIDER: "smtp",
  SMTP_URL: relay.url,
  NOTIFY_THROTTLE_SECONDS: "0",
  SMTP_RETRY_SECONDS: "3600",
};
let key: string | undefined;
let running: Instance | undefined;

async function start(more: Record<string, string> = {}) {
  const { startInstance } = await import(join(before!, "scripts/support/instance.ts"));
  const instance = await startInstance({ ...settings, ...more });
  key ??= instance.apiKey as string;
  running = instance;
  return instance as { url: string; smtpPort: number; child: ChildProcess; stop(): Promise<void> };
}

const clientOf = (instance: Instance, apiKey = key!): Client => createClient({ ...instance, apiKey });

/** A workspace beside the first one, and its key. */
function anotherWorkspace(name: string): string {
  const args = ["--import", "tsx", "scripts/workspace.ts", "create", "--name", name, "--beta"];
  const { stdout, stderr } = spawnSync(process.execPath, args, {
    cwd: before,
    env: { ...process.env, ...settings },
    encoding: "utf8",
  });
  const found = /svc_\w+/.exec(stdout)?.[0];
  if (!found) throw new Error(`no key:\n${stdout}\n${stderr}`);
  return found;
}

/** A customer's question on a thread of its own, filed; the name is its subject. */
async function question(client: Client, identity: any, name: string): Promise<void> {
  await client.mail({ from: `${name}@customer.example`, to: identity.email_address, subject: name, text: `${name}?` });
  await until(`the thread ${name}`, () => threadOf(client, name));
}

const threadOf = async (client: Client, name: string): Promise<any> =>
  (await client.ask("GET /v1/threads?limit=100")).data.find(({ subject }: { subject: string }) => subject === name);

async function draftOn(client: Client, identity: any, name: string): Promise<string> {
  const thread = await threadOf(client, name);
  const { messages } = await client.ask(`GET /v1/threads/${thread.id}`);
  const draft = { thread_id: thread.id, identity_id: identity.id, based_on_message_id: messages.at(-1).id };
  return (await client.ask("POST /v1/drafts", { ...draft, body_text: `The answer to ${name}.` })).id;
}

const isTold = (relay: SmtpRelay, name: string): boolean => relay.mails.some(({ content }) => content.includes(name));

const states = ["pending", "escalating", "approved", "approved-to-send", "claimed", "reserved", "queued"] as const;
const handedOver = ["started", "retry", "unknown"] as const;

async function drive(): Promise<void> {
  let instance = await start();
  let client = clientOf(instance);
  const identity = await client.identity({ local_part: "support" });
  const escalating = await client.identity({
    local_part: "escalating",
    secondary_approval_channel: { type: "email", config: { to: "second@example.com" } },
    escalation_delay_minutes: 30,
  });
  const to = (name: string) => (name === "escalating" ? escalating : identity);
  for (const name of [...states, ...handedOver]) await question(client, to(name), name);
  const drafts: Record<string, string> = {};
  const add = async (name: string) => {
    drafts[name] = await draftOn(client, to(name), name);
  };
  const statusOf = async (name: string) => (await client.ask(`GET /v1/drafts/${drafts[name]}`)).status;
  for (const name of [...states, ...handedOver]) await add(name);
  await until("the requests", async () =>
    [...states, ...handedOver].every((name) => isTold(relay, `The answer to ${name}.`)),
  );

  // Mail that waits for its identity.
  const closed = await client.identity({ local_part: "closed" });
  await client.ask(`PATCH /v1/identities/${closed.id}`, { status: "disabled" });
  await client.mail({ from: "held@customer.example", to: closed.email_address, subject: "held", text: "held?" });

  // A workspace that is paused, with a reply that waits for the end of that.
  const paused = clientOf(instance, anotherWorkspace("Paused"));
  const theirs = await paused.identity({ local_part: "paused" });
  await question(paused, theirs, "paused");
  const held = await draftOn(paused, theirs, "paused");
  await paused.ask("POST /v1/drafts/ID/approve".replace("ID", held));
  relay.setFaults({ at: "RCPT", recipient: "paused@customer.example", how: "451 later" });
  await paused.ask(`POST /v1/drafts/${held}/send`);
  await until("the paused one's first try", async () => relay.commands.some((line) => line.includes("<paused@")));
  await paused.ask("PATCH /v1/workspaces/me", { sending_paused: true });

  relay.setFaults({ at: "RCPT", recipient: "retry@customer.example", how: "451 later" });
  await client.ask(`POST /v1/drafts/${drafts.retry}/send`);
  await until("the first try", async () => relay.commands.some((line) => line.includes("<retry@")));
  relay.setFaults({ at: "dot", how: "drop", taken: true, times: 1 });
  await client.ask(`POST /v1/drafts/${drafts.unknown}/send`);
  await until("the unknown one", async () => relay.mails.some(({ to }) => to.includes("unknown@customer.example")));
  await until("what became of all that", async () => (await open()).length === 0);
  await instance.stop();

  instance = await start({ CRASH_AT: "deliver:started" });
  client = clientOf(instance);
  await client.api(`POST /v1/drafts/${drafts.started}/send`).catch(() => undefined);
  await until("the end in the middle of a hand-over", async () => instance.child.signalCode !== null);

  // From here on nobody goes on with what is left.
  const alone = { ROLES: "api,projections" };
  for (const [name, point] of Object.entries({
    claimed: "send:claimed",
    reserved: "send:reserved",
    queued: "send:queued",
  })) {
    instance = await start({ ...alone, CRASH_AT: point });
    client = clientOf(instance);
    await client.api(`POST /v1/drafts/${drafts[name]}/send`).catch(() => undefined);
    await until(`the end at ${point}`, async () => instance.child.signalCode !== null);
  }
  instance = await start(alone);
  client = clientOf(instance);
  await client.ask(`POST /v1/drafts/${drafts.approved}/approve`);
  const request = relay.mails.findLast(({ content }) => content.includes("The answer to approved-to-send."))!;
  const link = /\S+\/a\/[\w-]+\?d=approve/.exec(
    request.content.toString().replaceAll("=\r\n", "").replaceAll("=3D", "="),
  )!;
  const path = new URL(link[0]).pathname;
  await client.press(`${instance.url}${path}?d=approve`, "approve");
  await until("the approval", async () => (await statusOf("approved-to-send")) === "approved");
  await instance.stop();
}

/** Deliveries that were started, and of which nothing else is known yet. */
async function open(): Promise<unknown[]> {
  return query(
    `select stream_id from es.events where stream_id like 'delivery-%' group by stream_id having count(*) = 1`,
  );
}

async function database({ beside }: { beside: boolean }): Promise<{ ownerUrl: string; stop(): Promise<void> }> {
  const { startEmbeddedPostgres } = await import(join(before!, "src/postgres/embedded.ts"));
  const logger = { info() {}, warn() {}, error() {}, debug() {} };
  return startEmbeddedPostgres({ dataDir, logger, beside });
}

/** Asks the server of the instance that runs, or one that is started for this look alone. */
async function query<Row = any>(sql: string): Promise<Row[]> {
  const server = await database({ beside: true });
  const client = new pg.Client({ connectionString: server.ownerUrl });
  await client.connect();
  try {
    await client.query("set timezone to 'UTC'");
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
    await server.stop();
  }
}

async function dump(): Promise<Stored[]> {
  const stored: Stored[] = [];
  for (const table of tables) {
    const rows = await query<{ row: string }>(`select row_to_json(t)::text as row from ${table} t`);
    stored.push(...rows.map(({ row }) => ({ table, row: JSON.parse(row) })));
  }
  return stored;
}

try {
  await drive();
  const lines = (await dump()).map((each) => JSON.stringify(each));
  await writeFile(new URL("rows.jsonl", import.meta.url), `${lines.join("\n")}\n`);
  console.log(`${lines.length} rows`);
} finally {
  running?.child.kill("SIGKILL");
  await relay.close();
  // A killed instance leaves its server.
  await (await database({ beside: false })).stop();
  await rm(dataDir, { recursive: true, force: true });
}
