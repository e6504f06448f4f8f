import type { Decider } from "../decider.ts";
import { Rejected } from "../decider.ts";
import { stream } from "../stream.ts";
import { unreachable } from "../unreachable.ts";
import { type PaidPeriod, type Plan, type PlanStatus, type WorkspaceEvent, workspaceStream } from "./events.ts";

export type Workspace = PaidPeriod & {
  exists: boolean;
  name: string;
  plan: Plan;
  planStatus: PlanStatus;
  betaOverride: boolean;
  createdAt: string;
  sendingPaused: boolean;
  /** Only people may approve, for all of its identities. */
  requireHumanApproval: boolean;
  /** True once it was ever on a plan with periods: their counters belong to a lifetime's. */
  everPaid: boolean;
  /** The starts (ISO) of all periods the payment processor ever named. */
  periodStarts: readonly string[];
};

type Created = Extract<WorkspaceEvent, { type: "WorkspaceCreated" }>["data"];

/** What is absent stays. */
export type PlanChanges = { plan?: Plan; planStatus?: PlanStatus; betaOverride?: boolean } & Partial<PaidPeriod>;

/** What is absent stays. `mayLoosen`: the caller may turn requireHumanApproval off. */
export type WorkspaceChanges = {
  name?: string;
  sendingPaused?: boolean;
  requireHumanApproval?: boolean;
  mayLoosen?: boolean;
};

export type WorkspaceCommand =
  | { type: "CreateWorkspace"; workspace: Created }
  | ({ type: "UpdateWorkspace" } & WorkspaceChanges)
  | ({ type: "SetPlan" } & PlanChanges);

const initial: Workspace = {
  exists: false,
  name: "",
  plan: "builder_pack",
  planStatus: "active",
  betaOverride: false,
  createdAt: "",
  sendingPaused: false,
  requireHumanApproval: false,
  trialEndsAt: null,
  currentPeriodStart: null,
  currentPeriodEnd: null,
  everPaid: false,
  periodStarts: [],
};

function evolve(workspace: Workspace, event: WorkspaceEvent): Workspace {
  switch (event.type) {
    case "WorkspaceCreated": {
      const { slug: _, ...facts } = event.data;
      return { ...workspace, ...facts, exists: true, everPaid: facts.plan !== "builder_pack" };
    }
    case "WorkspaceRenamed":
      return { ...workspace, name: event.data.name };
    case "PlanSet":
      return planSet(workspace, event.data);
    case "SendingPaused":
      return { ...workspace, sendingPaused: true };
    case "SendingResumed":
      return { ...workspace, sendingPaused: false };
    case "HumanApprovalRequired":
      return { ...workspace, requireHumanApproval: true };
    case "HumanApprovalWaived":
      return { ...workspace, requireHumanApproval: false };
    default:
      return unreachable(event);
  }
}

function planSet(workspace: Workspace, data: Extract<WorkspaceEvent, { type: "PlanSet" }>["data"]): Workspace {
  const { periodStarts, everPaid } = workspace;
  const start = data.currentPeriodStart;
  const isNew = typeof start === "string" && !periodStarts.includes(start);
  return {
    ...workspace,
    ...data,
    everPaid: everPaid || data.plan !== "builder_pack",
    periodStarts: isNew ? [...periodStarts, start] : periodStarts,
  };
}

const planFieldsOf = (workspace: Workspace) => {
  const { plan, planStatus, betaOverride, trialEndsAt, currentPeriodStart, currentPeriodEnd } = workspace;
  return { plan, planStatus, betaOverride, trialEndsAt, currentPeriodStart, currentPeriodEnd };
};

function decide(command: WorkspaceCommand, workspace: Workspace): WorkspaceEvent[] {
  if (command.type === "CreateWorkspace") {
    return workspace.exists ? [] : [{ type: "WorkspaceCreated", data: command.workspace }];
  }
  if (!workspace.exists) throw new Rejected("not_found", "no such workspace");
  switch (command.type) {
    case "UpdateWorkspace":
      return update(command, workspace);
    case "SetPlan": {
      const { type: _, ...changes } = command;
      const before = planFieldsOf(workspace);
      const given = Object.fromEntries(Object.entries(changes).filter(([, value]) => value !== undefined));
      const after = { ...before, ...given };
      return JSON.stringify(after) === JSON.stringify(before) ? [] : [{ type: "PlanSet", data: after }];
    }
    default:
      return unreachable(command);
  }
}

function update(command: WorkspaceChanges, workspace: Workspace): WorkspaceEvent[] {
  const events: WorkspaceEvent[] = [];
  if (command.name !== undefined && command.name !== workspace.name) {
    events.push({ type: "WorkspaceRenamed", data: { name: command.name } });
  }
  if (command.sendingPaused !== undefined && command.sendingPaused !== workspace.sendingPaused) {
    events.push({ type: command.sendingPaused ? "SendingPaused" : "SendingResumed", data: {} });
  }
  const { requireHumanApproval: required, mayLoosen = false } = command;
  if (required !== undefined && required !== workspace.requireHumanApproval) {
    if (!required && !mayLoosen) {
      const sentence =
        "this workspace requires human approval: turning require_human_approval off needs the scope write:approvals";
      throw new Rejected("insufficient_scope", sentence);
    }
    events.push({ type: required ? "HumanApprovalRequired" : "HumanApprovalWaived", data: {} });
  }
  return events;
}

export const workspaceDecider: Decider<Workspace, WorkspaceCommand, WorkspaceEvent> = {
  category: "workspace",
  initial,
  evolve,
  decide,
};

export const workspaces = stream({ decider: workspaceDecider, name: workspaceStream });
