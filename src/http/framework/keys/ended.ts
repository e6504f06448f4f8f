import { Unavailable } from "#src/eventStore/eventStore.ts";
import type { Revocation } from "./revocation.ts";

/** What was taken back is on record, and something that ran under it has not ended within the drain's bound. */
class StillEnding extends Unavailable {
  override readonly name = "StillEnding";
  readonly recorded = true;
  readonly id: string;
  constructor(id: string) {
    super("requests under the revoked right are still running");
    this.id = id;
  }
}

/**
 * Waits until nothing is answered any more under these keys or sessions. `id`: what was taken back, named where that took too long; `exclude`: the
 * request that took it back. Throws Unavailable.
 */
export async function requireEnded(
  revocation: Pick<Revocation, "drain">,
  ended: readonly string[],
  { id, exclude }: { id: string; exclude: string },
): Promise<void> {
  const drained = await Promise.all(ended.map((each) => revocation.drain(each, { exclude })));
  if (drained.includes(false)) throw new StillEnding(id);
}
