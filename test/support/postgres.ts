import { randomBytes } from "node:crypto";
import pg from "pg";
import { projections } from "#projections/index.ts";
import { connectDatabase } from "#src/postgres/database.ts";
import { migrate } from "#src/postgres/migrate.ts";
import { ensureTables, tablesFile } from "#src/subscriptions/projectionTables.ts";
import { atEnd } from "../../scripts/support/testEnd.ts";

const adminUrl = (): string => {
  const url = process.env.TEST_DATABASE_ADMIN_URL;
  if (!url)
    throw new Error(
      "TEST_DATABASE_ADMIN_URL is not set: run the tests by `npm test`, which starts a PostgreSQL of their own",
    );
  return url;
};

const withDatabase = (url: string, database: string, user: string): string => {
  const changed = new URL(url);
  changed.pathname = `/${database}`;
  changed.username = user;
  changed.password = user;
  return changed.href;
};

async function asAdmin(sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: adminUrl() });
  await client.connect();
  await client.query(sql).finally(() => client.end());
}

export type TestDatabase = { ownerUrl: string; serviceUrl: string; serviceRole: string; drop(): Promise<void> };

/** This process's: its databases share two roles, which lets them be copies of one that was filled once. */
const prefix = `test_${randomBytes(6).toString("hex")}`;
const owner = `${prefix}_owner`;
const service = `${prefix}_service`;
const templates = new Map<string, Promise<string>>();
let made = 0;

/**
 * A database of its own on the suite's real PostgreSQL: an owner, and a service role with nothing but what the migrations grant it.
 * `readModels`: with the empty read models that a service has made at its first start.
 */
export async function createTestDatabase({ readModels = false } = {}): Promise<TestDatabase> {
  const name = `${prefix}_${++made}`;
  await copyOf(await (readModels ? filled() : migrated()), name);
  return databaseOf(name);
}

/** An empty one, without any migration. */
export async function createBareDatabase(): Promise<TestDatabase> {
  await migrated();
  const name = `${prefix}_${++made}`;
  await asAdmin(`create database ${name} owner ${owner}`);
  return databaseOf(name);
}

const databaseOf = (name: string): TestDatabase => ({
  ownerUrl: withDatabase(adminUrl(), name, owner),
  serviceUrl: withDatabase(adminUrl(), name, service),
  serviceRole: service,
  drop: () => asAdmin(`drop database ${name} with (force)`),
});

/** Removes what this process's databases were copied from. Nothing can be created after that. */
async function dropTemplates(): Promise<void> {
  for (const name of templates.values()) await asAdmin(`drop database ${await name} with (force)`);
  for (const role of [owner, service]) await asAdmin(`drop role ${role}`);
}

const migrated = (): Promise<string> =>
  template("migrated", async (name) => {
    for (const role of [owner, service]) await asAdmin(`create role ${role} login password '${role}'`);
    await asAdmin(`create database ${name} owner ${owner}`);
    await migrate(withDatabase(adminUrl(), name, owner), service);
  });

const filled = (): Promise<string> =>
  template("filled", async (name) => {
    await copyOf(await migrated(), name);
    const database = connectDatabase({
      ownerUrl: withDatabase(adminUrl(), name, owner),
      serviceUrl: withDatabase(adminUrl(), name, service),
    });
    for (const projection of projections)
      await ensureTables(database, { projection, ddl: await tablesFile(projection), serviceRole: service });
    await database.close();
  });

/** File by file, and not through the log as by default: half the work where nobody waits for the disk. */
const copyOf = (template: string, name: string): Promise<void> =>
  asAdmin(`create database ${name} owner ${owner} template ${template} strategy file_copy`);

/** Nobody may be connected to a database while it is copied. */
function template(kind: string, make: (name: string) => Promise<void>): Promise<string> {
  const known = templates.get(kind);
  if (known) return known;
  const name = `${prefix}_${kind}`;
  // A database that a test has left keeps its roles: the server goes anyway.
  if (templates.size === 0) atEnd.push(() => dropTemplates().catch(() => {}));
  const making = make(name).then(() => name);
  templates.set(kind, making);
  return making;
}
