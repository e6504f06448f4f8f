import { Unavailable } from "#src/eventStore/eventStore.ts";
import type { Revocation } from "./revocation.ts";

/** The revocation is recorded, but requests under the revoked right did not end within the drain's time limit. */
class StillEnding extends Unavailable {
  override readonly name = "StillEnding";
  readonly recorded = true;
  readonly id: string;
  constructor(id: string) {
    super("requests with the revoked right are still running");
    this.id = id;
  }
}

/**
 * Waits until no request under these keys or sessions is answered any more. `id`: the revoked resource, named if that takes too long;
 * `exclude`: the request that revoked it. Throws Unavailable.
 */
export async function requireDrained(
  revocation: Pick<Revocation, "drain">,
  ended: readonly string[],
  { id, exclude }: { id: string; exclude: string },
): Promise<void> {
  const drained = await Promise.all(ended.map((each) => revocation.drain(each, { exclude })));
  if (drained.includes(false)) throw new StillEnding(id);
}
