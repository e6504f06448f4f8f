import type { Dependencies } from "../dependencies.ts";
import { checkSenderAllowed, type SendRefusal } from "../sends/sendChecks.ts";
import type { SendingIdentity } from "../sends/sender.ts";

/** Reason why an approved mail would not be sent now. */
export type SendObstacle = NonNullable<SendRefusal["obstacle"]>;

/**
 * Returns the obstacle that would prevent an identity's mail from being sent now; undefined if there is none. Approvers are shown it before
 * they decide.
 */
export const sendObstacle = async (deps: Dependencies, sender: SendingIdentity): Promise<SendObstacle | undefined> =>
  (await checkSenderAllowed(deps, sender, "shown")).no?.obstacle;
