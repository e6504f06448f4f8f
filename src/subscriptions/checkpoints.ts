import type { Projection, ProjectorTx } from "#projections/projection.ts";
import type { Batch } from "#src/eventStore/eventStore.ts";
import { type Database, NotRun, type Sql } from "#src/postgres/database.ts";
import { everyWorkspace } from "#src/postgres/reads.ts";
import type { Recorded } from "#streams/event.ts";
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
  const hands: Hand[] = [];
  let fault: unknown;
  const blame: Blame = (error) => {
    if (!(error instanceof NotRun)) fault ??= error;
  };
  try {
    await database.transaction(
      async (tx) => {
        const [moved] = await Promise.allSettled([
          moveCheckpoints(tx, behind, batch.position),
          projectAll(tx, behind, { batch, hands, blame }),
        ]);
        if (moved.status === "rejected") throw moved.reason;
        if (fault !== undefined) throw fault;
        // The commit waits for what they write.
      },
      { settings, recurring: true },
    );
  } catch (error) {
    await Promise.allSettled(hands.flatMap(({ writes }) => writes));
    // A writer that is not the one to write trips over what the other wrote: that is no projector's fault.
    throw error instanceof CheckpointMoved ? error : (fault ?? error);
  }
  for (const place of behind) place.position = batch.position;
}

/**
 * The commit need not wait for the disk: rows and checkpoint are lost together or not at all, and what is lost is made again from
 * the log. A writer that is stopped in mid-transaction is cut off, for it holds the checkpoint's lock. A table that somebody else has locked is
 * waited for no longer than what looks after itself takes: PostgreSQL's own housekeeping gives way after a second.
 */
const settings = {
  synchronous_commit: "off",
  idle_in_transaction_session_timeout: "4s",
  lock_timeout: "2s",
  search_path: "read",
  "countersign.workspace": everyWorkspace,
};

/**
 * Runs all projectors on one connection, which sends each statement without waiting for the answer to the one before. Their tables are their own,
 * so that the order of their statements does not matter. `blame` is called with every failure, in order: the first is the one that counts.
 */
async function projectAll(
  tx: Sql,
  places: readonly Place[],
  { batch, hands, blame }: { batch: Batch; hands: Hand[]; blame: Blame },
): Promise<void> {
  for (const place of places) {
    const hand = handOver(tx, place, { batch, blame });
    hands.push(hand);
    // Requests are served between the projectors of a large batch.
    if (batch.events.length >= large) await new Promise((resolve) => setImmediate(resolve));
  }
  await Promise.allSettled(hands.map(({ projected }) => projected));
}

/** Events of a large batch. */
const large = 100;

/** Whether a batch has events for this projection that are new to it. */
export const concernedBy = (place: Place, batch: Batch): boolean => batch.events.some(isNewTo(place));

const isNewTo =
  ({ projection, position }: Place) =>
  (event: Recorded): boolean =>
    event.position > position && projection.handles.includes(event.type);

/** Hands a projector those events of a batch that are its own and new to it, and waits for what it writes. */
export async function projectOn(tx: Sql, place: Place, batch: Batch): Promise<void> {
  const { projected, writes } = handOver(tx, place, { batch });
  await projected;
  await Promise.all(writes);
}

type Blame = (error: unknown) => void;

/** A projector at work: when it has said all that it writes, and each of these writes. Failures are ProjectorFailed where they are its own. */
type Hand = { projected: Promise<void>; writes: Promise<unknown>[] };

function handOver(tx: Sql, place: Place, { batch, blame = () => {} }: { batch: Batch; blame?: Blame }): Hand {
  const { projection } = place;
  const events = batch.events.filter(isNewTo(place));
  const writes: Promise<unknown>[] = [];
  const failed = (error: unknown): never => {
    if (error instanceof NotRun || (isPassing(error) && !isHeldUp(error))) throw error;
    const range = `${events.length} events from ${events[0]!.position} to ${events.at(-1)!.position}`;
    throw new ProjectorFailed(projection.name, range, error);
  };
  const noted = <T>(work: Promise<T>): Promise<T> => {
    const known = work.catch(failed);
    known.catch(blame);
    return known;
  };
  const write: ProjectorTx["write"] = (text, values = []) => void writes.push(noted(tx.query(text, values)));
  const project = async (): Promise<void> => projection.project({ query: tx.query, write }, events);
  return { projected: events.length === 0 ? Promise.resolve() : noted(project()), writes };
}

/** SQLSTATEs of a statement that waited too long for a lock, or ran too long. */
const tooLong = ["55P03", "57014"];

/** A projector's own statement was too slow: that concerns its tables and no others. */
const isHeldUp = (error: unknown): boolean =>
  [error, (error as { cause?: unknown } | undefined)?.cause].some((each) =>
    tooLong.includes((each as { code?: string } | undefined)?.code ?? ""),
  );

/** Before the rows: a writer that is not the one to write is to find out first, and two writers wait for each other here. */
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

/** The position of the slowest of these projections by its stored checkpoint. */
export async function lowestStored(sql: Sql, projections: readonly { name: string }[]): Promise<number> {
  const stored = await loadCheckpoints(
    sql,
    projections.map(({ name }) => name),
  );
  return Math.min(...projections.map(({ name }) => stored.get(name)?.position ?? 0));
}
