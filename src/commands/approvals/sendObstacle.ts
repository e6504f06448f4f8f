import { Rejected } from "#streams/decider.ts";
import type { Dependencies } from "../dependencies.ts";
import { requireQuotaLeft } from "../plans/quotas.ts";
import { type SendingState, sendingStanding } from "../sends/sendingAllowed.ts";

/** Why an approved mail would not leave now. */
export type SendObstacle = Exclude<SendingState, "allowed"> | "plan_limit_reached";

/** What keeps an identity's mail from leaving at this moment, so that an approver knows beforehand; undefined if nothing does. Only a look: the send decides. */
export async function sendObstacle(
  deps: Dependencies,
  sender: { workspaceId: string; identityId: string },
): Promise<SendObstacle | undefined> {
  const { state } = await sendingStanding(deps, sender);
  if (state !== "allowed") return state;
  try {
    await requireQuotaLeft(deps, sender.workspaceId);
    return undefined;
  } catch (error) {
    if (error instanceof Rejected && error.code === "plan_limit_reached") return "plan_limit_reached";
    throw error;
  }
}
