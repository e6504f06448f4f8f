import pg from "pg";

/** What a statement took on the server, planning included, since the last look. */
export type StatementTime = { text: string; calls: number; ms: number };

/** The library has to be there when the server starts. */
export const statementSettings = [
  "shared_preload_libraries = 'pg_stat_statements'",
  "pg_stat_statements.track_planning = on",
];

const mostShown = 30;
const mostText = 110;

/** Forgets what was counted; the first time on a server it begins to count. `adminUrl`: a superuser's. */
export const forgetStatements = (adminUrl: string): Promise<void> =>
  asAdmin(adminUrl, async (client) => {
    await client.query("create extension if not exists pg_stat_statements");
    await client.query("select pg_stat_statements_reset()");
  });

/** What took longest, the longest first. */
export const statementTimes = (adminUrl: string): Promise<StatementTime[]> =>
  asAdmin(adminUrl, async (client) => {
    const { rows } = await client.query(
      `select regexp_replace(query, '\\s+', ' ', 'g') as text, sum(calls)::integer as calls, sum(total_exec_time + total_plan_time) as ms
       from pg_stat_statements group by 1 order by 3 desc`,
    );
    return rows;
  });

/** A table for people: what each took for one of `count` things done. */
export function statementTable(times: readonly StatementTime[], count: number): string {
  const each = (value: number): string => (value / count).toFixed(2).padStart(8);
  const line = ({ text, calls, ms }: StatementTime): string =>
    `  ${each(calls)} ${each(ms)}  ${text.slice(0, mostText)}`;
  const sum = (of: (time: StatementTime) => number): number => times.reduce((total, time) => total + of(time), 0);
  return [
    "     calls   ms of each",
    ...times.slice(0, mostShown).map(line),
    `  ${each(sum(({ calls }) => calls))} ${each(sum(({ ms }) => ms))}  all ${times.length} of them`,
  ].join("\n");
}

/** One connection for this work. */
export async function asAdmin<T>(connectionString: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
