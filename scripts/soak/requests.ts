import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { Document } from "#src/http/framework/openapi/openapi.ts";
import { createDocumentCheck } from "#test/support/documentCheck.ts";
import { makeTenant, nounOfField, paramsOf, type Tenant, webhookHost } from "#test/support/examples/world.ts";
import { operationsOf } from "#test/support/hostileRequests.ts";
import { until } from "../support/client.ts";
import { createRandom, type Random } from "../support/random.ts";
import { inParallel, type Proof, percentile, type Report } from "./proof.ts";
import { createRequestClient, type Got } from "./requestClient.ts";
import { type Made, makeRequest, type Pool } from "./requestMaker.ts";
import { openSender } from "./sender.ts";
import { openWorld, type World } from "./world.ts";

/** Chosen once; SOAK_SEED asks for another life. */
const seed = Number(process.env.SOAK_SEED ?? 20_261_121);
const lanes = 16;
/** After so many requests there is new mail and a new draft, and what was switched off by chance is on again: so that deep states are reached. */
const renewEvery = 100;
const keptIds = 40;

const settings = {
  RATE_LIMIT_READ: "off",
  SERVICE_MAIL_PER_HOUR: "off",
  RATE_LIMIT_WRITE: "off",
  RATE_LIMIT_SEND: "off",
  RATE_LIMIT_NOTIFY: "off",
  RATE_LIMIT_TEST_EMAIL: "off",
  RATE_LIMIT_AUTH: "off",
  RATE_LIMIT_BAD_KEY: "off",
  RATE_LIMIT_BAD_LINK: "off",
  RATE_LIMIT_DOCUMENT: "off",
  WEBHOOK_ALLOWED_HOSTS: webhookHost,
  // Nobody answers there.
  DNS_SERVERS: "127.0.0.1:9",
};

export const requests: Proof = {
  name: "requests",
  title: "requests generated from the OpenAPI document, good and bad: no 5xx, and nothing that it does not describe",
  unit: "requests",
  full: 100_000,
  checked: 600,
  sample: 120,
  async run(size, report) {
    const world = await openWorld(settings);
    const instance = await world.start();
    const client = createRequestClient(instance.url);
    const sender = await openSender(instance.smtpPort);
    const deliver = delivering(world, instance, sender.send);
    try {
      const document = (await (await fetch(`${instance.url}/openapi.json`)).json()) as Document;
      const running = { url: instance.url, workspace: async () => ownWorkspace(instance), deliver };
      const tenant = await makeTenant(running, document);
      await storm({ size, report, document, tenant, client, deliver, log: instance.log });
      const ready = await fetch(`${instance.url}/readyz`).then(({ status }) => status, String);
      if (ready !== 200) report.violation(`/readyz says ${ready} afterwards`);
      if (instance.child.exitCode !== null)
        report.violation(`the service ended: ${instance.log.slice(-3).join(" ").slice(0, 2000)}`);
    } finally {
      client.close();
      sender.close();
      await world.close();
    }
  },
};

const ownWorkspace = ({ apiKey }: { apiKey: string | undefined }) => ({ id: "", key: apiKey as string });

type Storm = {
  size: number;
  report: Report;
  document: Document;
  tenant: Tenant;
  client: ReturnType<typeof createRequestClient>;
  deliver(to: string, raw: string): Promise<void>;
  /** What the service says, line by line. */
  log: readonly string[];
};

async function storm({ size, report, document, tenant, client, deliver, log }: Storm): Promise<void> {
  const operations = operationsOf(document).filter(({ scope }) => scope !== null);
  const judge = createJudge(document);
  const pools = createPools(tenant);
  const tally = new Map<string, number>();
  const took: number[] = [];
  const succeeded = new Set<unknown>();
  const address = (await tenant.ask(`GET /v1/identities/${tenant.ids.identities}`)).json.email_address;
  let unanswered = 0;
  let stillFiled = 0;
  const faults: { status: number; text: string }[] = [];
  const numbers = Array.from({ length: size }, (_, n) => n);
  await inParallel(numbers, lanes, async (n) => {
    if (n % renewEvery === renewEvery - 1) await renew(tenant, pools, () => deliver(address, plainMail(address)));
    const random = createRandom(seed + n);
    const made = makeRequest(operations, random, pools.of(random));
    const got = await client.ask(made);
    report.progress(n + 1, size);
    if ("lost" in got) {
      unanswered += 1;
      if (made.slow === undefined && !made.beforeRouting)
        faults.push({ status: noAnswer, text: `no answer (${got.lost}): ${shown(n, made)}` });
      return;
    }
    took.push(got.tookMs);
    const kind = isNoProcessor(got) ? "502 stripe_error, as it has to be here" : `${Math.floor(got.status / 100)}xx`;
    tally.set(kind, (tally.get(kind) ?? 0) + 1);
    pools.learn(made, got);
    if (got.status < 300) succeeded.add(made.operation);
    const fault = judge(made, got);
    if (fault === undefined) return;
    // Its log line may come a moment after its answer.
    if (got.status >= 500) await sleep(500);
    const reason = got.status >= 500 ? reasonIn(log, got.text) : "";
    if (isDecided(got, reason)) {
      stillFiled += 1;
      return;
    }
    faults.push({ status: got.status, text: `${fault}${reason}: ${shown(n, made)}` });
  });
  // The worst come first: not all of many are shown.
  for (const { text } of faults.sort((a, b) => b.status - a.status)) report.violation(text);
  report.figure("seed", seed);
  report.figure("operations, of them answered with success at least once", `${operations.length}, ${succeeded.size}`);
  const never = operations
    .filter((operation) => !succeeded.has(operation))
    .map(({ method, path }) => `${method} ${path}`);
  if (never.length > 0) report.figure("never with success", never.join(", "));
  for (const [kind, count] of [...tally].sort()) report.figure(`answered ${kind}`, count);
  report.figure("broken off by us, or refused before a route without an answer", unanswered);
  report.figure("of the 5xx: mail was still being filed, which a send waits for, a second at most", stillFiled);
  const ms = [50, 99, 100].map((percent) => Math.round(percentile(took, percent)));
  report.figure("p50 / p99 / most", `${ms.join(" / ")} ms`);
}

/** Worse than any status that there is. */
const noAnswer = 600;

/** Of the 20 s that SQL in our strings asks for. */
const sleptMs = 18_000;

/** What is wrong with an answer; undefined if nothing is. */
function createJudge(document: Document): (made: Made, got: Got) => string | undefined {
  const check = createDocumentCheck(document);
  return (made, got) => {
    const { status, text, tookMs } = got;
    const said = text.slice(0, 400);
    if (status >= 500 && !isNoProcessor(got)) return `${status} ${said}`;
    if (/node_modules|\bat \w+ \(|\.ts:\d|syntax error at|pg_catalog/.test(said) && status >= 400)
      return `shows its inside: ${said}`;
    if (tookMs > sleptMs && /pg_sleep/.test(made.url + made.body))
      return `took ${Math.round(tookMs)} ms: was something made to sleep?`;
    if (status >= 400) {
      const fault = envelopeFault(text);
      if (fault !== undefined) return `${status}: ${fault}: ${said}`;
    }
    if (made.beforeRouting && [400, 431].includes(status)) return undefined;
    const isRepetition = text.includes('"idempotency_');
    if (!made.operation || made.kind === "path")
      return status === 404 || status === 401 || made.kind === "path" || isRepetition
        ? undefined
        : `${status} for no route`;
    return check.faultOf(`${made.operation.method} ${made.operation.path}`, got);
  };
}

/** An installation without a payment processor says so. */
const isNoProcessor = ({ status, text }: Got): boolean => status === 502 && text.includes('"stripe_error"');

/** On a busy machine mail can take longer to be filed than a send waits for it: it is told to come again, rather than sent past the customer's newest word. */
const isDecided = ({ status, headers }: Got, reason: string): boolean =>
  status === 503 && headers["retry-after"] !== undefined && reason.includes("is still being filed");

/** What the service wrote about a request that it failed at. */
function reasonIn(log: readonly string[], text: string): string {
  const id = /"request_id":"([^"]+)"/.exec(text)?.[1];
  const line = id && log.find((each) => each.includes(id) && each.includes('"err"'));
  return line ? ` ${JSON.stringify(JSON.parse(line).err).slice(0, 600)}` : "";
}

async function renew(
  { ask, ids }: Tenant,
  pools: ReturnType<typeof createPools>,
  mail: () => Promise<void>,
): Promise<void> {
  await ask("PATCH /v1/workspaces/me", { json: { sending_paused: false } });
  const usual = { status: "active", require_human_approval: false, auto_approve_replies: false, assistant_id: null };
  await ask(`PATCH /v1/identities/${ids.identities}`, { json: usual });
  await mail().catch(() => {});
  const thread = (await ask(`GET /v1/threads?identity_id=${ids.identities}&limit=1`)).json?.data?.[0];
  if (!thread) return;
  const { messages } = (await ask(`GET /v1/threads/${thread.id}`)).json;
  const message = messages.findLast(({ direction }: { direction: string }) => direction === "inbound");
  if (!message) return;
  const draft = {
    thread_id: thread.id,
    identity_id: ids.identities,
    based_on_message_id: message.id,
    body_text: "Yes.",
  };
  const { status, json } = await ask("POST /v1/drafts", { json: draft });
  if (status < 300) pools.add("drafts", [json.id]);
  pools.add("threads", [thread.id]);
  pools.add("messages", [message.id]);
}

function envelopeFault(text: string): string | undefined {
  try {
    const { error, message, request_id } = JSON.parse(text);
    if (typeof error !== "string" || typeof request_id !== "string") return "no envelope";
    if (typeof message !== "string" || message.length < 10) return "no sentence";
    return error === "invalid_request" && !/[:"]| body|request|headers/.test(message) ? "names no field" : undefined;
  } catch {
    return "no JSON";
  }
}

/** The ids that requests name: what the tenant began with, and what good requests have made since. */
function createPools(tenant: Tenant) {
  const pools = new Map(Object.entries(tenant.ids).map(([noun, id]) => [noun, [id]]));
  const idOf = (noun: string, random: Random, forDelete = false): string => {
    const all = pools.get(noun) ?? [];
    const from = forDelete ? all.slice(1) : all;
    return from.length > 0 && random.chance(0.95) ? random.pick(from) : randomUUID();
  };
  /** The first stays: everything else rests on it. */
  const add = (noun: string, more: string[]): void => {
    const [first, ...known] = pools.get(noun) ?? [];
    const others = [...known, ...more.filter((id) => id !== first && !known.includes(id))].slice(-keptIds);
    pools.set(noun, first === undefined ? others : [first, ...others]);
  };
  return {
    of: (random: Random): Pool => ({
      key: tenant.key,
      idFor: (name) => (name.endsWith("_id") || name.endsWith("_ids") ? idOf(nounOfField(name), random) : randomUUID()),
      pathOf: (path, forDelete) =>
        paramsOf(path).reduce(
          (line, { name, noun }) => line.replace(`{${name}}`, encodeURIComponent(idOf(noun, random, forDelete))),
          path,
        ),
    }),
    add,
    learn({ operation }: Made, { status, text }: Got): void {
      const noun = operation && /^\/v1\/([\w-]+)$/.exec(operation.path)?.[1];
      // A list of keys includes our own, and revoking it would work.
      if (noun === "api-keys" && operation?.method === "GET") return;
      if (!noun || !pools.has(noun) || status >= 300 || operation.method === "DELETE") return;
      const { id, data } = JSON.parse(text);
      add(noun, id ? [id] : (data ?? []).slice(0, 3).map((each: { id: string }) => each.id));
    },
  };
}

const shown = (n: number, { kind, method, url, headers, body }: Made): string =>
  `request ${n} (${kind}) ${method} ${url.slice(0, 300)} ${JSON.stringify(headers.slice(2)).slice(0, 300)} ${(body ?? "").slice(0, 600)}`;

/** Hands a mail in over SMTP and waits until it can be read. */
function delivering(
  world: World,
  instance: Parameters<World["client"]>[0],
  send: (raw: Buffer, to: string) => Promise<string>,
) {
  const client = world.client(instance);
  let last: Promise<void> = Promise.resolve();
  const deliver = async (to: string, raw: string) => {
    const before = (await client.ask("GET /v1/inbound")).total;
    await send(Buffer.from(raw), to);
    await until("the mail to be filed", async () => {
      const { total, data } = await client.ask("GET /v1/inbound");
      const [newest] = data;
      return (
        total > before && newest !== undefined && newest.disposition !== "received" && newest.filed_position !== null
      );
    });
  };
  // One after the other: it is one conversation.
  return (to: string, raw: string): Promise<void> => {
    last = last.catch(() => {}).then(() => deliver(to, raw));
    return last;
  };
}

const plainMail = (to: string): string =>
  `Message-ID: <${randomUUID()}@customer.example>\r\nFrom: w${randomUUID().slice(0, 3)}@customer.example\r\nTo: ${to}\r\nSubject: Again\r\n\r\nHello?\r\n`;
