import { Rejected } from "#streams/decider.ts";
import { isReserved } from "#streams/quota/decider.ts";
import { quotaStream } from "#streams/quota/events.ts";
import { lifetime } from "#streams/quota/rollOver.ts";
import type { Dependencies } from "../dependencies.ts";
import type { Cause } from "../handle.ts";
import { type CurrentPlan, currentPlan } from "./plans.ts";

type QuotaReservation = { quotaStream: string; reservationId: string };

/** Sent mail and mail stored for an agent have separate quotas. */
export type Direction = "outbound" | "inbound";

/** Returns the name of a quota stream. On the free plan there is one stream for a workspace's whole life, on other plans one per period. */
const streamOf = (workspaceId: string, direction: Direction, period: string): string =>
  quotaStream(workspaceId, direction === "outbound" ? period : `inbound-${period}`);

const presentStream = (workspaceId: string, direction: Direction, { period }: CurrentPlan): string =>
  streamOf(workspaceId, direction, period?.name ?? lifetime);

/** Returns the name of the stream that counts a send now. */
export const quotaStreamOf = async (deps: Dependencies, workspaceId: string): Promise<string> =>
  presentStream(workspaceId, "outbound", await currentPlan(deps, workspaceId));

const capOn = ({ betaOverride, limits }: CurrentPlan, direction: Direction): number | null => {
  if (betaOverride) return null;
  return direction === "outbound" ? limits.emailsPerPeriod : limits.inboundPerPeriod;
};

/** Returns the names of all streams whose mails count towards a plan's quota. */
export const countedStreams = (workspaceId: string, direction: Direction, plan: CurrentPlan): string[] => [
  presentStream(workspaceId, direction, plan),
  ...plan.earlier.map((period) => streamOf(workspaceId, direction, period)),
];

/** Returns the number of mails in earlier periods, which a lifetime quota counts in addition to its own stream. */
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

/** Returns the number of mails in the present period, including outbound mails that are being sent. */
export async function currentUsage(deps: Dependencies, workspaceId: string, direction: Direction): Promise<number> {
  const plan = await currentPlan(deps, workspaceId);
  const { state } = await deps.quotas.load(presentStream(workspaceId, direction, plan));
  return state.used + (await countedBefore(deps, { workspaceId, direction }, plan));
}

/** Reserves quota for one outbound mail. Repeating it reserves nothing more. Throws Rejected plan_limit_reached. */
export async function reserveQuota(
  deps: Dependencies,
  { workspaceId, quotaStream, reservationId }: QuotaReservation & { workspaceId: string },
  cause: Cause,
): Promise<void> {
  const plan = await currentPlan(deps, workspaceId);
  const cap = capOn(plan, "outbound");
  const elsewhere = cap === null ? 0 : await countedBefore(deps, { workspaceId, direction: "outbound" }, plan);
  await deps.quotas.handle(quotaStream, { type: "ReserveQuota", reservationId, cap, elsewhere }, cause);
}

export async function releaseQuota(
  deps: Dependencies,
  { quotaStream, reservationId }: QuotaReservation,
  cause: Cause,
): Promise<void> {
  await deps.quotas.handle(quotaStream, { type: "ReleaseQuota", reservationId }, cause);
}

/**
 * Counts inbound mails that are to be stored for an agent: from the first on, as many as the plan allows. Returns those that are counted.
 * Repeating it counts no mail twice.
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

/** Returns true if the plan allows one more inbound mail. Takes no quota, so the result may be outdated when the mail is counted. */
export async function hasInboundRoom(deps: Dependencies, workspaceId: string): Promise<boolean> {
  const cap = capOn(await currentPlan(deps, workspaceId), "inbound");
  return cap === null || (await currentUsage(deps, workspaceId, "inbound")) < cap;
}

/** Throws Rejected plan_limit_reached if the plan allows no more outbound mail. Takes no quota; the reservation decides. */
export async function requireQuotaLeft(deps: Dependencies, workspaceId: string): Promise<void> {
  const cap = capOn(await currentPlan(deps, workspaceId), "outbound");
  if (cap === null || (await currentUsage(deps, workspaceId, "outbound")) < cap) return;
  throw new Rejected(
    "plan_limit_reached",
    `your plan allows ${cap} outbound mails, which are all used: upgrade the plan`,
  );
}
