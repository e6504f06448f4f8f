import { Rejected } from "#streams/decider.ts";
import { quotaDecider } from "#streams/quota/decider.ts";
import { quotaStream } from "#streams/quota/events.ts";
import { type Workspace, workspaceDecider } from "#streams/workspace/decider.ts";
import { workspaceStream } from "#streams/workspace/events.ts";
import type { Dependencies } from "./dependencies.ts";
import type { Cause } from "./handle.ts";

type Reservation = { quotaStream: string; reservationId: string };

/** The quota stream of the period a workspace is in now: one for its whole life on the free plan, else one a month. */
export async function quotaStreamOf(deps: Dependencies, workspaceId: string): Promise<string> {
  const { state } = await deps.load(workspaceDecider, workspaceStream(workspaceId));
  return quotaStream(workspaceId, periodOf(state, deps.clock.now()));
}

/** `lifetime`, or the number of whole months (UTC) since the workspace was created (decisions 10). */
export function periodOf(workspace: Pick<Workspace, "plan" | "createdAt">, now: Date): string {
  if (workspace.plan === "builder_pack") return "lifetime";
  const from = new Date(workspace.createdAt);
  const months = (now.getUTCFullYear() - from.getUTCFullYear()) * 12 + now.getUTCMonth() - from.getUTCMonth();
  const lastDay = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 0)).getUTCDate();
  const turns = new Date(now);
  turns.setUTCHours(from.getUTCHours(), from.getUTCMinutes(), from.getUTCSeconds(), from.getUTCMilliseconds());
  turns.setUTCDate(Math.min(from.getUTCDate(), lastDay));
  return `month${now < turns ? months - 1 : months}`;
}

/** Reserves one outbound mail. Throws Rejected plan_limit_reached; repeating it reserves no second one. */
export async function reserveQuota(
  deps: Dependencies,
  workspaceId: string,
  { quotaStream, reservationId }: Reservation,
  cause: Cause,
): Promise<void> {
  const { state } = await deps.load(workspaceDecider, workspaceStream(workspaceId));
  const cap = state.betaOverride ? null : deps.settings.outboundCaps[state.plan];
  await deps.handle(quotaDecider, quotaStream, { type: "ReserveQuota", reservationId, cap }, cause);
}

export async function releaseQuota(
  deps: Dependencies,
  { quotaStream, reservationId }: Reservation,
  cause: Cause,
): Promise<void> {
  await deps.handle(quotaDecider, quotaStream, { type: "ReleaseQuota", reservationId }, cause);
}

/** Throws Rejected plan_limit_reached where no outbound mail is left. Only a look: the reservation decides. */
export async function requireQuotaLeft(deps: Dependencies, workspaceId: string): Promise<void> {
  const { state: workspace } = await deps.load(workspaceDecider, workspaceStream(workspaceId));
  const cap = workspace.betaOverride ? null : deps.settings.outboundCaps[workspace.plan];
  if (cap === null || (await sentThisPeriod(deps, workspaceId)) < cap) return;
  throw new Rejected("plan_limit_reached", `the plan's ${cap} outbound mails are used up: upgrade the plan`);
}

/** Outbound mails of this period, those on their way included. */
export async function sentThisPeriod(deps: Dependencies, workspaceId: string): Promise<number> {
  const { state } = await deps.load(quotaDecider, await quotaStreamOf(deps, workspaceId));
  return state.used;
}
