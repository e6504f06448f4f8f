import type { ReadModel } from "#projections/names.ts";
import { Behind } from "#src/eventStore/eventStore.ts";
import type { Dependencies } from "./dependencies.ts";

/**
 * Waits until these read models have reached a position. Throws Behind if they have not within 5 s. A request then gets status 503; a
 * process's event is handled again once they have, without occupying a worker meanwhile. Call it before anything is done, because the event
 * is handled from its start.
 */
export async function requireProjected(
  deps: Pick<Dependencies, "projected">,
  position: number,
  of: readonly ReadModel[],
): Promise<void> {
  if (!(await deps.projected(position, { of }))) throw new Behind(position, of);
}
