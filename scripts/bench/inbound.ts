import pg from "pg";
import { SMTPServer } from "smtp-server";
import type { Bench } from "./bench.ts";
import { mails } from "./corpus.ts";
import { filed, sendAll, smtpConnections, startBenchInstance, untilFiled } from "./instance.ts";
import { figure, progress, progressDone, round, type Spread, spreadOf, spreadText } from "./measure.ts";
import type { BenchServer } from "./server.ts";

const mailCount = 500;
const several = 8;

/** Mail in until it is in its thread. Beside it, an SMTP server that does nothing but insert the raw bytes. */
export const bench: Bench = {
  title: `inbound: mails a second over SMTP, ${smtpConnections} connections, until filed`,
  repetitions: 3,
  async run({ server, repetitions }) {
    const corpus = await mails(mailCount);
    const instance = await startBenchInstance(server);
    const bare = await startBareReceiver(server);
    const rates: Record<string, number[]> = {
      "one identity": [],
      [`${several} identities`]: [],
      "bytes kept only": [],
    };
    // A real server's log may hold mail of earlier runs.
    let expected = await filed(instance);
    try {
      for (let repetition = 1; repetition <= repetitions; repetition++) {
        for (const [name, count] of [["one identity", 1] as const, [`${several} identities`, several] as const]) {
          progress(`round ${repetition} of ${repetitions}: ${name}`);
          const recipients: string[] = [];
          for (let made = 0; made < count; made++) recipients.push((await instance.client.identity()).email_address);
          expected += corpus.mails.length;
          rates[name]!.push(
            await rateOf(async () => {
              await sendAll(instance.smtpPort, corpus.mails, recipients);
              await untilFiled(instance, expected);
            }),
          );
        }
        rates["bytes kept only"]!.push(await rateOf(() => sendAll(bare.port, corpus.mails, ["bench@example.com"])));
      }
      progressDone();
      return summarise(corpus.source, rates);
    } finally {
      await Promise.all([instance.stop(), bare.stop()]);
    }
  },
};

async function rateOf(work: () => Promise<void>): Promise<number> {
  const began = performance.now();
  await work();
  return (mailCount / (performance.now() - began)) * 1_000;
}

function summarise(source: string, rates: Record<string, number[]>): Record<string, unknown> {
  console.log(`  ${mailCount} ${source} a round`);
  const spreads = Object.entries(rates).map(([name, all]): [string, Spread] => [name, spreadOf(all)]);
  const reference = spreads.at(-1)![1].median;
  for (const [name, spread] of spreads) {
    console.log(
      `  ${name.padEnd(16)} ${spreadText(spread, "mails/s").padEnd(36)} ${figure(spread.median / reference)}x bytes kept only`,
    );
  }
  return {
    mails: mailCount,
    source,
    ...Object.fromEntries(spreads.map(([name, { median }]) => [name.replaceAll(" ", "_"), round(median, 1)])),
  };
}

async function startBareReceiver(server: BenchServer): Promise<{ port: number; stop(): Promise<void> }> {
  const pool = new pg.Pool({
    connectionString: (await server.database({ migrated: false })).ownerUrl,
    max: smtpConnections,
  });
  pool.on("error", () => {});
  await pool.query("create table mails (id bigint generated always as identity primary key, raw bytea not null)");
  const smtp = new SMTPServer({
    ...{ authOptional: true, disabledCommands: ["STARTTLS", "AUTH"], logger: false, disableReverseLookup: true },
    onData(stream, _session, reply) {
      const chunks: Buffer[] = [];
      stream.on("data", (chunk) => chunks.push(chunk));
      stream.on("end", () => {
        pool.query("insert into mails (raw) values ($1)", [Buffer.concat(chunks)]).then(() => reply(), reply);
      });
    },
  });
  const listening = smtp.listen(0, "127.0.0.1");
  await new Promise((resolve) => listening.once("listening", resolve));
  return {
    port: (listening.address() as { port: number }).port,
    async stop() {
      await new Promise<void>((closed) => smtp.close(closed));
      await pool.end();
    },
  };
}
