import type { Projection } from "./projection.ts";

/** Every read model of the service. */
export const projections: readonly Projection[] = [];
