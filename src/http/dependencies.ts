import type { ChangeMarks } from "#projections/changeMarks.ts";
import type { ReadModel } from "#projections/names.ts";
import type { Dependencies } from "#src/commands/dependencies.ts";
import { Unavailable } from "#src/eventStore/eventStore.ts";
import type { Database } from "#src/platform/postgres/database.ts";
import type { WebhookDeliveries } from "#src/platform/webhooks/deliveries.ts";
import { createChangeTail } from "./console/live/changeTail.ts";
import { createPresence, type Presence } from "./console/live/presence.ts";
import { createFeedTail, type FeedTail } from "./events/feedTail.ts";
import { NotReadable } from "./framework/errors.ts";
import { createKeyUses, type KeyUses } from "./framework/keys/keyUses.ts";
import type { Revocation } from "./framework/keys/revocation.ts";
import { type Cursors, createCursors } from "./framework/lists.ts";
import type { Tail } from "./framework/longPolling.ts";
import { createLongRequestLimit, type LongRequestLimit } from "./framework/longRequestLimit.ts";
import type { Route } from "./framework/route.ts";

/** Dependencies of the routes. */
export type HttpDependencies = Dependencies & {
  /**
   * Waits until the caller can read its own write: until the read models of the answer (default: those of the main group) have reached the
   * write's position. If they lag too long, throws an Unavailable that says that the write is recorded, and under which id.
   */
  readAfter(position: number, id?: string, of?: readonly ReadModel[]): Promise<void>;
  /** Throws NotReadable if one of these read models cannot be read now. */
  requireReadable(of: readonly ReadModel[]): void;
  /** Ends requests under a revoked key on all instances. */
  revocation: Pick<Revocation, "drain" | "upToDate">;
  keyUses: KeyUses;
  feedTail: FeedTail;
  /** Notifies open pages of changes in their workspace. */
  changeTail: Tail<ChangeMarks>;
  /** Viewers of drafts. */
  presence: Presence;
  webhookDeliveries: WebhookDeliveries;
  /** Concurrency limit for calls that wait for events. */
  waits: LongRequestLimit;
  cursors: Cursors;
  /** Aborted when this instance stops accepting requests: endless streams must then end. */
  closing: AbortSignal;
};

/** The write is recorded but cannot be read yet: a 503 after which the caller must not write again. */
export class NotReadableYet extends Unavailable {
  override readonly name = "NotReadableYet";
  readonly recorded = true;
  readonly id: string | undefined;
  constructor(id: string | undefined) {
    super("the read models have not yet caught up with this write");
    this.id = id;
  }
}

/** Explains in a sentence why some read models cannot be read now; undefined if they can. */
export type ObstacleOf = (of: readonly ReadModel[]) => { sentence: string } | undefined;

export type HttpParts = {
  database: Pick<Database, "query">;
  revocation: Pick<Revocation, "drain" | "upToDate">;
  webhookDeliveries: WebhookDeliveries;
  closing: AbortSignal;
  /** Absent: read models can always be read. */
  obstacleOf?: ObstacleOf;
};

export const httpDependencies = (
  deps: Dependencies,
  { database, revocation, webhookDeliveries, closing, obstacleOf }: HttpParts,
): HttpDependencies => ({
  ...deps,
  async readAfter(position, id, of) {
    if (!(await deps.projected(position, of && { of }))) throw new NotReadableYet(id);
  },
  requireReadable(of) {
    const obstacle = obstacleOf?.(of);
    if (obstacle) throw new NotReadable(obstacle.sentence);
  },
  revocation,
  keyUses: createKeyUses({ database, clock: deps.clock }),
  feedTail: createFeedTail({ reads: deps.reads, checkpoint: () => feedCheckpoint(database) }),
  changeTail: createChangeTail({ reads: deps.reads, checkpoint: () => feedCheckpoint(database) }),
  presence: createPresence({ database }),
  waits: createLongRequestLimit("waiting calls", deps),
  webhookDeliveries,
  cursors: createCursors(deps.keyRing),
  closing,
});

/**
 * Routes that answer from these read models: writes wait for these only, and requests are refused while one of them is not ready. A route
 * that reads other models declares them (`answersFrom`).
 */
export const routesAnsweredFrom = <R extends Route>(
  deps: HttpDependencies,
  of: readonly ReadModel[],
  routesOf: (deps: HttpDependencies) => R[],
): R[] =>
  routesOf({ ...deps, readAfter: (position, id) => deps.readAfter(position, id, of) }).map((route) => ({
    ...route,
    answersFrom: route.answersFrom ?? of,
  }));

async function feedCheckpoint(database: Pick<Database, "query">): Promise<number> {
  const { rows } = await database.query<{ position: number }>(
    "select position from work.checkpoints where name = (select checkpoint from work.read_models where name = 'feed')",
  );
  return rows[0]?.position ?? 0;
}
