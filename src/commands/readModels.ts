import type { ReadModel } from "#projections/names.ts";
import { Behind } from "#src/eventStore/eventStore.ts";
import type { Dependencies } from "./dependencies.ts";

/**
 * Waits until these read models have reached a position. Throws Behind if they have not within 5 s: a request answers 503; a process's
 * event is handed over again once they have, and occupies no worker meanwhile. Therefore call it before anything is done.
 */
export async function requireProjected(
  deps: Pick<Dependencies, "projected">,
  position: number,
  of: readonly ReadModel[],
): Promise<void> {
  if (!(await deps.projected(position, { of }))) throw new Behind(position, of);
}
