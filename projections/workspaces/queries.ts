import type { Reads } from "../reads.ts";
import type { PausedBy } from "./projector.ts";

/** Workspace as in the API; its counters are from the quota streams (src/commands/plans/quotas.ts). */
export type WorkspaceRow = {
  id: string;
  name: string;
  slug: string;
  plan: string;
  plan_status: string;
  beta_override: boolean;
  sending_paused: boolean;
  sending_paused_reason: string | null;
  sending_paused_by: PausedBy | null;
  sending_paused_at: Date | null;
  require_human_approval: boolean;
  require_named_approvers: boolean;
  created_at: Date;
  updated_at: Date;
};

const columns =
  "id, name, slug, plan, plan_status, beta_override, sending_paused, sending_paused_reason, sending_paused_by, sending_paused_at, require_human_approval, require_named_approvers, created_at, updated_at";

export async function workspaceById(reads: Reads, workspaceId: string): Promise<WorkspaceRow | undefined> {
  const { rows } = await reads
    .of(workspaceId)
    .query<WorkspaceRow>(`select ${columns} from workspaces where id = $1`, [workspaceId]);
  return rows[0];
}

/** Returns all workspaces, for the operator. */
export async function allWorkspaces(reads: Reads): Promise<WorkspaceRow[]> {
  const { rows } = await reads.ofAll.query<WorkspaceRow>(`select ${columns} from workspaces order by created_at, id`);
  return rows;
}
