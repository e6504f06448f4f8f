import type { Actor, Recorded } from "#streams/event.ts";
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
  /** The three `paused` fields are null while sending is not paused. */
  sending_paused_reason: string | null;
  sending_paused_by: PausedBy | null;
  sending_paused_at: string | null;
  require_human_approval: boolean;
  require_named_approvers: boolean;
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
  "sending_paused_reason",
  "sending_paused_by",
  "sending_paused_at",
  "require_human_approval",
  "require_named_approvers",
  "created_at",
  "updated_at",
] as const;

/** The actor who paused sending. */
export type PausedBy = Pick<Actor, "kind" | "id" | "name">;

const pausedBy = ({ kind, id, name }: Actor): PausedBy => ({ kind, id, ...(name !== undefined && { name }) });

const notPaused = {
  sending_paused: false,
  sending_paused_reason: null,
  sending_paused_by: null,
  sending_paused_at: null,
};

function apply(row: Row, event: Recorded<WorkspaceEvent>): Row {
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
      return {
        ...row,
        sending_paused: true,
        sending_paused_reason: event.data.reason ?? null,
        sending_paused_by: pausedBy(event.metadata.actor),
        sending_paused_at: event.metadata.at,
      };
    case "SendingResumed":
      return { ...row, ...notPaused };
    case "HumanApprovalRequired":
      return { ...row, require_human_approval: true };
    case "HumanApprovalWaived":
      return { ...row, require_human_approval: false };
    case "NamedApproversRequired":
      return { ...row, require_named_approvers: true };
    case "NamedApproversWaived":
      return { ...row, require_named_approvers: false };
  }
}

/** Values until set otherwise. */
const empty = { ...notPaused, require_human_approval: false, require_named_approvers: false };

export const workspaces: Projection<WorkspaceEvent> = {
  name: "workspaces",
  version: 5,
  tables: ["workspaces"],
  handles: [
    "WorkspaceCreated",
    "WorkspaceRenamed",
    "PlanSet",
    "SendingPaused",
    "SendingResumed",
    "HumanApprovalRequired",
    "HumanApprovalWaived",
    "NamedApproversRequired",
    "NamedApproversWaived",
  ],
  project: foldRows<Row, WorkspaceEvent>({
    table: "workspaces",
    columns,
    empty,
    evolve: (row, event) => ({ ...apply(row, event), updated_at: event.metadata.at }),
  }),
};
