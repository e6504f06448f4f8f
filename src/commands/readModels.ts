import type { ReadModel } from "#projections/names.ts";
import { Behind } from "#src/eventStore/eventStore.ts";
import type { Dependencies } from "./dependencies.ts";

/**
 * Waits until these read models have reached a position. Throws Behind where they do not within 5 s: a request answers 503, and of a process the
 * event is handed over again once they have, and has no place at work meanwhile. So it is asked before anything is done.
 */
export async function requireProjected(
  deps: Pick<Dependencies, "projected">,
  position: number,
  of: readonly ReadModel[],
): Promise<void> {
  if (!(await deps.projected(position, { of }))) throw new Behind(position, of);
}
