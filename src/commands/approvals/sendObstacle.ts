import type { Dependencies } from "../dependencies.ts";
import { maySend, type No } from "../sends/mayLeave.ts";
import type { SendingIdentity } from "../sends/sender.ts";

/** Reason why an approved mail would not be sent now. */
export type SendObstacle = NonNullable<No["obstacle"]>;

/**
 * Returns the obstacle that prevents an identity's mail from being sent now, so that an approver
 * knows beforehand; undefined if there is none.
 */
export const sendObstacle = async (deps: Dependencies, sender: SendingIdentity): Promise<SendObstacle | undefined> =>
  (await maySend(deps, sender, "shown")).no?.obstacle;
