import type { Logger } from "pino";
import { type Composition, compose } from "#src/compose.ts";
import { startEmbeddedPostgres } from "#src/platform/embeddedPostgres/embeddedPostgres.ts";
import { createLogger, logTo } from "#src/platform/logger.ts";
import type { DatabaseUrls } from "#src/platform/postgres/database.ts";
import { prepareDatabase } from "#src/platform/postgres/prepare.ts";
import { type Config, loadConfig } from "#src/settings/config.ts";

type OperatorContext = { config: Config; urls: DatabaseUrls; logger: Logger };

/**
 * Runs an operator's command with the service's own settings: on its DATABASE_URL, or on the embedded server, which is used while the
 * service runs and otherwise started temporarily. Leaves the tables unchanged.
 */
export async function withServiceDatabase<T>(run: (beside: OperatorContext) => Promise<T>): Promise<T> {
  const config = loadConfig();
  // Standard output is reserved for the answer.
  const logger = createLogger("warn", logTo(2));
  const embedded = config.databaseUrl
    ? undefined
    : await startEmbeddedPostgres({ dataDir: config.dataDir, logger, beside: true });
  try {
    const urls = embedded ?? { serviceUrl: config.databaseUrl!, ownerUrl: config.databaseOwnerUrl! };
    return await run({ config, urls, logger });
  } finally {
    await embedded?.stop();
  }
}

/** Like `withServiceDatabase`, for a command that reads the service's data: migrates the tables first. */
export const withComposition = <T>(run: (composition: Composition) => Promise<T>): Promise<T> =>
  withServiceDatabase(async ({ config, urls, logger }) => {
    await prepareDatabase(urls);
    const composition = compose(config, urls, { logger });
    try {
      await composition.startClock();
      return await run(composition);
    } finally {
      await composition.close();
    }
  });
