import { nextCheckAt } from "#streams/domain/schedule.ts";
import type { Dependencies } from "../dependencies.ts";

/**
 * When a domain's records are looked up next without anybody asking: "soon" if somebody asked, else an ISO time, which may have passed while the check is
 * under way; null: not before somebody asks. `domainId`: of the caller's own workspace.
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
