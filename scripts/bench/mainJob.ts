import type { Bench } from "./bench.ts";
import { mails } from "./corpus.ts";
import { sendAll, startBenchInstance, untilFiled } from "./instance.ts";
import { answerThreads } from "./job.ts";
import { goal, progress, progressDone, round, spreadOf, spreadText } from "./measure.ts";

const mailCount = 500;
const mostReplies = 150;

/** The whole job over sockets: mail in, drafts over REST, approved, sent into the outbox; and the memory that takes. */
export const bench: Bench = {
  title: "main-job: mail in, draft, approval, reply out, by one service process",
  repetitions: 3,
  async run({ server, repetitions }) {
    const corpus = await mails(mailCount);
    const instance = await startBenchInstance(server);
    const idle = instance.memory();
    let peak = idle;
    const watch = setInterval(() => {
      const now = instance.memory();
      if (now !== undefined) peak = Math.max(peak ?? 0, now);
    }, 50);
    const mailRates: number[] = [];
    const replyRates: number[] = [];
    try {
      for (let repetition = 1; repetition <= repetitions; repetition++) {
        const identity = await instance.client.identity();
        progress(`round ${repetition} of ${repetitions}: ${corpus.mails.length} mails in`);
        let began = performance.now();
        await sendAll(instance.smtpPort, corpus.mails, [identity.email_address]);
        await untilFiled(instance, repetition * corpus.mails.length);
        mailRates.push((corpus.mails.length / (performance.now() - began)) * 1_000);
        progress(`round ${repetition} of ${repetitions}: replies`);
        began = performance.now();
        const replies = await answerThreads(instance, identity.id, mostReplies);
        replyRates.push((replies / (performance.now() - began)) * 1_000);
      }
      progressDone();
    } finally {
      clearInterval(watch);
      await instance.stop();
    }
    const mailsIn = spreadOf(mailRates);
    const repliesOut = spreadOf(replyRates);
    console.log(`  ${corpus.source}`);
    console.log(`  mails in, filed       ${spreadText(mailsIn, "/s")}`);
    console.log(`  replies approved, out ${spreadText(repliesOut, "/s")}`);
    if (peak !== undefined) goal("most resident memory of the Node process, MB", peak, { atMost: 300 });
    return {
      mails_per_s: round(mailsIn.median, 1),
      replies_per_s: round(repliesOut.median, 1),
      rss_idle_mb: idle === undefined ? null : round(idle),
      rss_peak_mb: peak === undefined ? null : round(peak),
    };
  },
};
