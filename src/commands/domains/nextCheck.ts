import { nextCheckAt } from "#streams/domain/schedule.ts";
import type { Dependencies } from "../dependencies.ts";

/**
 * Returns when a domain's records are checked next: "soon" if a check was requested; otherwise an ISO time, which is in the past while that
 * check is running; null if they are checked on request only. The caller must check that `domainId` belongs to its workspace.
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
