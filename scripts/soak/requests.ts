import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { Document } from "#src/http/framework/openapi/openapi.ts";
import { openMailer } from "#test/mail/in/smtpSender.ts";
import { makeTenant, type Tenant, webhookHost } from "#test/support/examples/world.ts";
import { operationsOf } from "#test/support/hostileRequests.ts";
import { mail } from "#test/support/inProcess.ts";
import { type Installation, openInstallation } from "#test/support/installation.ts";
import type { TestService } from "#test/support/service.ts";
import { until } from "../support/client.ts";
import { createRandom } from "../support/random.ts";
import { inParallel, type Proof, type Proving, spread } from "./proof.ts";
import { createRequestClient } from "./requestClient.ts";
import { createJudge, isNoProcessor, isStillFiled, reasonIn } from "./requestJudge.ts";
import { type MadeRequest, makeRequest } from "./requestMaker.ts";
import { createPools } from "./requestPools.ts";

const lanes = 16;
/**
 * After this many requests there is new mail and a new draft, and everything that was disabled by chance is enabled again, so that deep
 * states are reached.
 */
const renewEvery = 100;
/** A pseudo status, above every real one. */
const noAnswer = 600;

const env = { RATE_LIMIT_AUTH: "off", WEBHOOK_ALLOWED_HOSTS: webhookHost };

export const requests: Proof = {
  name: "requests",
  title: "requests generated from the OpenAPI document, good and bad: no 5xx, and nothing that it does not describe",
  unit: "requests",
  full: 100_000,
  checked: 600,
  sample: 120,
  async run(proving) {
    const installation = await openInstallation({ env });
    try {
      const service = await installation.start();
      await storm(proving, { service, deliver: delivering(installation, service) });
      const ready = await fetch(`${service.url}/readyz`).then(({ status }) => status, String);
      if (ready !== 200)
        proving.report.violation(`/readyz says ${ready} afterwards: ${service.output().slice(-2_000)}`);
    } finally {
      await installation.close();
    }
  },
};

type Deliver = (to: string, raw: string) => Promise<void>;

/** Hands a mail in over SMTP and waits until it is filed. */
const delivering =
  ({ rows }: Installation, { smtpPort }: TestService): Deliver =>
  async (to, raw) => {
    const mailer = await openMailer(smtpPort);
    const told = await mailer.send(Buffer.from(raw), to).finally(mailer.close);
    if (!told.startsWith("250")) throw new Error(told);
    const sql = "select 1 from read.inbound where rfc_message_id = $1 and filed_position is not null";
    const id = /^Message-ID: (<.*>)/m.exec(raw)![1];
    await until("the mail to be filed", async () => (await rows(sql, [id])).length > 0);
  };

async function storm(
  { size, seed, report }: Proving,
  { service, deliver }: { service: TestService; deliver: Deliver },
): Promise<void> {
  const document = (await (await fetch(`${service.url}/openapi.json`)).json()) as Document;
  const workspace = async () => ({ id: "", key: service.apiKey! });
  const tenant = await makeTenant({ url: service.url, workspace, deliver }, document);
  const operations = operationsOf(document).filter(({ scope }) => scope !== null);
  const client = createRequestClient(service.url);
  const judge = createJudge(document);
  const pools = createPools(tenant);
  const to = (await tenant.ask(`GET /v1/identities/${tenant.ids.identities}`)).json.email_address;
  const write = () => deliver(to, mail({ id: `${randomUUID()}@customer.example`, to }));
  const tally: Record<string, number> = {};
  const count = (kind: string): void => {
    tally[kind] = (tally[kind] ?? 0) + 1;
  };
  const took: number[] = [];
  const succeeded = new Set<unknown>();
  const faults: { status: number; text: string }[] = [];
  await inParallel(Array.from({ length: size }), lanes, async (_, n) => {
    if (n % renewEvery === renewEvery - 1) await renew(tenant, pools, write);
    const random = createRandom(seed + n);
    const made = makeRequest(operations, random, pools.of(random));
    const got = await client.ask(made);
    report.progress(n + 1, size);
    if ("lost" in got) {
      count("not, since we broke it off or it was refused before a route");
      if (made.slow === undefined && !made.beforeRouting)
        faults.push({ status: noAnswer, text: `no answer (${got.lost}): ${shown(n, made)}` });
      return;
    }
    took.push(got.tookMs);
    pools.learn(made, got);
    if (got.status < 300) succeeded.add(made.operation);
    const fault = judge(made, got);
    // The log line may come a moment after its answer.
    if (fault !== undefined && got.status >= 500) await sleep(500);
    const reason = got.status >= 500 ? reasonIn(service.logs, got.text) : "";
    const isWaiting = isStillFiled(got, reason);
    if (isNoProcessor(got)) count("502 stripe_error, as it has to be here");
    else count(isWaiting ? "503 because mail was still being filed" : `${Math.floor(got.status / 100)}xx`);
    if (fault !== undefined && !isWaiting)
      faults.push({ status: got.status, text: `${fault}${reason}: ${shown(n, made)}` });
  });
  client.close();
  // The worst come first: only some of many are shown.
  for (const { text } of faults.sort((a, b) => b.status - a.status)) report.violation(text);
  report.figure("operations, of them answered with success at least once", `${operations.length}, ${succeeded.size}`);
  const never = operations.filter((operation) => !succeeded.has(operation));
  report.figure("never with success", never.map(({ method, path }) => `${method} ${path}`).join(", "));
  for (const [kind, times] of Object.entries(tally).sort()) report.figure(`answered ${kind}`, times);
  report.figure("an answer", spread(took));
}

async function renew(
  { ask, ids }: Tenant,
  pools: ReturnType<typeof createPools>,
  deliver: () => Promise<void>,
): Promise<void> {
  await ask("PATCH /v1/workspaces/me", { json: { sending_paused: false } });
  const usual = { status: "active", require_human_approval: false, auto_approve_replies: false, assistant_id: null };
  await ask(`PATCH /v1/identities/${ids.identities}`, { json: usual });
  // The mail may be refused by chance.
  await deliver().catch(() => {});
  const thread = (await ask(`GET /v1/threads?identity_id=${ids.identities}&limit=1`)).json?.data?.[0];
  if (!thread) return;
  const { messages } = (await ask(`GET /v1/threads/${thread.id}`)).json;
  const message = messages.findLast(({ direction }: { direction: string }) => direction === "inbound");
  if (!message) return;
  const about = { thread_id: thread.id, identity_id: ids.identities, based_on_message_id: message.id };
  const { status, json } = await ask("POST /v1/drafts", { json: { ...about, body_text: "Yes." } });
  if (status < 300) pools.add("drafts", [json.id]);
  pools.add("threads", [thread.id]);
  pools.add("messages", [message.id]);
}

const shown = (n: number, { kind, method, url, headers, body }: MadeRequest): string =>
  `request ${n} (${kind}) ${method} ${url.slice(0, 300)} ${JSON.stringify(headers.slice(2)).slice(0, 300)} ${(body ?? "").slice(0, 600)}`;
