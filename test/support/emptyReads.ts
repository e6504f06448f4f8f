import type { Tx } from "#projections/projection.ts";
import type { Reads } from "#projections/reads.ts";

const nothing: Tx = { query: async () => ({ rows: [], rowCount: 0 }) };

/** Read models that nothing was ever written to. */
export const emptyReads: Reads = {
  of: () => nothing,
  snapshot: (_, ask) => ask(emptyReads),
  together: (_, ask) => ask(emptyReads),
  lookUp: () => nothing,
  ofNone: nothing,
  ofAll: nothing,
};
