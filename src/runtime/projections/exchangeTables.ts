import type { Sql } from "#src/platform/postgres/database.ts";
import { liveSchema, quoteIdentifier } from "./projectionTables.ts";

/**
 * Replaces the live tables by those of a schema, within the caller's transaction. Grants on a live table are repeated on its successor. The
 * old tables and the schema are dropped.
 */
export async function exchangeTables(
  tx: Sql,
  schema: string,
  { oldTables, newTables }: { oldTables: readonly string[]; newTables: readonly string[] },
): Promise<void> {
  const old = await existing(tx, [...new Set([...oldTables, ...newTables])]);
  if (old.length > 0) await tx.query(`lock table ${old.map(live).join(", ")} in access exclusive mode`);
  const lasting = old.filter((table) => newTables.includes(table));
  const grants = await grantsOn(tx, lasting, schema);
  if (old.length > 0) await tx.query(`drop table ${old.map(live).join(", ")}`);
  for (const grant of grants) await tx.query(grant);
  for (const table of newTables) {
    await tx.query(
      `alter table ${quoteIdentifier(schema)}.${quoteIdentifier(table)} set schema ${quoteIdentifier(liveSchema)}`,
    );
  }
  await tx.query(`drop schema ${quoteIdentifier(schema)}`);
}

const live = (table: string): string => `${quoteIdentifier(liveSchema)}.${quoteIdentifier(table)}`;

async function existing(tx: Sql, tables: readonly string[]): Promise<string[]> {
  const { rows } = await tx.query<{ name: string }>(
    "select tablename as name from pg_tables where schemaname = $1 and tablename = any($2) order by tablename",
    [liveSchema, tables],
  );
  return rows.map((row) => row.name);
}

/** Returns one statement for each right that roles other than the owner have on these live tables, to grant it in `schema`. */
async function grantsOn(tx: Sql, tables: readonly string[], schema: string): Promise<string[]> {
  const { rows } = await tx.query<{ statement: string }>(
    `select format('grant %s on %I.%I to %s', acl.privilege_type, $3::text, class.relname,
         case acl.grantee when 0 then 'public' else quote_ident(pg_get_userbyid(acl.grantee)) end)
         || case when acl.is_grantable then ' with grant option' else '' end as statement
     from pg_class class cross join aclexplode(class.relacl) acl
     where class.relnamespace = $1::regnamespace and class.relname = any($2) and acl.grantee <> class.relowner`,
    [liveSchema, tables, schema],
  );
  return rows.map((row) => row.statement);
}
