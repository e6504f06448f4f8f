import type { WorkspaceEvent } from "#streams/workspace/events.ts";
import type { Projection } from "../projection.ts";
import { foldRows } from "../rows.ts";

type Row = {
  id: string;
  name: string;
  slug: string;
  plan: string;
  plan_status: string;
  beta_override: boolean;
  sending_paused: boolean;
  require_human_approval: boolean;
  created_at: string;
  updated_at: string;
};

const columns = [
  "id",
  "name",
  "slug",
  "plan",
  "plan_status",
  "beta_override",
  "sending_paused",
  "require_human_approval",
  "created_at",
  "updated_at",
] as const;

function apply(row: Row, event: WorkspaceEvent): Row {
  switch (event.type) {
    case "WorkspaceCreated": {
      const { name, slug, plan, planStatus, betaOverride, createdAt } = event.data;
      return { ...row, name, slug, plan, plan_status: planStatus, beta_override: betaOverride, created_at: createdAt };
    }
    case "WorkspaceRenamed":
      return { ...row, name: event.data.name };
    case "PlanSet": {
      const { plan, planStatus, betaOverride } = event.data;
      return { ...row, plan, plan_status: planStatus, beta_override: betaOverride };
    }
    case "SendingPaused":
      return { ...row, sending_paused: true };
    case "SendingResumed":
      return { ...row, sending_paused: false };
    case "HumanApprovalRequired":
      return { ...row, require_human_approval: true };
    case "HumanApprovalWaived":
      return { ...row, require_human_approval: false };
  }
}

/** Until somebody says otherwise. */
const empty = { sending_paused: false, require_human_approval: false };

export const workspaces: Projection<WorkspaceEvent> = {
  name: "workspaces",
  version: 3,
  tables: ["workspaces"],
  handles: [
    "WorkspaceCreated",
    "WorkspaceRenamed",
    "PlanSet",
    "SendingPaused",
    "SendingResumed",
    "HumanApprovalRequired",
    "HumanApprovalWaived",
  ],
  project: foldRows<Row, WorkspaceEvent>({
    table: "workspaces",
    columns,
    empty,
    evolve: (row, event) => ({ ...apply(row, event), updated_at: event.metadata.at }),
  }),
};
