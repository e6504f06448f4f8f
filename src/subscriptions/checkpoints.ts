import type { Projection } from "#projections/projection.ts";
import type { Batch } from "#src/eventStore/eventStore.ts";
import type { Database, Sql } from "#src/postgres/database.ts";
import { seeEveryWorkspace } from "#src/postgres/reads.ts";
import { asError, isPassing } from "./retrying.ts";

/** A projection and how far its tables have got, as its writer believes. */
export type Place = { projection: Projection; position: number };

/** A checkpoint is not where its writer left it: somebody else wrote, or the database lost its last moments. Nothing was written. */
export class CheckpointMoved extends Error {
  override readonly name = "CheckpointMoved";
}

/** A projector could not make rows of a batch. */
export class ProjectorFailed extends Error {
  override readonly name = "ProjectorFailed";
  readonly projection: string;
  constructor(projection: string, events: string, cause: unknown) {
    super(`${projection} failed on ${events}: ${asError(cause).message}`, { cause });
    this.projection = projection;
  }
}

/**
 * Writes one batch into the tables of all these projections, with their checkpoints, in one transaction: all or nothing.
 * Throws CheckpointMoved, ProjectorFailed, or what the database throws.
 */
export async function writeBatch(database: Database, places: readonly Place[], batch: Batch): Promise<void> {
  const behind = places.filter((place) => place.position < batch.position);
  if (behind.length === 0) return;
  await database.transaction(async (tx) => {
    await moveCheckpoints(tx, behind, batch.position);
    await projectAll(tx, behind, batch);
  }, transactionSettings);
  for (const place of behind) place.position = batch.position;
}

/**
 * The commit need not wait for the disk: rows and checkpoint are lost together or not at all, and what is lost is made again from
 * the log. A writer that is stopped in mid-transaction is cut off, for it holds the checkpoint's lock. A table that somebody else has locked is
 * waited for no longer than what looks after itself takes: PostgreSQL's own housekeeping gives way after a second.
 */
const transactionSettings = `
  set local synchronous_commit = off;
  set local idle_in_transaction_session_timeout = '4s';
  set local lock_timeout = '2s';
  set local search_path = read;
  ${seeEveryWorkspace}`;

/**
 * All projectors on one connection: while the database works on a statement of one, the others make theirs. Their tables are their own,
 * so that it does not matter whose statement comes first. The first that fails ends it for all.
 */
async function projectAll(tx: Sql, places: readonly Place[], batch: Batch): Promise<void> {
  let failed: unknown;
  let turn: Promise<unknown> = Promise.resolve();
  const inTurn: Sql = {
    query(text, values) {
      const answer = turn.then(() => {
        if (failed !== undefined) throw failed;
        return tx.query(text, values) as never;
      });
      turn = answer.catch(() => {});
      return answer;
    },
  };
  const working: Promise<void>[] = [];
  for (const place of places) {
    const work = projectOn(inTurn, place, batch).catch((error) => {
      failed ??= error;
    });
    working.push(work);
    // So that its first statement is on its way before the next one computes.
    if (places.length > 1) await new Promise((resolve) => setImmediate(resolve));
  }
  await Promise.all(working);
  if (failed !== undefined) throw failed;
}

/** Whether a batch has events for this projection that are new to it. */
export const concernedBy = ({ projection, position }: Place, batch: Batch): boolean =>
  batch.events.some((event) => event.position > position && projection.handles.includes(event.type));

/** Hands a projector those events of a batch that are its own and new to it. */
export async function projectOn(tx: Sql, { projection, position }: Place, batch: Batch): Promise<void> {
  const events = batch.events.filter((event) => event.position > position && projection.handles.includes(event.type));
  if (events.length === 0) return;
  try {
    await projection.project(tx, events);
  } catch (error) {
    if (isPassing(error) && !isHeldUp(error)) throw error;
    const range = `${events.length} events from ${events[0]!.position} to ${events.at(-1)!.position}`;
    throw new ProjectorFailed(projection.name, range, error);
  }
}

/** SQLSTATEs of a statement that waited too long for a lock, or ran too long. */
const tooLong = ["55P03", "57014"];

/** A projector's own statement was too slow: that concerns its tables and no others. */
const isHeldUp = (error: unknown): boolean =>
  [error, (error as { cause?: unknown } | undefined)?.cause].some((each) =>
    tooLong.includes((each as { code?: string } | undefined)?.code ?? ""),
  );

/** Before the rows: whoever is not the one to write is to find out first, and two writers wait for each other here. */
async function moveCheckpoints(tx: Sql, places: readonly Place[], to: number): Promise<void> {
  const { rowCount } = await tx.query(
    `with mine as (
       select stored.name from work.checkpoints stored
       join unnest($1::text[], $2::int[], $3::bigint[]) as place (name, version, position)
         on place.name = stored.name and place.version = stored.version and place.position = stored.position
       order by stored.name for update of stored
     )
     update work.checkpoints stored set position = $4, updated_at = clock_timestamp() from mine where stored.name = mine.name`,
    [
      places.map(({ projection }) => projection.name),
      places.map(({ projection }) => projection.version),
      places.map(({ position }) => position),
      to,
    ],
  );
  if (rowCount !== places.length) throw new CheckpointMoved(`some checkpoints were moved by another writer`);
}

export type Checkpoint = { name: string; version: number; position: number; tables: string[]; updated_at: Date };

/** The stored checkpoints, by projection. */
export async function loadCheckpoints(sql: Sql, names: readonly string[]): Promise<Map<string, Checkpoint>> {
  const { rows } = await sql.query<Checkpoint>(
    "select name, version, position, tables, updated_at from work.checkpoints where name = any($1)",
    [names],
  );
  return new Map(rows.map((row) => [row.name, row]));
}

/** Where the slowest of these projections stands by its stored checkpoint. */
export async function lowestStored(sql: Sql, projections: readonly { name: string }[]): Promise<number> {
  const stored = await loadCheckpoints(
    sql,
    projections.map(({ name }) => name),
  );
  return Math.min(...projections.map(({ name }) => stored.get(name)?.position ?? 0));
}
