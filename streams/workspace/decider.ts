import type { Decider } from "../decider.ts";
import { Rejected } from "../decider.ts";
import type { Plan, PlanStatus, WorkspaceEvent } from "./events.ts";

export type Workspace = {
  exists: boolean;
  name: string;
  plan: Plan;
  planStatus: PlanStatus;
  betaOverride: boolean;
  createdAt: string;
  sendingPaused: boolean;
};

type Created = Extract<WorkspaceEvent, { type: "WorkspaceCreated" }>["data"];

export type WorkspaceCommand =
  | { type: "CreateWorkspace"; workspace: Created }
  | { type: "UpdateWorkspace"; name?: string; sendingPaused?: boolean }
  | { type: "SetPlan"; plan?: Plan; planStatus?: PlanStatus; betaOverride?: boolean };

const initial: Workspace = {
  exists: false,
  name: "",
  plan: "builder_pack",
  planStatus: "active",
  betaOverride: false,
  createdAt: "",
  sendingPaused: false,
};

function evolve(workspace: Workspace, event: WorkspaceEvent): Workspace {
  switch (event.type) {
    case "WorkspaceCreated": {
      const { slug: _, ...facts } = event.data;
      return { ...workspace, ...facts, exists: true };
    }
    case "WorkspaceRenamed":
      return { ...workspace, name: event.data.name };
    case "PlanSet":
      return { ...workspace, ...event.data };
    case "SendingPaused":
      return { ...workspace, sendingPaused: true };
    case "SendingResumed":
      return { ...workspace, sendingPaused: false };
  }
}

function decide(command: WorkspaceCommand, workspace: Workspace): WorkspaceEvent[] {
  if (command.type === "CreateWorkspace") {
    return workspace.exists ? [] : [{ type: "WorkspaceCreated", data: command.workspace }];
  }
  if (!workspace.exists) throw new Rejected("not_found", "no such workspace");
  switch (command.type) {
    case "UpdateWorkspace":
      return update(command, workspace);
    case "SetPlan": {
      const plan = command.plan ?? workspace.plan;
      const planStatus = command.planStatus ?? workspace.planStatus;
      const betaOverride = command.betaOverride ?? workspace.betaOverride;
      const same =
        plan === workspace.plan && planStatus === workspace.planStatus && betaOverride === workspace.betaOverride;
      return same ? [] : [{ type: "PlanSet", data: { plan, planStatus, betaOverride } }];
    }
  }
}

function update(command: { name?: string; sendingPaused?: boolean }, workspace: Workspace): WorkspaceEvent[] {
  const events: WorkspaceEvent[] = [];
  if (command.name !== undefined && command.name !== workspace.name) {
    events.push({ type: "WorkspaceRenamed", data: { name: command.name } });
  }
  if (command.sendingPaused !== undefined && command.sendingPaused !== workspace.sendingPaused) {
    events.push({ type: command.sendingPaused ? "SendingPaused" : "SendingResumed", data: {} });
  }
  return events;
}

export const workspaceDecider: Decider<Workspace, WorkspaceCommand, WorkspaceEvent> = {
  category: "workspace",
  initial,
  evolve,
  decide,
};
