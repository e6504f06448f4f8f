import { randomBytes } from "node:crypto";
import pg from "pg";
import { migrate } from "#src/postgres/migrate.ts";

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

/** A database of its own on the suite's real PostgreSQL: an owner, and a service role with nothing but what the migrations grant it. */
export async function createTestDatabase(): Promise<TestDatabase> {
  const name = `test_${randomBytes(6).toString("hex")}`;
  const owner = `${name}_owner`;
  const service = `${name}_service`;
  await asAdmin(`create role ${owner} login password '${owner}'`);
  await asAdmin(`create role ${service} login password '${service}'`);
  await asAdmin(`create database ${name} owner ${owner}`);
  const ownerUrl = withDatabase(adminUrl(), name, owner);
  await migrate(ownerUrl, service);
  return {
    ownerUrl,
    serviceUrl: withDatabase(adminUrl(), name, service),
    serviceRole: service,
    async drop() {
      await asAdmin(`drop database ${name} with (force)`);
      await asAdmin(`drop role ${owner}`);
      await asAdmin(`drop role ${service}`);
    },
  };
}
