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
import { createPlaces, type Places } from "./framework/places.ts";
import type { Route } from "./framework/route.ts";
import type { Tail } from "./framework/tail.ts";

/** What the routes work with. */
export type HttpDependencies = Dependencies & {
  /**
   * Read your writes: resolves when the read models that the answer is made from (default: those that are served together) have reached the
   * position of a write. If they lag, it throws an Unavailable that says that the write is recorded, and under which id.
   */
  readAfter(position: number, id?: string, of?: readonly ReadModel[]): Promise<void>;
  /** Throws NotReadable if nothing can be answered from one of these read models now. */
  requireReadable(of: readonly ReadModel[]): void;
  /** Ends requests under a revoked key on every instance. */
  revocation: Pick<Revocation, "drain" | "upToDate">;
  keyUses: KeyUses;
  feedTail: FeedTail;
  /** Wakes the pages that are open in a workspace when something in it has changed. */
  changeTail: Tail<ChangeMarks>;
  /** Who has which draft open. */
  presence: Presence;
  webhookDeliveries: WebhookDeliveries;
  /** Places of calls that wait for something to happen. */
  waits: Places;
  cursors: Cursors;
  /** Aborted when this instance takes no more requests: what would go on without end has to end. */
  closing: AbortSignal;
};

/** Recorded, but not readable yet: a 503 that must not make anybody write again. */
export class NotReadableYet extends Unavailable {
  override readonly name = "NotReadableYet";
  readonly recorded = true;
  readonly id: string | undefined;
  constructor(id: string | undefined) {
    super("the read models have not yet caught up with this write");
    this.id = id;
  }
}

/** Why nothing can be answered from some read models now, in plain English; undefined if it can. */
export type ObstacleOf = (of: readonly ReadModel[]) => { sentence: string } | undefined;

export type HttpParts = {
  database: Pick<Database, "query">;
  revocation: Pick<Revocation, "drain" | "upToDate">;
  webhookDeliveries: WebhookDeliveries;
  closing: AbortSignal;
  /** Absent: everything can always be answered. */
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
  waits: createPlaces("waiting calls", deps),
  webhookDeliveries,
  cursors: createCursors(deps.keyRing),
  closing,
});

/**
 * The routes of a noun, which answers from these read models: its writes wait for them and for no others, and nobody is answered while one
 * of them is not ready. A route that answers from others names them itself (`answersFrom`).
 */
export const answeredFrom = <R extends Route>(
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
