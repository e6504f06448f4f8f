import { randomBytes } from "node:crypto";
import { projections } from "#projections/index.ts";
import { connectDatabase } from "#src/platform/postgres/database.ts";
import { migrate } from "#src/platform/postgres/migrate.ts";
import { storeFilled } from "#src/runtime/projections/membership.ts";
import { ensureTables, tablesFile } from "#src/runtime/projections/projectionTables.ts";
import { adminUrl, asAdmin, namesOfRun } from "#test/runner/server.ts";

const withDatabase = (url: string, database: string, user: string): string => {
  const changed = new URL(url);
  changed.pathname = `/${database}`;
  changed.username = user;
  changed.password = user;
  return changed.href;
};

export type TestDatabase = { ownerUrl: string; serviceUrl: string; serviceRole: string; drop(): Promise<void> };

/** Prefix for this process: its databases share two roles, so they can be copies of one that was filled once. */
const prefix = `${namesOfRun()}${randomBytes(4).toString("hex")}`;
const owner = `${prefix}_owner`;
const service = `${prefix}_service`;
const templates = new Map<string, Promise<string>>();
let made = 0;

/**
 * Makes a database on the suite's real PostgreSQL: an owner, and a service role with only the rights that the migrations grant.
 * `readModels`: with the empty read models that a service makes at its first start.
 */
export async function createTestDatabase({ readModels = false } = {}): Promise<TestDatabase> {
  const name = `${prefix}_${++made}`;
  await copyOf(await (readModels ? filled() : migrated()), name);
  return databaseOf(name);
}

/** Makes an empty database, without migrations. */
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
  async drop() {
    await asAdmin(`drop database ${name} with (force)`);
  },
});

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
    await storeFilled(database, projections);
    await database.close();
  });

/** Copies file by file, not through the log as by default: half the work on a server that waits for no disk. */
async function copyOf(template: string, name: string): Promise<void> {
  await asAdmin(`create database ${name} owner ${owner} template ${template} strategy file_copy`);
}

/** Returns a template database, made once. No connection may be open while it is copied. */
function template(kind: string, make: (name: string) => Promise<void>): Promise<string> {
  const known = templates.get(kind);
  if (known) return known;
  const name = `${prefix}_${kind}`;
  const making = make(name).then(() => name);
  templates.set(kind, making);
  return making;
}
