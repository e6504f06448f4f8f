import { randomUUID } from "node:crypto";
import { json, type Projection } from "#projections/projection.ts";
import type { EventStore, NewEvent } from "#src/eventStore/eventStore.ts";
import { noStream, Unavailable } from "#src/eventStore/eventStore.ts";
import type { Database } from "#src/platform/postgres/database.ts";
import type { RunnerLog } from "#src/runtime/projections/retrying.ts";

/** Sums amounts per account, and stores every event by its position: a doubled or skipped batch shows in both. */
export const accounts: Projection = {
  name: "accounts",
  version: 1,
  tables: ["account_totals", "account_entries"],
  handles: ["Added"],
  async project(tx, events) {
    const entries = json(
      events.map(({ stream, position, data }) => ({ account: stream, position, amount: data.amount })),
    );
    tx.write(
      `insert into account_totals (account, total, entries)
       select account, sum(amount), count(*) from json_to_recordset($1::json) as e (account text, amount bigint) group by account
       on conflict (account) do update
         set total = account_totals.total + excluded.total, entries = account_totals.entries + excluded.entries`,
      [entries],
    );
    tx.write(
      `insert into account_entries (position, account, amount)
       select position, account, amount from json_to_recordset($1::json) as e (position bigint, account text, amount bigint)`,
      [entries],
    );
  },
};

/** Counts events of each type. Handles more types than `accounts`, and can be made to fail. */
export const counts: Projection = {
  name: "counts",
  version: 1,
  tables: ["type_counts"],
  handles: ["Added", "Noted"],
  async project(tx, events) {
    const types = json(events.map(({ type }) => ({ type })));
    await tx.query(
      `insert into type_counts (type, count) select type, count(*) from json_to_recordset($1::json) as e (type text) group by type
       on conflict (type) do update set count = type_counts.count + excluded.count`,
      [types],
    );
  },
};

const ddl: Record<string, string> = {
  accounts: `
    create table account_totals (account text primary key, total bigint not null, entries bigint not null);
    create table account_entries (position bigint primary key, account text not null, amount bigint not null);
    create index on account_entries (account)`,
  counts: "create table type_counts (type text primary key, count bigint not null)",
};

export const toyTables = async ({ name }: Projection): Promise<string> => ddl[name] ?? "";

export const newEvent = (type: string, data: Record<string, unknown> = {}): NewEvent => ({
  type,
  data,
  id: randomUUID(),
  metadata: {
    workspaceId: null,
    actor: { kind: "system", id: "test" },
    correlationId: randomUUID(),
    causationId: randomUUID(),
    at: new Date().toISOString(),
  },
});

/** Appends at the present revision of the stream. */
export async function append(store: EventStore, stream: string, ...events: NewEvent[]): Promise<number> {
  const last = await store.readLast(stream);
  return (await store.append(stream, last?.revision ?? noStream, events)).position;
}

/** Spreads `count` additions over ten accounts, each append with several events. */
export async function addMany(store: EventStore, count: number, atOnce = 50): Promise<void> {
  for (let done = 0; done < count; done += atOnce) {
    const size = Math.min(atOnce, count - done);
    const events = Array.from({ length: size }, (_, index) => newEvent("Added", { amount: done + index }));
    await append(store, `account-${(done / atOnce) % 10}`, ...events);
  }
}

export type LoggedLine = { level: "info" | "warn" | "error"; details: object; message: string };

/** Makes a logger that keeps its lines. */
export function quietLog(): RunnerLog & { said: LoggedLine[] } {
  const said: LoggedLine[] = [];
  const at = (level: LoggedLine["level"]) => (details: object, message: string) =>
    void said.push({ level, details, message });
  return { said, info: at("info"), warn: at("warn"), error: at("error") };
}

/** Repeats the check until it is true. The limit is longer than any test may take: it ends the loop of a test that has failed. */
export async function eventually(isSo: () => boolean | Promise<boolean>): Promise<void> {
  const until = Date.now() + 300_000;
  while (!(await isSo())) {
    if (Date.now() > until) throw new Error(`still not so after 5 minutes: ${isSo}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** Returns pauses that are longer than any test from the fourth failure in a row on. */
export const growingTooLong = (failures: number): number => (failures <= 3 ? 1 : 3_600_000);

/** Ends every connection of the service role except the one that sends this statement. At least one connection is ended. */
export async function cutConnections(database: Database): Promise<void> {
  const cut = async (): Promise<true> => {
    // Two concurrent queries open a second connection if the pool had one: otherwise none would be ended.
    await Promise.all([database.query("select 1"), database.query("select 1")]);
    await database.query(
      `select pg_terminate_backend(pid) from pg_stat_activity
       where usename = current_user and application_name = 'countersign' and pid <> pg_backend_pid()`,
    );
    return true;
  };
  // The pool may hand out a connection that was ended and whose end it has not noticed yet.
  await eventually(() => cut().catch((error) => !(error instanceof Unavailable) && Promise.reject(error)));
}
