import { randomUUID } from "node:crypto";
import { pino } from "pino";
import { compose } from "#src/compose.ts";
import type { Clock } from "#src/platform/clock.ts";
import type { DatabaseUrls } from "#src/platform/postgres/database.ts";
import { startService } from "#src/service.ts";
import { loadConfig } from "#src/settings/config.ts";
import { firstWorkspace } from "#src/start/firstStart.ts";
import { freePort } from "../../scripts/support/freePort.ts";
import { settingsOn } from "./settings.ts";
import { sharedThreads } from "./sharedThreads.ts";

export type SecondInstance = Awaited<ReturnType<typeof startSecondInstance>>;

/**
 * Starts one more instance with every role in this process, on a database that has its tables: it takes over from a killed one, or works
 * in parallel. It costs a fifth of a process. `log` gets each line of its log; `clock` replaces its own.
 */
export async function startSecondInstance(
  database: DatabaseUrls,
  environment: Record<string, string> = {},
  { log, clock }: { log?: (line: string) => void; clock?: Clock } = {},
) {
  const config = loadConfig({
    ...settingsOn(database),
    LOG_LEVEL: "silent",
    PORT: "0",
    SMTP_IN_PORT: String(await freePort()),
    ...environment,
  });
  const logger = log ? pino({ level: config.logLevel }, { write: log }) : pino({ level: config.logLevel });
  const composition = compose(config, database, { logger, threads: sharedThreads(), ...(clock && { clock }) });
  const instanceId = randomUUID();
  const service = await startService(config, composition, { instanceId, logger });
  const first = await firstWorkspace(composition.deps);
  let stopping: Promise<void> | undefined;
  return {
    instanceId,
    url: service.url as string,
    smtpPort: service.smtpPort as number,
    deps: composition.deps,
    /** Set if it found no workspace. */
    apiKey: first?.apiKey,
    /** Shuts down in order, as at SIGTERM. */
    stop: () => (stopping ??= service.stop().then(() => composition.close())),
  };
}

/** Settings that fix the address before the start, so that links in mails lead to it. */
export async function knownAddress(): Promise<{ PORT: string; PUBLIC_URL: string }> {
  const port = await freePort();
  return { PORT: `${port}`, PUBLIC_URL: `http://127.0.0.1:${port}` };
}

/** Ends the leases of killed instances at once: their expiry is tested elsewhere. `sql`: the owner's connection. */
export async function endLeasesOfDead(
  sql: { query(text: string, values: unknown[]): Promise<unknown> },
  ...living: readonly SecondInstance[]
): Promise<void> {
  const ids = living.map(({ instanceId }) => instanceId);
  await sql.query("update work.leases set expires_at = now() where holder <> all($1)", [ids]);
  await sql.query("update work.lanes set claimed_until = '-infinity' where state = 'claimed' and holder <> all($1)", [
    ids,
  ]);
}
