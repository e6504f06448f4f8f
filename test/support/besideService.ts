import { pino } from "pino";
import { compose } from "#src/compose.ts";
import { loadConfig } from "#src/config.ts";
import type { DatabaseUrls } from "#src/postgres/database.ts";
import { settingsOn } from "./settings.ts";

/** Commands on the database of a running service, without any role of one. */
export const composeBeside = (database: DatabaseUrls) =>
  compose(loadConfig(settingsOn(database)), database, { logger: pino({ level: "silent" }) });
