import { isHandled, type Projection, type ProjectorTx } from "#projections/projection.ts";
import type { Batch } from "#src/eventStore/eventStore.ts";
import { type Database, NotRun, type Sql } from "#src/platform/postgres/database.ts";
import { asError, isTransient } from "./retrying.ts";

/** The checkpoint of the read models that are served together. */
export const mainGroup = "main";

/** A stored checkpoint. `generation`: increased when a read model joins or leaves the checkpoint's group, or gets other tables. */
export type Checkpoint = { name: string; position: number; generation: number };

/** Read models that share a checkpoint. */
export type CheckpointGroup = { checkpoint: Checkpoint; projections: readonly Projection[] };

/** A projection and the position of its tables. */
export type Progress = { projection: Projection; position: number };

/**
 * A checkpoint differs from what its writer stored: another writer moved it, or the database lost its last commits. Nothing was written.
 */
export class CheckpointMoved extends Error {
  override readonly name = "CheckpointMoved";
}

/** A projector failed on a batch. */
export class ProjectorFailed extends Error {
  override readonly name = "ProjectorFailed";
  readonly projection: string;
  constructor(projection: string, events: string, cause: unknown) {
    super(`${projection} failed on ${events}: ${asError(cause).message}`, { cause });
    this.projection = projection;
  }
}

/**
 * Writes one batch into the tables of all projections of a group, with its checkpoint, in one transaction. If no event is for them, only
 * the checkpoint is moved. Throws CheckpointMoved, ProjectorFailed, or the database's error.
 */
export async function writeBatch(
  database: Database,
  { checkpoint, projections }: CheckpointGroup,
  batch: Batch,
): Promise<void> {
  if (batch.position <= checkpoint.position) return;
  if (isForAny(projections, batch)) await writeRows(database, { checkpoint, projections }, batch);
  else await moveCheckpoint(database, checkpoint, batch.position);
  checkpoint.position = batch.position;
}

const isForAny = (projections: readonly Projection[], { events }: Batch): boolean =>
  projections.some((projection) => events.some(({ type }) => isHandled(projection, type)));

async function writeRows(
  database: Database,
  { checkpoint, projections }: CheckpointGroup,
  batch: Batch,
): Promise<void> {
  const runs: ProjectorRun[] = [];
  let fault: unknown;
  const blame: Blame = (error) => {
    if (!(error instanceof NotRun)) fault ??= error;
  };
  const places = projections.map((projection) => ({ projection, position: checkpoint.position }));
  try {
    await database.transaction(async (tx) => {
      const [moved] = await Promise.allSettled([
        moveCheckpoint(tx, checkpoint, batch.position),
        projectAll(tx, places, { batch, runs, blame }),
      ]);
      if (moved.status === "rejected") throw moved.reason;
      if (fault !== undefined) throw fault;
      // The commit waits for their writes.
    });
  } catch (error) {
    await Promise.allSettled(runs.flatMap(({ writes }) => writes));
    // A writer whose checkpoint has moved may collide with the other writer's rows: not a fault of the projector.
    throw error instanceof CheckpointMoved ? error : (fault ?? error);
  }
}

/**
 * Runs all projectors on one pipelined connection. Each has its own tables, so the order of their statements does not matter. `blame` is
 * called with every failure, in order; the first one counts.
 */
async function projectAll(
  tx: Sql,
  places: readonly Progress[],
  { batch, runs, blame }: { batch: Batch; runs: ProjectorRun[]; blame: Blame },
): Promise<void> {
  for (const place of places) {
    runs.push(runProjector(tx, place, { batch, blame }));
    // Requests are served between the projectors of a large batch.
    if (batch.events.length >= large) await new Promise((resolve) => setImmediate(resolve));
  }
  await Promise.allSettled(runs.map(({ projected }) => projected));
}

/** Number of events from which a batch is large. */
const large = 100;

/** Runs projectors on the events of a batch that they handle and have not seen, and waits for their writes. Throws the first failure. */
export async function projectTogether(tx: Sql, places: readonly Progress[], batch: Batch): Promise<void> {
  const runs: ProjectorRun[] = [];
  const failures: unknown[] = [];
  await projectAll(tx, places, { batch, runs, blame: (error) => void failures.push(error) });
  await Promise.allSettled(runs.flatMap(({ writes }) => writes));
  const fault = failures.find((error) => !(error instanceof NotRun)) ?? failures[0];
  if (fault !== undefined) throw fault;
}

type Blame = (error: unknown) => void;

/**
 * A run of a projector: `projected` resolves when it has issued all its writes, which are in `writes`. Its own failures are
 * ProjectorFailed.
 */
type ProjectorRun = { projected: Promise<void>; writes: Promise<unknown>[] };

function runProjector(tx: Sql, place: Progress, { batch, blame }: { batch: Batch; blame: Blame }): ProjectorRun {
  const { projection, position } = place;
  const events = batch.events.filter((event) => event.position > position && isHandled(projection, event.type));
  const writes: Promise<unknown>[] = [];
  const failed = (error: unknown): never => {
    if (error instanceof NotRun || (isTransient(error) && !isTooSlow(error))) throw error;
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

/** True if a projector's own statement was too slow: that concerns only its tables. */
const isTooSlow = (error: unknown): boolean =>
  [error, (error as { cause?: unknown } | undefined)?.cause].some((each) =>
    tooLong.includes((each as { code?: string } | undefined)?.code ?? ""),
  );

/**
 * Moves the checkpoint. Issued before the rows, so that a writer whose checkpoint has moved finds out first, and concurrent writers wait
 * for each other here.
 */
async function moveCheckpoint(tx: Sql, { name, position, generation }: Checkpoint, to: number): Promise<void> {
  const { rowCount } = await tx.query(
    `update work.checkpoints set position = $4, updated_at = clock_timestamp()
     where name = $1 and position = $2 and generation = $3`,
    [name, position, generation, to],
  );
  if (rowCount !== 1) throw new CheckpointMoved(`the checkpoint ${name} was moved by another writer`);
}

/** A stored read model: the version and names of its tables, and their checkpoint. */
export type StoredReadModel = {
  name: string;
  version: number;
  tables: readonly string[];
  checkpoint: string;
  position: number;
  generation: number;
  /** Position that a rebuild of it has reached, if one runs. */
  rebuilt_to: number | null;
};

/** Returns the stored read models by name; all, or those that are named. */
export async function loadReadModels(sql: Sql, names?: readonly string[]): Promise<Map<string, StoredReadModel>> {
  const { rows } = await sql.query<StoredReadModel>(
    `select model.name, version, tables, checkpoint, position, generation, rebuilt_to
     from work.read_models model join work.checkpoints on work.checkpoints.name = checkpoint
     where model.name = any($1) or $1 is null`,
    [names ?? null],
  );
  return new Map(rows.map((row) => [row.name, row]));
}

/** Returns the stored position of the slowest of these projections. */
export async function lowestCheckpoint(sql: Sql, projections: readonly { name: string }[]): Promise<number> {
  const names = projections.map(({ name }) => name);
  const stored = await loadReadModels(sql, names);
  return Math.min(...names.map((name) => stored.get(name)?.position ?? 0));
}
