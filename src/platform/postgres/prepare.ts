import pg from "pg";
import { Unavailable } from "#src/eventStore/eventStore.ts";
import { StartError } from "#src/platform/startError.ts";
import { connectionTo } from "./connectionTo.ts";
import type { DatabaseUrls } from "./database.ts";
import { migrate } from "./migrate.ts";
import { everyWorkspace } from "./reads.ts";
import { asUnavailable } from "./unavailable.ts";

/** Facts about the database that the start needs. */
export type Prepared = {
  /** For example "18.4". */
  version: string;
  /** True if one role owns the tables and works on them: then only a trigger keeps the event log append-only. */
  oneRole: boolean;
  /** True if the database was restored from a dump without the rows of the read models: they are rebuilt from the log. */
  remakesReadModels: boolean;
};

const oldestMajor = 14;

/** Checks the server, and migrates its tables. Throws StartError if the settings lead to an unsuitable server. May be repeated. */
export async function prepareDatabase({ serviceUrl, ownerUrl }: DatabaseUrls): Promise<Prepared> {
  const service = await lookAt("DATABASE_URL", serviceUrl);
  const owner = serviceUrl === ownerUrl ? service : await lookAt("DATABASE_OWNER_URL", ownerUrl);
  if (Math.floor(service.number / 10_000) < oldestMajor)
    throw new StartError(
      `DATABASE_URL is PostgreSQL ${service.version}, but the service needs PostgreSQL ${oldestMajor} or newer.`,
    );
  if (owner.database !== service.database)
    throw new StartError(
      `DATABASE_URL and DATABASE_OWNER_URL are two databases (${service.database}, ${owner.database}): set both to the same database.`,
    );
  try {
    await migrate(ownerUrl, service.role);
  } catch (error) {
    const { code, message } = ((error as Error).cause ?? error) as { code?: string; message: string };
    // insufficient_privilege
    if (code === "42501")
      throw new StartError(
        `The role ${owner.role} may not create the tables (${message}): set DATABASE_OWNER_URL with a role that may.`,
      );
    throw asUnavailable(error);
  }
  return {
    version: service.version,
    oneRole: owner.role === service.role,
    remakesReadModels: await remakeIfEmptied(ownerUrl),
  };
}

/**
 * Detects a dump that row level security left without rows, but with checkpoints, and marks the read models for a rebuild. True if that was
 * so.
 */
async function remakeIfEmptied(ownerUrl: string): Promise<boolean> {
  const client = new pg.Client(connectionTo(ownerUrl, {}));
  client.on("error", () => {});
  try {
    await client.connect();
    await client.query(`set countersign.workspace = '${everyWorkspace}'`);
    const { rowCount } = await client.query(
      `with missing as (
         insert into work.dump_probe values ('00000000-0000-0000-0000-000000000000') on conflict do nothing returning 1
       ), begun as (
         update work.checkpoints set position = 0, generation = generation + 1 where exists (select from missing)
       )
       update work.read_models set version = 0 where exists (select from missing)`,
    );
    return rowCount !== 0;
  } catch (error) {
    throw asUnavailable(error);
  } finally {
    await client.end().catch(() => {});
  }
}

type ServerFacts = { number: number; version: string; role: string; database: string };

async function lookAt(setting: string, url: string): Promise<ServerFacts> {
  const client = new pg.Client(connectionTo(url, { connectionTimeoutMillis: 5_000 }));
  client.on("error", () => {});
  try {
    await client.connect();
    const { rows } = await client.query(
      `select current_setting('server_version_num')::int as number, split_part(current_setting('server_version'), ' ', 1) as version,
              current_user as role, current_database() as database`,
    );
    return rows[0];
  } catch (error) {
    throw cannotUse(setting, url, error as Error);
  } finally {
    await client.end().catch(() => {});
  }
}

/** Names the server without the password in its URL. If the server may become available, the cause is Unavailable. */
function cannotUse(setting: string, url: string, error: Error): StartError {
  const { hostname, port, pathname } = new URL(url);
  const where = `${setting} (${hostname}:${port || 5432}${pathname})`;
  const cause = asUnavailable(error);
  return cause instanceof Unavailable
    ? new StartError(`${where} cannot be reached: ${error.message || (error as NodeJS.ErrnoException).code}.`, {
        cause,
      })
    : new StartError(`${where} refuses the connection: ${error.message}.`);
}
