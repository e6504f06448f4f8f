import { plainTable } from "./append.ts";
import { type Bench, byTheClock } from "./bench.ts";
import { sendMails } from "./mails.ts";
import { startService, untilAtLeast } from "./service.ts";

const perSecond = 50;
const threadCount = 20;

/**
 * Measures the latency of writes, from when each was due at a steady rate to its answer, which is given once the written data can be
 * read. The reference is an INSERT of one row at the same rate.
 */
export const bench: Bench = {
  size: 500,
  unit: `writes, ${perSecond} a second`,
  async run(server, size) {
    const service = await startService(server, await server.database());
    const { client, database, smtpPort } = service;
    const identity = await client.identity();
    await sendMails(smtpPort, identity.email_address, { count: threadCount * 4 });
    await untilAtLeast(database, threadCount, "select count(*) from read.threads");
    const { data: threads } = await client.ask(`GET /v1/threads?limit=${threadCount}`);
    const write = (n: number): Promise<unknown> => {
      const priority = Math.floor(n / threadCount) % 2 === 0 ? "high" : "low";
      return client.ask(`PATCH /v1/threads/${threads[n % threadCount].id}`, { priority });
    };
    const { name, subject, append } = await plainTable(server);
    const insert = (n: number): Promise<unknown> => append("bench-visible", n);
    // An even number of rounds, so that the first measured write changes its thread too.
    await byTheClock(perSecond, threadCount * 10, write);
    await server.measure("PATCH /v1/threads/{id}, until it can be read", service, () =>
      byTheClock(perSecond, size, write),
    );
    await byTheClock(perSecond, threadCount, insert);
    await server.measure(`${name}, ${perSecond} a second`, subject, () => byTheClock(perSecond, size, insert));
  },
};
