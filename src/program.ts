import { randomUUID } from "node:crypto";
import { type Composition, compose } from "./compose.ts";
import { armCrashPoint } from "./platform/crashPoints.ts";
import { type EmbeddedPostgres, startEmbeddedPostgres } from "./platform/embeddedPostgres/embeddedPostgres.ts";
import { createLogger } from "./platform/logger.ts";
import { oneAtATime } from "./platform/postgres/oneAtATime.ts";
import { prepareDatabase } from "./platform/postgres/prepare.ts";
import { StartError } from "./platform/startError.ts";
import { type Service, startService } from "./service.ts";
import { type Config, loadConfig } from "./settings/config.ts";
import { firstOwnerInvitation, firstWorkspace } from "./start/firstStart.ts";
import { runUntilStopped } from "./start/lifecycle.ts";
import { startProgress } from "./start/startProgress.ts";
import { asLocalhost, printStartupBanner } from "./start/startupBanner.ts";
import { waitForServers } from "./start/waitForServers.ts";

/** The composition root: configuration, adapters, roles, and their shutdown in reverse order. */
async function run(config: Config): Promise<void> {
  const logger = createLogger(config.logLevel);
  const progress = startProgress(logger);
  let embedded: EmbeddedPostgres | undefined;
  let composition: Composition | undefined;
  let service: Service | undefined;

  await runUntilStopped({
    logger,
    endWithParent: config.startedByNpm,
    async start(_, ending) {
      const patiently = waitForServers({ log: logger, ending });
      if (config.crashAt) armCrashPoint(config.crashAt);
      if (!config.databaseUrl) {
        progress.step("PostgreSQL");
        embedded = await startEmbeddedPostgres({ dataDir: config.dataDir, logger, ending });
      }
      const urls = embedded ?? { serviceUrl: config.databaseUrl!, ownerUrl: config.databaseOwnerUrl! };
      progress.step("tables of the database");
      const { oneRole, remakesReadModels } = await patiently(() => prepareDatabase(urls));
      if (oneRole)
        logger.warn(
          "the service's role owns its tables, so only a trigger keeps the event log append-only: set DATABASE_OWNER_URL to use a separate owner",
        );
      if (remakesReadModels)
        logger.warn("the database was restored from a dump without the read models' rows: making them from the log");
      composition = compose(config, urls, {
        logger,
        // State in memory may derive from lost events, so the process ends immediately, even without an orderly shutdown.
        onRewound(error) {
          logger.error({ err: error }, "the event log has lost events that this instance knows, ending");
          process.exit(1);
        },
      });
      progress.step("service");
      const instance = randomUUID();
      const dataDirectory = embedded?.directory;
      const alone = !!embedded;
      service = await startService(config, composition, { instanceId: instance, logger, alone, dataDirectory });
      const { deps } = composition;
      const oneByOne = <T>(work: () => Promise<T>): Promise<T> => oneAtATime(urls.ownerUrl, "firstStart", work);
      if (!config.production) progress.step("first workspace");
      const first = config.production ? undefined : await firstWorkspace(deps, { patiently, oneByOne });
      progress.end();
      const { smtpPort: smtp_port } = service;
      const url = service.url && !config.production ? asLocalhost(service.url) : service.url;
      const event_store = config.eventStoreUrl ? "eventstoredb" : "postgresql";
      const database = embedded ? "embedded" : "configured";
      logger.info(
        { url, smtp_port, instance, event_store, database, ...(first && { api_key: first.apiKey }) },
        "ready",
      );
      if (config.production) return;
      // Made only if it will be shown: each new link invalidates the previous one.
      const ownerLink = process.stderr.isTTY ? await patiently(() => firstOwnerInvitation(deps)) : undefined;
      printStartupBanner(config, service, { apiKey: first?.apiKey, ownerLink });
    },
    async drain() {
      progress.end();
      await service?.stop();
      await composition?.close();
    },
    lastly: async () => embedded?.stop(),
  });
}

/** Runs the service, from its settings to its end. Resolves when it runs; exits the process if it cannot start. */
export async function runService(): Promise<void> {
  try {
    await run(loadConfig());
  } catch (error) {
    // An error that a person can fix is one sentence; only our own faults are logged with a stack.
    console.error(error instanceof StartError ? error.message : error);
    process.exit(1);
  }
}
