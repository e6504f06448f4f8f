import type { Dependencies } from "../dependencies.ts";
import { checkSenderAllowed, type SendRefusal } from "../sends/sendChecks.ts";
import type { SendingIdentity } from "../sends/sender.ts";

/** Reason why an approved mail would not be sent now. */
export type SendObstacle = NonNullable<SendRefusal["obstacle"]>;

/**
 * Returns the obstacle that prevents an identity's mail from being sent now, so that an approver
 * knows beforehand; undefined if there is none.
 */
export const sendObstacle = async (deps: Dependencies, sender: SendingIdentity): Promise<SendObstacle | undefined> =>
  (await checkSenderAllowed(deps, sender, "shown")).no?.obstacle;
