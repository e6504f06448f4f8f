import type { Logger } from "pino";
import type { Projection } from "#projections/projection.ts";
import type { EventStore } from "#src/eventStore/eventStore.ts";
import type { Database, Sql } from "#src/postgres/database.ts";
import type { Recorded } from "#streams/event.ts";
import { createLease } from "./lease.ts";
import { ensureTables, positionsOf } from "./readModels.ts";

export type ProjectionRunner = {
  start(): Promise<void>;
  stop(): Promise<void>;
  /** The last error while it persists: the read models stand still until it is mended. */
  trouble(): string | undefined;
};

export type ProjectionRunnerOptions = {
  store: EventStore;
  database: Database;
  projections: readonly Projection[];
  logger: Logger;
  instanceId: string;
  /** Told after each commit, with the position every read model has reached. */
  onProjected?: (position: number) => void;
};

const batchSize = 1000;

/** Somebody else moved the checkpoint: this batch was rolled back and theirs stands. */
class Fenced extends Error {
  override readonly name = "Fenced";
}

/** Feeds all read models from one reading of the log. A batch and the checkpoints it moves are one transaction. */
export function createProjectionRunner(options: ProjectionRunnerOptions): ProjectionRunner {
  const { store, database, projections, logger, instanceId, onProjected } = options;
  const stopping = new AbortController();
  const reached = new Map<string, number>();
  let trouble: string | undefined;
  let running: Promise<void> = Promise.resolve();

  const lease = createLease({
    database,
    name: "projections",
    holder: instanceId,
    onError: (error) => {
      if (error instanceof Fenced) return;
      trouble = (error as Error).message;
      logger.error({ err: error }, "the read models stand still");
    },
  });

  async function run(signal: AbortSignal): Promise<void> {
    await ensureTables(database, projections);
    // A read model made anew catches up on its own, without holding up the others.
    const groups = new Map<number, Projection[]>();
    const positions = await positionsOf(database, projections);
    for (const projection of projections) {
      const position = positions.get(projection.name) ?? 0;
      groups.set(position, [...(groups.get(position) ?? []), projection]);
    }
    const failed = new AbortController();
    const either = AbortSignal.any([signal, failed.signal]);
    const follow = async ([after, group]: [number, Projection[]]) => {
      try {
        await followLog(group, after, either);
      } catch (error) {
        failed.abort();
        throw error;
      }
    };
    await Promise.all([...groups].map(follow));
  }

  async function followLog(group: readonly Projection[], after: number, signal: AbortSignal): Promise<void> {
    let position = after;
    for await (const batch of store.subscribe({ after, batchSize, signal })) {
      if (batch.position > position) {
        await projectBatch(database, group, batch.events, position, batch.position);
        position = batch.position;
        tell(group, position);
      }
      trouble = undefined;
    }
  }

  function tell(group: readonly Projection[], position: number): void {
    for (const projection of group) reached.set(projection.name, position);
    if (reached.size === projections.length) onProjected?.(Math.min(...reached.values()));
  }

  return {
    async start() {
      await ensureTables(database, projections);
      running = lease.hold(run, stopping.signal);
    },
    async stop() {
      stopping.abort();
      await running;
    },
    trouble: () => trouble,
  };
}

/** One transaction: every projection's rows and the checkpoints, moved only from where this batch began. */
export async function projectBatch(
  database: Pick<Database, "transaction">,
  group: readonly Projection[],
  events: readonly Recorded[],
  from: number,
  to: number,
): Promise<void> {
  await database.transaction(async (tx) => {
    // Read models can be replayed, and their checkpoint is lost or kept together with them: no need to wait for the disk.
    await tx.query("set local synchronous_commit = off");
    await projectEvents(tx, group, events);
    const names = group.map((projection) => projection.name);
    const { rowCount } = await tx.query(
      "update work.checkpoints set position = $1, updated_at = now() where name = any($2) and position = $3",
      [to, names, from],
    );
    if (rowCount !== names.length) throw new Fenced("another instance moved the checkpoint");
  });
}

export async function projectEvents(tx: Sql, group: readonly Projection[], events: readonly Recorded[]): Promise<void> {
  for (const projection of group) {
    const handled = events.filter((event) => projection.handles.includes(event.type));
    if (handled.length > 0) await projection.project(tx, handled);
  }
}
