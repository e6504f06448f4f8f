import { type Composition, compose } from "#src/compose.ts";
import { loadConfig } from "#src/config.ts";
import { startEmbeddedPostgres } from "#src/embeddedPostgres/embeddedPostgres.ts";
import { createLogger, logTo } from "#src/logger.ts";
import { prepareDatabase } from "#src/postgres/prepare.ts";

/**
 * Runs a command beside the service, on the service's own settings: its DATABASE_URL, or the embedded server, which is used while the
 * service runs and started for the moment if it does not.
 */
export async function besideService<T>(run: (composition: Composition) => Promise<T>): Promise<T> {
  const config = loadConfig();
  // Standard output is for the answer.
  const logger = createLogger("warn", logTo(2));
  const embedded = config.databaseUrl
    ? undefined
    : await startEmbeddedPostgres({ dataDir: config.dataDir, logger, beside: true });
  try {
    const urls = embedded ?? { serviceUrl: config.databaseUrl!, ownerUrl: config.databaseOwnerUrl! };
    await prepareDatabase(urls);
    const composition = compose(config, urls, { logger });
    try {
      await composition.startClock();
      return await run(composition);
    } finally {
      await composition.close();
    }
  } finally {
    await embedded?.stop();
  }
}
