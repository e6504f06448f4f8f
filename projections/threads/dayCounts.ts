import type { Counts } from "../counts.ts";
import type { conditions } from "../page.ts";
import type { Tx } from "../projection.ts";
import type { StoredThread } from "./row.ts";

/** Counts of threads with a message by the day of the last one, in addition to the filters that `thread_counts` has. */
export const threadDays: Counts = {
  table: "thread_days",
  dimensions: ["workspace_id", "day", "identity_id", "status", "needs_review", "priority"],
};

const dayMs = 86_400_000;

/** Returns the rows of threads with a message, with their days. */
export const withDays = (rows: readonly StoredThread[]): (StoredThread & { day: number })[] =>
  rows.flatMap((row) =>
    row.last_message_at === null ? [] : [{ ...row, day: Math.floor(new Date(row.last_message_at).getTime() / dayMs) }],
  );

/** Period of last messages; both ends are included, and may be absent. */
export type ThreadPeriod = { from?: Date; to?: Date };

/** Time that no message reaches, from 1970 in both directions: a whole number of days, so that an absent end adds no part of a day. */
const farMs = 10_000_000 * dayMs;

/**
 * Counts the listed threads of a period under conditions on columns that both tables have. Whole days are read from the stored counts, the
 * threads of the parts of days at its ends are counted. Times are whole milliseconds.
 */
export async function countThreadsOf(
  sql: Tx,
  { where, values }: ReturnType<typeof conditions>,
  { from, to }: ThreadPeriod,
): Promise<number> {
  const start = from?.getTime() ?? -farMs;
  const end = to === undefined ? farMs : to.getTime() + 1;
  const [firstDay, endDay] = [Math.ceil(start / dayMs), Math.floor(end / dayMs)];
  const parts: [number, number][] =
    firstDay < endDay
      ? [
          [start, firstDay * dayMs],
          [endDay * dayMs, end],
        ]
      : [[start, end]];
  const asked = [...values];
  const within = (column: string, first: number | Date, before: number | Date): string =>
    [...where, `${column} >= $${asked.push(first)}`, `${column} < $${asked.push(before)}`].join(" and ");
  const counts = [
    `select coalesce(sum(count), 0) from thread_days where ${within("day", firstDay, endDay)}`,
    ...parts
      .filter(([first, before]) => first < before)
      .map(
        ([first, before]) =>
          `select count(*) from threads where in_lists and ${within("sorted_at", new Date(first), new Date(before))}`,
      ),
  ];
  const { rows } = await sql.query<{ total: number }>(`select ((${counts.join(") + (")}))::int as total`, asked);
  return rows[0]?.total ?? 0;
}
