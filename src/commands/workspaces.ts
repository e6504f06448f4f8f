import { workspaceDecider } from "#streams/workspace/decider.ts";
import { type Plan, type PlanStatus, workspaceStream } from "#streams/workspace/events.ts";
import type { Dependencies } from "./dependencies.ts";
import type { Cause } from "./handle.ts";

export type NewWorkspace = { name: string; plan: Plan; betaOverride: boolean };

/** Makes a workspace. Its periods count from now. */
export async function createWorkspace(
  deps: Dependencies,
  { name, plan, betaOverride }: NewWorkspace,
  cause: Cause,
): Promise<{ workspaceId: string; position: number }> {
  const workspaceId = deps.ids.uuid();
  const slug = `${slugOf(name)}-${workspaceId.slice(-6)}`;
  const createdAt = deps.clock.now().toISOString();
  const workspace = { name, slug, plan, planStatus: "active" as const, betaOverride, createdAt };
  const command = { type: "CreateWorkspace", workspace } as const;
  const { position } = await deps.handle(workspaceDecider, workspaceStream(workspaceId), command, {
    ...cause,
    workspaceId,
  });
  return { workspaceId, position };
}

const slugOf = (name: string): string =>
  name
    .normalize("NFKD")
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-+|-+$/g, "")
    .slice(0, 40) || "workspace";

export const updateWorkspace = (
  deps: Dependencies,
  { workspaceId, ...changes }: { workspaceId: string; name?: string; sendingPaused?: boolean },
  cause: Cause,
) => deps.handle(workspaceDecider, workspaceStream(workspaceId), { type: "UpdateWorkspace", ...changes }, cause);

export const setPlan = (
  deps: Dependencies,
  { workspaceId, ...changes }: { workspaceId: string; plan?: Plan; planStatus?: PlanStatus; betaOverride?: boolean },
  cause: Cause,
) => deps.handle(workspaceDecider, workspaceStream(workspaceId), { type: "SetPlan", ...changes }, cause);
