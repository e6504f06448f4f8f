import { setTimeout as sleep } from "node:timers/promises";
import { createTransport } from "nodemailer";
import pg from "pg";
import { until } from "../support/client.ts";
import type { Bench } from "./bench.ts";
import { type BenchInstance, startBenchInstance } from "./instance.ts";
import { figure, goal, latency, progress, progressDone, round, sideBySide, spreadOf } from "./measure.ts";

const ruleCount = 100;
const perSecond = 20;
/** Mails a measurement if nobody asked for a length: 1,000 in all under rules at the usual two repetitions. */
const usualSeconds = 25;
const warmUpSeconds = 5;

/**
 * How long after its 250 a mail can be read, without rules and with a hundred active ones walked on each, in turns. Afterwards every
 * recorded evaluation is compared with what a model says.
 */
export const bench: Bench = {
  title: `rules: mail visible with ${ruleCount} active rules and without, ${perSecond} a second`,
  repetitions: 2,
  async run({ server, repetitions, seconds = usualSeconds }) {
    const instance = await startBenchInstance(server);
    const pool = new pg.Pool({
      connectionString: instance.urls.ownerUrl,
      options: "-c countersign.workspace=*",
      max: 2,
    });
    pool.on("error", () => {});
    const count = Math.round(perSecond * seconds);
    const times = { without: [] as number[][], with: [] as number[][] };
    const evaluated: number[] = [];
    try {
      const { email_address: address } = await instance.client.identity({ approval_channel: null });
      const rules = await makeRules(instance);
      let first = 0;
      const measure = async (status: "active" | "inactive", count: number): Promise<number[]> => {
        await setStatus(instance, rules, status);
        const mails = Array.from({ length: count }, (_, index) => made(first + index));
        first += count;
        if (status === "active") evaluated.push(...mails.map((mail) => mail.number));
        return visibleAfter(instance, pool, { mails, to: address });
      };
      progress("warming up");
      await measure("inactive", perSecond * warmUpSeconds);
      for (let repetition = 1; repetition <= repetitions; repetition++) {
        progress(`round ${repetition} of ${repetitions}`);
        times.without.push(await measure("inactive", count));
        times.with.push(await measure("active", count));
      }
      await until("all evaluations", () => allEvaluated(pool, evaluated.length), 120_000);
      progressDone();
      return summarise(times, await wrongOnes(pool, evaluated), evaluated.length);
    } finally {
      await pool.end();
      await instance.stop();
    }
  },
};

type Mail = { number: number; kind: number; subject: string; from: string; id: string; raw: string };

function made(number: number): Mail {
  const kind = number % 10;
  const subject = `Order ${number} Kind${kind}`;
  const from = `customer${number % 7}@customer${number % 3}.example`;
  const id = `rules.${number}@customer.example`;
  const lines = [
    ...[`From: ${from}`, "To: support@agents.localhost", `Subject: ${subject}`, `Message-ID: <${id}>`],
    ...["Date: Thu, 01 Jan 2026 10:00:00 +0000", "Content-Type: text/plain; charset=utf-8", ""],
    ...Array.from({ length: 30 }, (_, line) => `Line ${line} of mail ${number}: where is my parcel, due on Monday?`),
  ];
  return { number, kind, subject, from, id, raw: lines.join("\r\n") };
}

type Kind = { conditions: object; matches(mail: Mail, rule: number): boolean };

/** What rules ask, and, in other words, when they match. */
const kinds: ((rule: number) => Kind)[] = [
  (rule) => ({
    conditions: all({ field: "message.subject", op: "contains", value: `KIND${rule % 10}` }),
    matches: ({ kind }) => kind === rule % 10,
  }),
  (rule) => ({
    conditions: all({
      field: "message.from_email",
      op: "equals",
      value: `Customer${rule % 7}@customer${rule % 3}.example`,
    }),
    matches: ({ number }) => number % 7 === rule % 7 && number % 3 === rule % 3,
  }),
  (rule) => ({
    conditions: any(
      { field: "contact.domain", op: "in", value: [`CUSTOMER${rule % 3}.example`] },
      all(
        { field: "message.subject", op: "ends_with", value: "kind9" },
        { field: "thread.status", op: "equals", value: "open" },
      ),
    ),
    matches: ({ number, kind }) => number % 3 === rule % 3 || kind === 9,
  }),
  () => ({
    conditions: all(
      { field: "contact.tag", op: "not_equals", value: "vip" },
      { field: "message.body_text", op: "contains", value: "PARCEL" },
    ),
    matches: () => true,
  }),
  (rule) => ({
    conditions: all({ field: "message.subject", op: "not_contains", value: `kind${rule % 10}` }),
    matches: ({ kind }) => kind !== rule % 10,
  }),
];

const all = (...conditions: object[]) => ({ operator: "AND", conditions });
const any = (...conditions: object[]) => ({ operator: "OR", conditions });
const kindOf = (rule: number): Kind => kinds[rule % kinds.length]!(rule);

/** One rule in ten does something. */
const actionsOf = (rule: number) => (rule % 10 === 0 ? [{ type: "set_priority", priority: "high" }] : []);

async function makeRules({ client }: BenchInstance): Promise<string[]> {
  const ids: string[] = [];
  for (let rule = 0; rule < ruleCount; rule++) {
    const { conditions } = kindOf(rule);
    const given = { name: `rule ${rule}`, trigger_event: "email.received", priority: rule, status: "inactive" };
    ids.push((await client.ask("POST /v1/rules", { ...given, conditions, actions: actionsOf(rule) })).id);
  }
  return ids;
}

const setStatus = (instance: BenchInstance, rules: string[], status: string): Promise<void> =>
  sideBySide(4, async (worker) => {
    for (let index = worker; index < rules.length; index += 4) {
      await instance.client.ask(`PATCH /v1/rules/${rules[index]}`, { status });
    }
  });

/** Sends by the clock; milliseconds from each mail's 250 until its row is there. */
async function visibleAfter(
  instance: BenchInstance,
  pool: pg.Pool,
  { mails, to }: { mails: Mail[]; to: string },
): Promise<number[]> {
  const taken = new Map<string, number>();
  const seen = new Map<string, number>();
  const ids = mails.map((mail) => `<${mail.id}>`);
  const watching = (async () => {
    while (seen.size < mails.length) {
      const { rows } = await pool.query(
        "select rfc_message_id as id from read.messages where rfc_message_id = any($1) and rfc_message_id <> all($2)",
        [ids, [...seen.keys()]],
      );
      const now = performance.now();
      for (const { id } of rows) seen.set(id, now);
      await sleep(2);
    }
  })();
  const transport = createTransport({
    ...{ host: "127.0.0.1", port: instance.smtpPort, secure: false, ignoreTLS: true },
    ...{ pool: true, maxConnections: 4, maxMessages: Number.POSITIVE_INFINITY },
  });
  const began = performance.now();
  const sending = mails.map(async (mail, index) => {
    await sleep(Math.max(0, began + (index * 1_000) / perSecond - performance.now()));
    await transport.sendMail({ envelope: { from: mail.from, to }, raw: mail.raw });
    taken.set(`<${mail.id}>`, performance.now());
  });
  await Promise.all([...sending, watching]);
  transport.close();
  return [...seen].map(([id, at]) => Math.max(0, at - taken.get(id)!));
}

const allEvaluated = async (pool: pg.Pool, mails: number): Promise<boolean> => {
  const { rows } = await pool.query(
    "select count(*) as done from read.rule_evaluations where actions::text not like '%pending%'",
  );
  return Number(rows[0].done) >= mails * ruleCount;
};

/** Evaluations that are missing, too many, or not what the model says. */
async function wrongOnes(pool: pg.Pool, evaluated: readonly number[]): Promise<number> {
  const { rows } = await pool.query(
    `select r.name, m.subject, e.matched, e.actions from read.rule_evaluations e
     join read.rules r on r.id = e.rule_id join read.rule_runs u on u.id = e.run_id
     join read.messages m on m.id = u.message_id`,
  );
  const wanted = new Set(evaluated);
  const found = new Set<string>();
  let wrong = 0;
  for (const { name, subject, matched, actions } of rows) {
    const rule = Number(name.split(" ")[1]);
    const mail = made(Number(subject.split(" ")[1]));
    const matches = kindOf(rule).matches(mail, rule);
    const outcomes = matches ? actionsOf(rule).map(() => "done") : [];
    const same =
      JSON.stringify(actions.map((action: { outcome: string }) => action.outcome)) === JSON.stringify(outcomes);
    if (!wanted.has(mail.number) || matched !== matches || !same) wrong += 1;
    found.add(`${rule}/${mail.number}`);
  }
  return wrong + Math.abs(rows.length - found.size) + Math.abs(evaluated.length * ruleCount - found.size);
}

function summarise(
  times: Record<"without" | "with", number[][]>,
  wrong: number,
  mails: number,
): Record<string, unknown> {
  const of = (name: keyof typeof times, which: "p50" | "p99") =>
    spreadOf(times[name].map((one) => latency(one)[which]));
  for (const name of ["without", "with"] as const) {
    console.log(
      `  ${name.padEnd(8)} p50 ${figure(of(name, "p50").median)} ms  p99 ${figure(of(name, "p99").median)} ms`,
    );
  }
  const added = of("with", "p99").median - of("without", "p99").median;
  console.log(`  added at p99: ${figure(added)} ms; ${mails} mails, ${mails * ruleCount} evaluations`);
  goal("evaluations that the model contradicts", wrong, { atMost: 0 });
  return {
    mails,
    added_p99_ms: round(added, 2),
    p50_ms: round(of("with", "p50").median, 2),
    p99_ms: round(of("with", "p99").median, 2),
    without_p50_ms: round(of("without", "p50").median, 2),
    without_p99_ms: round(of("without", "p99").median, 2),
    evaluations: mails * ruleCount,
    wrong,
  };
}
