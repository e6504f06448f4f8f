import type { Tx } from "#projections/projection.ts";
import type { Reads } from "#projections/reads.ts";

const nothing: Tx = { query: async () => ({ rows: [], rowCount: 0 }) };

/** Read models without any rows. */
export const emptyReads: Reads = {
  of: () => nothing,
  snapshot: (_, ask) => ask(emptyReads),
  ofNone: nothing,
  ofAll: nothing,
};
