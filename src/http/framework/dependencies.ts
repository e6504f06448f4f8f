import type { Dependencies } from "#src/commands/dependencies.ts";
import { Unavailable } from "#src/eventStore/eventStore.ts";
import type { Database } from "#src/postgres/database.ts";
import type { WebhookDeliveries } from "#src/webhooks/deliveries.ts";
import { createFeedTail, type FeedTail } from "../events/feedTail.ts";
import { createKeyUses, type KeyUses } from "./keys/keyUses.ts";
import type { Revocation } from "./keys/revocation.ts";
import { type Cursors, createCursors } from "./lists.ts";

/** What the routes work with. */
export type HttpDependencies = Dependencies & {
  /**
   * Read your writes: resolves when the read models have reached the position of a write. If they lag, it throws an Unavailable that
   * says that the write is recorded, and under which id.
   */
  readAfter(position: number, id?: string): Promise<void>;
  /** Ends requests under a revoked key on every instance. */
  revocation: Pick<Revocation, "drain" | "upToDate">;
  keyUses: KeyUses;
  feedTail: FeedTail;
  webhookDeliveries: WebhookDeliveries;
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

export type HttpParts = {
  database: Pick<Database, "query">;
  revocation: Pick<Revocation, "drain" | "upToDate">;
  webhookDeliveries: WebhookDeliveries;
  closing: AbortSignal;
};

export const httpDependencies = (
  deps: Dependencies,
  { database, revocation, webhookDeliveries, closing }: HttpParts,
): HttpDependencies => ({
  ...deps,
  async readAfter(position, id) {
    if (!(await deps.projected(position))) throw new NotReadableYet(id);
  },
  revocation,
  keyUses: createKeyUses({ database, clock: deps.clock }),
  feedTail: createFeedTail({ reads: deps.reads, checkpoint: () => feedCheckpoint(database) }),
  webhookDeliveries,
  cursors: createCursors(deps.keyRing),
  closing,
});

async function feedCheckpoint(database: Pick<Database, "query">): Promise<number> {
  const { rows } = await database.query<{ position: number }>(
    "select position from work.checkpoints where name = 'feed'",
  );
  return rows[0]?.position ?? 0;
}
