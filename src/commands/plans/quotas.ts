import { Rejected } from "#streams/decider.ts";
import { isReserved } from "#streams/quota/decider.ts";
import { quotaStream } from "#streams/quota/events.ts";
import { lifetime } from "#streams/quota/rollOver.ts";
import type { Dependencies } from "../dependencies.ts";
import type { Cause } from "../handle.ts";
import { type CurrentPlan, currentPlan } from "./plans.ts";

type Reservation = { quotaStream: string; reservationId: string };

/** Sends and mail stored for an agent are counted apart. */
export type Direction = "outbound" | "inbound";

/** One stream for a workspace's whole life on the free plan, else one a period. */
const streamOf = (workspaceId: string, direction: Direction, period: string): string =>
  quotaStream(workspaceId, direction === "outbound" ? period : `inbound-${period}`);

const presentStream = (workspaceId: string, direction: Direction, { period }: CurrentPlan): string =>
  streamOf(workspaceId, direction, period?.name ?? lifetime);

/** The stream on which a send of this moment is counted. */
export const quotaStreamOf = async (deps: Dependencies, workspaceId: string): Promise<string> =>
  presentStream(workspaceId, "outbound", await currentPlan(deps, workspaceId));

const capOn = ({ betaOverride, limits }: CurrentPlan, direction: Direction): number | null => {
  if (betaOverride) return null;
  return direction === "outbound" ? limits.emailsPerPeriod : limits.inboundPerPeriod;
};

/** What a lifetime's counters hold beside its own stream: the mail of all periods before. */
async function countedBefore(
  deps: Dependencies,
  { workspaceId, direction }: { workspaceId: string; direction: Direction },
  { earlier }: CurrentPlan,
): Promise<number> {
  let sum = 0;
  for (const period of earlier) {
    sum += (await deps.quotas.load(streamOf(workspaceId, direction, period))).state.used;
  }
  return sum;
}

/** Mails of this period, outbound ones on their way included. */
export async function usedNow(deps: Dependencies, workspaceId: string, direction: Direction): Promise<number> {
  const plan = await currentPlan(deps, workspaceId);
  const { state } = await deps.quotas.load(presentStream(workspaceId, direction, plan));
  return state.used + (await countedBefore(deps, { workspaceId, direction }, plan));
}

/** Reserves one outbound mail. Throws Rejected plan_limit_reached; repeating it reserves no second one. */
export async function reserveQuota(
  deps: Dependencies,
  { workspaceId, quotaStream, reservationId }: Reservation & { workspaceId: string },
  cause: Cause,
): Promise<void> {
  const plan = await currentPlan(deps, workspaceId);
  const cap = capOn(plan, "outbound");
  const elsewhere = cap === null ? 0 : await countedBefore(deps, { workspaceId, direction: "outbound" }, plan);
  await deps.quotas.handle(quotaStream, { type: "ReserveQuota", reservationId, cap, elsewhere }, cause);
}

export async function releaseQuota(
  deps: Dependencies,
  { quotaStream, reservationId }: Reservation,
  cause: Cause,
): Promise<void> {
  await deps.quotas.handle(quotaStream, { type: "ReleaseQuota", reservationId }, cause);
}

/**
 * Counts inbound mails that are about to be stored for an agent, as many as the plan has room for, from the first. Answers which of them are
 * counted; repeating it counts none twice.
 */
export async function countInbound(
  deps: Dependencies,
  { workspaceId, deliveryIds }: { workspaceId: string; deliveryIds: readonly string[] },
  cause: Cause,
): Promise<Set<string>> {
  if (deliveryIds.length === 0) return new Set();
  const plan = await currentPlan(deps, workspaceId);
  const cap = capOn(plan, "inbound");
  const elsewhere = cap === null ? 0 : await countedBefore(deps, { workspaceId, direction: "inbound" }, plan);
  const stream = presentStream(workspaceId, "inbound", plan);
  const command = { type: "ReserveThoseThatFit", reservationIds: deliveryIds, cap, elsewhere } as const;
  const { state } = await deps.quotas.handle(stream, command, { ...cause, workspaceId });
  return new Set(deliveryIds.filter((id) => isReserved(state, id)));
}

/** True if the plan has room for one more inbound mail. Only a look: counting decides. */
export async function hasInboundRoom(deps: Dependencies, workspaceId: string): Promise<boolean> {
  const cap = capOn(await currentPlan(deps, workspaceId), "inbound");
  return cap === null || (await usedNow(deps, workspaceId, "inbound")) < cap;
}

/** Throws Rejected plan_limit_reached if no outbound mail is left. Only a look: the reservation decides. */
export async function requireQuotaLeft(deps: Dependencies, workspaceId: string): Promise<void> {
  const cap = capOn(await currentPlan(deps, workspaceId), "outbound");
  if (cap === null || (await usedNow(deps, workspaceId, "outbound")) < cap) return;
  throw new Rejected(
    "plan_limit_reached",
    `your plan allows ${cap} outbound mails, and all of them are used: upgrade the plan`,
  );
}
