import type { Bench } from "./bench.ts";
import { mails } from "./corpus.ts";
import { type Cpu, filed, sendAll, startBenchInstance, timed, untilFiled } from "./instance.ts";
import { answerThreads } from "./job.ts";
import { figure, goal, progress, progressDone, round, spreadOf, spreadText } from "./measure.ts";
import type { BenchServer } from "./server.ts";
import { forgetStatements, statementTable, statementTimes } from "./statements.ts";

const usualMails = 500;
const usualReplies = 150;

/** The whole job over sockets: mail in, drafts over REST, approved, sent into the outbox; and the memory that takes. */
export const bench: Bench = {
  title: "main-job: mail in, draft, approval, reply out, by one service process",
  repetitions: 3,
  async run({ server, repetitions, mails: mailCount = usualMails, replies = usualReplies, agents, only }) {
    const corpus = await mails(mailCount);
    const instance = await startBenchInstance(server);
    const filedBefore = await filed(instance);
    const idle = instance.memory();
    let peak = idle;
    const watch = setInterval(() => {
      const now = instance.memory();
      if (now !== undefined) peak = Math.max(peak ?? 0, now);
    }, 50);
    const mailsIn: Timed[] = [];
    const repliesOut: Timed[] = [];
    try {
      for (let repetition = 1; repetition <= repetitions; repetition++) {
        const identity = await instance.client.identity();
        progress(`round ${repetition} of ${repetitions}: ${corpus.mails.length} mails in`);
        const takeIn = async () => {
          await sendAll(instance.smtpPort, corpus.mails, [identity.email_address]);
          await untilFiled(instance, filedBefore + repetition * corpus.mails.length);
          return corpus.mails.length;
        };
        if (only === "replies") await takeIn();
        else mailsIn.push(await timed(instance, () => withStatements(server, takeIn)));
        if (only === "mails") continue;
        progress(`round ${repetition} of ${repetitions}: replies`);
        const answer = () => answerThreads(instance, { identityId: identity.id, most: replies, agents });
        repliesOut.push(await timed(instance, () => withStatements(server, answer)));
      }
      progressDone();
    } finally {
      clearInterval(watch);
      await instance.stop();
    }
    console.log(`  ${corpus.source}`);
    if (mailsIn.length > 0) say("mails in, filed", mailsIn);
    if (repliesOut.length > 0) say("replies approved, out", repliesOut);
    if (peak !== undefined) goal("most resident memory of the Node process, MB", peak, { atMost: 300 });
    return {
      ...(mailsIn.length > 0 && { mails_per_s: rateOf(mailsIn), cpu_ms_per_mail: cpuOf(mailsIn) }),
      ...(repliesOut.length > 0 && { replies_per_s: rateOf(repliesOut), cpu_ms_per_reply: cpuOf(repliesOut) }),
      rss_idle_mb: idle === undefined ? null : round(idle),
      rss_peak_mb: peak === undefined ? null : round(peak),
    };
  },
};

/** Prints what PostgreSQL did for it, where that is counted. */
async function withStatements({ statementsAt }: BenchServer, work: () => Promise<number>): Promise<number> {
  if (statementsAt === undefined) return work();
  await forgetStatements(statementsAt);
  const count = await work();
  console.log(statementTable(await statementTimes(statementsAt), count));
  return count;
}

type Timed = Awaited<ReturnType<typeof timed>>;

function say(what: string, rounds: readonly Timed[]): void {
  const cpu = Object.entries(cpuOf(rounds)).map(([name, ms]) => `${name} ${figure(ms)}`);
  const rates = spreadText(spreadOf(rounds.map(({ rate }) => rate)), "/s");
  console.log(`  ${what.padEnd(21)} ${rates.padEnd(28)} CPU ms each: ${cpu.join(", ")}`);
}

const rateOf = (rounds: readonly Timed[]): number => round(spreadOf(rounds.map(({ rate }) => rate)).median, 1);

/** Medians, in milliseconds for each of what was done. */
function cpuOf(rounds: readonly Timed[]): Record<string, number> {
  const names = Object.keys(rounds[0]?.cpu ?? {}) as (keyof Cpu)[];
  return Object.fromEntries(
    names.map((name) => [name, round(spreadOf(rounds.map(({ cpu }) => cpu[name]!)).median, 2)]),
  );
}
