import { nextCheckAt } from "#streams/domain/schedule.ts";
import type { Dependencies } from "../dependencies.ts";

/**
 * Returns when a domain's records are checked next without a request: "soon" if a check was requested, otherwise an ISO time, which may
 * have passed while the check is running; null: only on request. `domainId`: of the caller's workspace.
 */
export async function nextCheckOf(
  deps: Pick<Dependencies, "domains" | "settings">,
  domainId: string,
): Promise<"soon" | string | null> {
  const { state } = await deps.domains.load(domainId);
  if (state.checkRequested || (state.exists && state.lastCheckedAt === null)) return "soon";
  const { domainCheckSeconds } = deps.settings;
  return (domainCheckSeconds && nextCheckAt(state, domainCheckSeconds)?.toISOString()) ?? null;
}
