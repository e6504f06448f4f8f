import type { Dependencies } from "../dependencies.ts";
import { maySend, type No } from "../sends/mayLeave.ts";
import type { Sender } from "../sends/sender.ts";

/** Why an approved mail would not be sent now. */
export type SendObstacle = NonNullable<No["obstacle"]>;

/** The obstacle that prevents an identity's mail from being sent at this moment, so that an approver knows beforehand; undefined if nothing does. */
export const sendObstacle = async (deps: Dependencies, sender: Sender): Promise<SendObstacle | undefined> =>
  (await maySend(deps, sender, "shown")).no?.obstacle;
