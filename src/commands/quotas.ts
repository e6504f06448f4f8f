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
  return `month${wholeMonths(new Date(workspace.createdAt), now)}`;
}

/** When the present period began and when it ends; null where it is the workspace's whole life. */
export function periodBounds(
  workspace: Pick<Workspace, "plan" | "createdAt">,
  now: Date,
): { start: Date; end: Date } | null {
  if (workspace.plan === "builder_pack") return null;
  const from = new Date(workspace.createdAt);
  const months = wholeMonths(from, now);
  return { start: monthsAfter(from, months), end: monthsAfter(from, months + 1) };
}

function wholeMonths(from: Date, now: Date): number {
  const months = (now.getUTCFullYear() - from.getUTCFullYear()) * 12 + now.getUTCMonth() - from.getUTCMonth();
  return now < monthsAfter(from, months) ? months - 1 : months;
}

/** The same day and time of day so many months on (UTC); the month's last day where it is shorter. */
function monthsAfter(from: Date, months: number): Date {
  const [year, month] = [from.getUTCFullYear(), from.getUTCMonth() + months];
  const lastDay = new Date(Date.UTC(year, month + 1, 0)).getUTCDate();
  const at = new Date(from);
  at.setUTCFullYear(year, month, Math.min(from.getUTCDate(), lastDay));
  return at;
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
