import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import { composeBeside } from "#test/support/besideService.ts";
import { cpuSecondsOf } from "../support/cpuSeconds.ts";
import { residentMegabytes } from "../support/memory.ts";
import { filed, type Identity, mailOf } from "./conversation.ts";
import { allOf, inParallel, type Proof, percentile, type Report } from "./proof.ts";
import { openSender } from "./sender.ts";
import { type Hostile, hostileMail } from "./strangerMail.ts";
import { openTenant } from "./tenant.ts";
import { openWorld, type Reached, type World } from "./world.ts";

/** Strangers write from here; relays of ours would be exempt from what is meant for them. */
const [stranger, customer] = ["127.0.0.2", "127.0.0.3"];
const settings = { SMTP_IN_RELAYS: "192.0.2.0/24", LOG_LEVEL: "info" };
/** What everybody else may feel of it, at full size: in milliseconds. */
const most = { healthP99: 100, filed: 2_000, heldMs: 75 };
/** Its service says how long its event loop is held. */
const watchedLoop = { NODE_OPTIONS: `--import=${new URL("./loopWatch.mjs", import.meta.url).href}` };
/** How often somebody looks: at full size, where the times count, more often than in a sample, which only asks whether there is an answer. */
const lookEveryMs = (size: number): number => (size < strangers.full ? 100 : 20);

/**
 * Mail, bodies and connections that cost a reader much, many at once: the service answers meanwhile, and another workspace's mail is filed.
 * Its times count at full size alone.
 */
export const strangers: Proof = {
  name: "strangers",
  title:
    "hostile mail, large JSON and 1,200 idle or trickling connections: /healthz answers, and another's mail is filed",
  unit: "hostile mails, and a tenth as many large bodies",
  full: 50,
  checked: 26,
  sample: 4,
  async run(size, report) {
    const world = await openWorld(settings, { here: size <= strangers.sample });
    const beside = composeBeside({
      ownerUrl: world.env.DATABASE_OWNER_URL as string,
      serviceUrl: world.env.DATABASE_URL as string,
    });
    try {
      const instance = await world.reach(watchedLoop);
      const attacked = await world.client(instance).identity({ approval_channel: undefined });
      const { identity } = await openTenant(beside, instance, { name: "Customer's" });
      const innocent: Innocent = { world, instance, identity };
      const watched = (what: string, attack: () => Promise<void>) => watch(innocent, report, { what, attack, size });
      // Made before: what this process does at length would count as the service's.
      const mails = hostileMail(size);
      const bodies = largeBodies(size < strangers.full ? 4 : 27);
      const begun = instance.log.length;
      await watched("nothing", () => sleep(size < strangers.full ? 500 : 2_000));
      await watched("hostile mail", () => sendHostile(instance, attacked, { mails, report }));
      const count = Math.max(2, Math.round(size / 10));
      await watched("large JSON", () => postLarge(world, instance, { bodies, count, report }));
      await watched("idle and trickling connections", () => holdConnections(world, instance, { size, report }));
      if (!instance.child) return;
      judgeLoop(instance.log.slice(begun), { report, size });
      report.figure("CPU seconds of the service", cpuSecondsOf(instance.child.pid!).toFixed(1));
    } finally {
      await beside.close();
      await world.close();
    }
  },
};

type Innocent = { world: World; instance: Reached; identity: Identity };

/** What others feel while `attack` lasts. */
async function watch(
  innocent: Innocent,
  report: Report,
  { what, attack, size }: { what: string; attack: () => Promise<void>; size: number },
): Promise<void> {
  const over = new AbortController();
  const health = watchHealth(innocent.instance, { everyMs: lookEveryMs(size), signal: over.signal });
  const mail = watchMail(innocent, over.signal);
  try {
    await attack();
  } finally {
    over.abort();
  }
  const [answers, took] = [await health, await mail];
  const p99 = Math.round(percentile(answers.ms, 99));
  report.figure(
    `/healthz during ${what}, ms`,
    `p50 ${Math.round(percentile(answers.ms, 50))}, p99 ${p99}, most ${Math.round(Math.max(...answers.ms))} of ${answers.ms.length}`,
  );
  report.figure(
    `another's mail filed during ${what}, ms`,
    `p50 ${Math.round(percentile(took, 50))}, most ${Math.round(Math.max(...took))} of ${took.length}`,
  );
  const { child } = innocent.instance;
  if (child) report.figure(`resident memory until the end of ${what}, MB`, memoryOf(child.pid!));
  if (answers.bad > 0) report.violation(`/healthz failed ${answers.bad} times during ${what}`);
  if (size < strangers.full) return;
  if (p99 > most.healthP99) report.violation(`/healthz p99 was ${p99} ms during ${what}`);
  if (Math.max(...took) > most.filed)
    report.violation(`another's mail took ${Math.round(Math.max(...took))} ms during ${what}`);
}

/** In milliseconds of the main thread's CPU between two ticks of a timer: several requests and mails may have had a part in one. */
function judgeLoop(log: readonly string[], { report, size }: { report: Report; size: number }): void {
  const held = log.flatMap((line) => /^{"held_ms":(\d+),/.exec(line)?.slice(1).map(Number) ?? []);
  const longest = Math.max(0, ...held);
  report.figure("event loop held over 50 ms of CPU", `${held.length} times, ${longest} ms at most`);
  if (size >= strangers.full && longest > most.heldMs) report.violation(`the event loop was held for ${longest} ms`);
}

/** At most, since it began. */
const memoryOf = (pid: number): number => Math.round(residentMegabytes(pid)?.most ?? 0);

async function watchHealth(
  { url }: Reached,
  { everyMs, signal }: { everyMs: number; signal: AbortSignal },
): Promise<{ ms: number[]; bad: number }> {
  const watcher = new Worker(new URL("./healthWatcherThread.mjs", import.meta.url), {
    workerData: { url, everyMs },
  });
  const seen = once(watcher, "message");
  signal.addEventListener("abort", () => watcher.postMessage("over"));
  const [answers] = await seen;
  return answers;
}

/** One mail after the other to somebody else: how long until each can be read on its thread. */
async function watchMail({ world, instance, identity }: Innocent, signal: AbortSignal): Promise<number[]> {
  const took: number[] = [];
  do {
    const sender = await openSender(instance.smtpPort, { localAddress: customer });
    const id = `${randomUUID()}@soak.example`;
    const began = performance.now();
    const answer = await sender.send(mailOf({ id, to: identity.email_address }), identity.email_address);
    if (!answer.startsWith("250")) throw new Error(`another's mail was refused: ${answer}`);
    await filed(world, identity, `<${id}>`);
    took.push(performance.now() - began);
    sender.close();
    await sleep(200);
  } while (!signal.aborted);
  return took;
}

/** Every mail gets an answer, and what was answered 250 is filed. */
async function sendHostile(
  instance: Reached,
  { email_address }: Identity,
  { mails, report }: { mails: readonly Hostile[]; report: Report },
) {
  let taken = 0;
  let answered = 0;
  await inParallel(mails, 4, async ({ kind, raw, tags }, n) => {
    const sender = await openSender(instance.smtpPort, { localAddress: stranger });
    const to = Array.from({ length: tags }, (_, tag) => email_address.replace("@", `+${n}-${tag}@`));
    const answer = await sender
      .send(raw, to, "stranger@stranger.example")
      .catch((error: Error) => `${kind}: ${error.message}`);
    if (/^\d{3} /m.test(answer)) answered += 1;
    else report.violation(`a mail got no answer: ${answer}`);
    if (answer.startsWith("250")) taken += 1;
    sender.close();
    report.progress(answered, mails.length, "hostile mails");
  });
  report.figure("hostile mails taken, the others told to come later", `${taken} of ${mails.length}`);
}

const largeBodies = (megabytes: number): Buffer<ArrayBuffer>[] => [
  Buffer.from(`{"metadata":{${Array.from({ length: megabytes * 88_000 }, (_, n) => `"k${n}":1`).join(",")}}}`),
  Buffer.from(`[${"0,".repeat(megabytes * 650_000)}0]`),
  Buffer.from(`${"[".repeat(megabytes * 500_000)}${"]".repeat(megabytes * 500_000)}`),
];

/** Refused with an answer, before anything of it is read whole. */
async function postLarge(
  world: World,
  instance: Reached,
  { bodies, count, report }: { bodies: readonly Buffer<ArrayBuffer>[]; count: number; report: Report },
): Promise<void> {
  const { apiKey } = world.client(instance);
  let refused = 0;
  for (let n = 0; n < count; n++) {
    const response = await fetch(`${instance.url}/v1/emails/send`, {
      method: "POST",
      headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json" },
      body: bodies[n % bodies.length],
    });
    if ([413, 422].includes(response.status)) refused += 1;
    else report.violation(`a body of ${bodies[n % bodies.length]!.length} bytes was answered ${response.status}`);
    await response.arrayBuffer();
    report.progress(n + 1, count, "large bodies");
  }
  allOf(report, "large bodies refused", { good: refused, of: count });
}

/** From many addresses, to the receiver and to HTTP: some say nothing, some a byte now and then. */
async function holdConnections(
  world: World,
  instance: Reached,
  { size, report }: { size: number; report: Report },
): Promise<void> {
  const each = size < strangers.full ? 20 : 200;
  const client = world.client(instance);
  const kinds: { port: number; opening: string; trickle: string }[] = [
    { port: instance.smtpPort, opening: "", trickle: "" },
    { port: instance.smtpPort, opening: "", trickle: "N" },
    ...openingsOf(client.apiKey).map((opening) => ({
      port: Number(new URL(instance.url).port),
      opening,
      trickle: opening === "" ? "" : "x",
    })),
  ];
  const held = kinds.flatMap((kind) =>
    Array.from({ length: each }, (_, n) => {
      const localAddress = `127.0.${1 + (n % 20)}.9`;
      const socket = connect({ port: kind.port, host: "127.0.0.1", localAddress, allowHalfOpen: true });
      socket.on("error", () => {}).resume();
      if (kind.opening !== "") socket.write(kind.opening);
      return { socket, ...kind };
    }),
  );
  const trickling = setInterval(() => {
    for (const { socket, trickle } of held) if (trickle !== "" && socket.writable) socket.write(trickle);
  }, 500);
  const over = AbortSignal.timeout(size < strangers.full ? 2_000 : 20_000);
  await patchMeanwhile(instance, client.apiKey, { signal: over, report });
  clearInterval(trickling);
  report.figure("connections held at once", held.filter(({ socket }) => !socket.closed).length);
  for (const { socket } of held) socket.destroy();
}

/** What a connection to HTTP begins with: nothing, headers without an end, and a small and a large body of a live key. */
function openingsOf(apiKey: string): string[] {
  const post = (length: number) =>
    `POST /v1/emails/send HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${apiKey}\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n\r\n{"subject":"`;
  return ["", "GET /v1/threads HTTP/1.1\r\nHost: x\r\nX-Slow: ", post(1_000), post(36 * 1024 * 1024)];
}

/** Small writes of the very key whose bodies trickle are answered. */
async function patchMeanwhile(
  { url }: Reached,
  apiKey: string,
  { signal, report }: { signal: AbortSignal; report: Report },
): Promise<void> {
  const ms: number[] = [];
  do {
    const began = performance.now();
    const response = await fetch(`${url}/v1/workspaces/me`, {
      method: "PATCH",
      headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json" },
      body: JSON.stringify({ sending_paused: false }),
    });
    await response.arrayBuffer();
    ms.push(performance.now() - began);
    if (response.status !== 200) report.violation(`a small PATCH was answered ${response.status}`);
    await sleep(200);
  } while (!signal.aborted);
  report.figure(
    "small PATCH meanwhile, ms",
    `p50 ${Math.round(percentile(ms, 50))}, most ${Math.round(Math.max(...ms))}`,
  );
}
