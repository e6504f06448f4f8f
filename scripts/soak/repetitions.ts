import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { type Client, until } from "../support/client.ts";
import type { Instance } from "../support/instance.ts";
import { diesWithin } from "./kills.ts";
import type { Proof, Report } from "./proof.ts";
import { openWorld, type Reached, sameSecrets, type World } from "./world.ts";

/** Each POST is asked for so often at the same moment, in turn at one instance and the other. */
const duplicates = 4;
const lanes = 3;
const customer = "ann@customer.example";
const threads = 5;
/** A workspace has at most 100 live API keys. */
const maxApiKeys = 60;
/** A minute in the real service: a run that takes longer counts as cut off, even if it was only slow. */
const runMs = 3_000;
/** How long an armed instance may take to come behind an effect. A sample's one kill is there. */
const passesWithinMs = { each: 10_000, sampled: 150_000 };

type Made = { key: string; line: string; answers: string[]; type: string };

/** What the callers were answered, to be held against the log. */
type Load = { made: Made[]; mails: string[]; requests: number };

export const repetitions: Proof = {
  name: "repetitions",
  title:
    "POSTs under an Idempotency-Key, each several times at once at two instances, one of which is killed again and again",
  unit: "kills",
  full: 60,
  checked: 6,
  sample: 1,
  async run(size, report) {
    const world = await openWorld(sameSecrets, { here: size === 1 });
    try {
      // It is never killed.
      const one = await world.reach();
      const load: Load = { made: [], mails: [], requests: 0 };
      const over = new AbortController();
      // A sample of one kill hits right behind an effect, where a repetition has to find what was done.
      const first = size === 1 ? 2 : 1;
      let two = await world.start(armed(first - 1));
      let other: Reached = two;
      const clients = () => [world.client(one), world.client(other)];
      const bases = await basesOf(world.client(one));
      const minutes = passMinutes(world, over.signal);
      const working = Promise.all(
        Array.from({ length: lanes }, (_, lane) =>
          work({ load, clients, ...(size === 1 ? unhurried : hurried) }, { bases, lane }, over.signal),
        ),
      );
      let behindEffects = 0;
      for (let kill = first; kill < first + size; kill++) {
        // In turn right behind an effect, and whenever it hits.
        if (kill % 2 === 0 && (await diesWithin(two, passesWithinMs[size === 1 ? "sampled" : "each"])))
          behindEffects += 1;
        await killed(two, kill);
        // What comes after the last kill is not killed any more.
        if (kill === first + size - 1) other = await world.reach();
        else other = two = await world.start(armed(kill));
        report.progress(kill - first + 1, size, `${load.made.length} POSTs`);
      }
      over.abort();
      await working;
      await minutes;
      report.figure("kills right behind an effect", behindEffects);
      if (behindEffects === 0) report.violation("nothing was killed right behind an effect");
      await judge({ world, instance: one }, load, report);
    } finally {
      await world.close();
    }
  },
};

async function killed(victim: Instance, kill: number): Promise<void> {
  if (kill % 2 === 1) await sleep(300 + ((kill * 7919) % 1_500));
  if (victim.child.exitCode === null && victim.child.signalCode === null) await victim.kill("SIGKILL");
}

/** What starts after an odd kill dies right behind an effect. */
const armed = (kill: number): Record<string, string> =>
  kill % 2 === 0 ? {} : { CRASH_AT: `http:effect-done:${1 + (kill % 5)}` };

/** Records of runs that were cut off are free after their time; here it is over sooner. */
async function passMinutes(world: World, over: AbortSignal): Promise<void> {
  while (!over.aborted) {
    await world.rows(
      "update work.idempotency_keys set owned_until = now() where status is null and owned_until between now() and now() + $1 * interval '1 ms'",
      [60_000 - runMs],
    );
    await sleep(200);
  }
}

/** Threads that somebody has written on, as drafts name them. */
async function basesOf(client: Client): Promise<Record<string, string>[]> {
  const identity = await client.identity();
  for (let n = 0; n < threads; n++) {
    await client.mail({
      from: customer,
      to: identity.email_address,
      subject: `Order ${n}`,
      text: "Where?",
    });
  }
  const list = () => client.ask("GET /v1/threads");
  await until("the threads", async () => (await list()).total === threads);
  return Promise.all(
    (await list()).data.map(async ({ id }: { id: string }) => {
      const { messages } = await client.ask(`GET /v1/threads/${id}`);
      return { thread_id: id, identity_id: identity.id, based_on_message_id: messages[0].id };
    }),
  );
}

/** Between two rounds of a lane, and before a caller asks again. */
type Pauses = { roundMs: number; againMs: number };
const hurried: Pauses = { roundMs: 0, againMs: 100 };
/** A sample's one kill is at a request, however few there are; until what it had begun is free, all callers ask. */
const unhurried: Pauses = { roundMs: 500, againMs: 1_000 };

type Asking = Pauses & { load: Load; clients: () => Client[] };

async function work(
  asking: Asking,
  { bases, lane }: { bases: Record<string, string>[]; lane: number },
  over: AbortSignal,
): Promise<void> {
  for (let n = lane; !over.aborted; n += lanes) {
    const post = (line: string, type: string, body?: unknown) => repeatedly(asking, { line, type, body });
    await sleep(asking.roundMs);
    const text = `Answer ${randomUUID()}`;
    const draft = await post("/v1/drafts", "DraftSubmitted", { ...bases[n % bases.length], body_text: text });
    if (n % 3 === 0) await post(`/v1/drafts/${draft.id}/approve`, "DraftApproved");
    await post(`/v1/drafts/${draft.id}/send`, "DraftQueued");
    asking.load.mails.push(text);
    if (n < maxApiKeys) await post("/v1/api-keys", "ApiKeyCreated", { name: `key ${n}` });
  }
}

/** One POST, several times at once; each caller asks until it has an answer. `type`: of the event that it has to leave. */
async function repeatedly(
  { load, clients, againMs }: Asking,
  { line, type, body }: { line: string; type: string; body?: unknown },
) {
  const key = randomUUID();
  const answers = await Promise.all(
    Array.from({ length: duplicates }, async (_, caller) => {
      for (let tries = caller; ; tries++) {
        load.requests += 1;
        const client = clients()[tries % 2] as Client;
        const answer = await client.api(`POST ${line}`, body, { "Idempotency-Key": key }).catch(() => undefined);
        const inFlight = answer?.status === 409 && answer.body.error === "idempotency_in_flight";
        if (answer && answer.status < 500 && !inFlight) return answer;
        await sleep(againMs);
      }
    }),
  );
  load.made.push({ key, line, type, answers: answers.map((answer) => JSON.stringify([answer.status, answer.body])) });
  return answers[0]!.body;
}

async function judge(
  { world, instance }: { world: World; instance: Reached },
  load: Load,
  report: Report,
): Promise<void> {
  for (const { key, line, type, answers } of load.made) {
    if (new Set(answers).size > 1)
      report.violation(`${line} under ${key} was answered differently: ${answers.join(" / ")}`);
    if (!/^\[20[012],/.test(answers[0]!)) report.violation(`${line} under ${key} was answered ${answers[0]}`);
    const effects = await world.rows(
      "select 1 from es.events where type = $2 and split_part(metadata->>'operation', '/', 1) = (select operation::text from work.idempotency_keys where key = $1)",
      [key, type],
    );
    if (effects.length !== 1) report.violation(`${line} under ${key} left ${effects.length} events ${type}`);
  }
  const sent = await mailsOf(world.client(instance), load.mails);
  for (const text of load.mails) {
    const mails = sent.filter((each) => each.includes(text)).length;
    if (mails !== 1) report.violation(`"${text}" left ${mails} times`);
  }
  const [{ taken_up }] = (await world.rows<{ taken_up: number }>(
    "select count(*)::int as taken_up from work.idempotency_keys where repeated",
  )) as [{ taken_up: number }];
  report.figure("POSTs", `${load.made.length}, asked for ${load.requests} times`);
  report.figure("POSTs that a second run had to finish", taken_up);
  report.figure("mails that left, each once", load.mails.length);
}

/** The texts of what left, once everything has. */
async function mailsOf(client: Client, expected: readonly string[]): Promise<string[]> {
  const texts = async () => (await client.outbox()).filter(({ to }) => to.includes(customer)).map(({ text }) => text);
  await until("every mail", async () => (await texts()).length >= expected.length, 60_000).catch(() => undefined);
  return texts();
}
