import { idOf, type Recorded } from "#streams/event.ts";
import type { AbsorbedPart } from "#streams/thread/events.ts";
import type { ProjectorTx } from "./projection.ts";

export type MergedTable = {
  /** Table with the columns `id` and `thread_id`. */
  table: string;
  /** Table of the read model's known merges: `absorbed_id` (primary key), `survivor_id`. */
  merges: string;
};

/** True for the first part of a merge, with which the rows move; large merges have several parts. */
export const isFirstMergePart = ({ type, data }: Recorded): boolean =>
  type === "ThreadAbsorbed" && (data.part as AbsorbedPart).n === 1;

/**
 * Keeps rows on the threads that survive. A row may be written by an event that names a thread absorbed before it (a draft submitted
 * while its thread was being merged), so merges are remembered: `written` are the ids of the rows this batch wrote.
 */
export function moveRowsToSurvivors(
  tx: ProjectorTx,
  { table, merges }: MergedTable,
  { events, written }: { events: readonly Recorded[]; written: readonly string[] },
): void {
  const absorbed = events.filter(isFirstMergePart);
  for (const event of absorbed) {
    remember(tx, merges, { absorbedId: event.data.absorbedId as string, survivorId: idOf(event.stream) });
  }
  // Two statements: a single one with `or` would scan all rows of all merges.
  const absorbedIds = absorbed.map((event) => event.data.absorbedId as string);
  if (absorbedIds.length > 0) move(tx, { table, merges, rows: "m.absorbed_id = any($1::uuid[])" }, absorbedIds);
  if (written.length > 0) move(tx, { table, merges, rows: `${table}.id = any($1::uuid[])` }, written);
}

/** Moves the rows on absorbed threads that meet the condition `rows` over `ids` to the survivors. */
function move(tx: ProjectorTx, { table, merges, rows }: MergedTable & { rows: string }, ids: readonly string[]): void {
  tx.write(
    `update ${table} set thread_id = m.survivor_id from ${merges} m where ${table}.thread_id = m.absorbed_id and ${rows}`,
    [ids],
  );
}

/** Stores merges. Every stored one names the last survivor, so that no reader has to follow a chain. */
function remember(
  tx: ProjectorTx,
  merges: string,
  { absorbedId, survivorId }: { absorbedId: string; survivorId: string },
): void {
  tx.write(
    `insert into ${merges} (absorbed_id, survivor_id)
     select $1::uuid, coalesce((select survivor_id from ${merges} where absorbed_id = $2::uuid), $2::uuid)
     on conflict (absorbed_id) do nothing`,
    [absorbedId, survivorId],
  );
  tx.write(
    `update ${merges} set survivor_id = m.survivor_id from ${merges} m
     where m.absorbed_id = $1 and ${merges}.survivor_id = m.absorbed_id`,
    [absorbedId],
  );
}
