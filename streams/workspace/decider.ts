import type { Decider } from "../decider.ts";
import { invalidRequest, Rejected } from "../decider.ts";
import { countersFor, type Stretch, withStretch } from "../quota/rollOver.ts";
import { stream } from "../stream.ts";
import { unreachable } from "../unreachable.ts";
import {
  type PaidPeriod,
  type Plan,
  type PlanStatus,
  type PlanTerms,
  type WorkspaceEvent,
  workspaceStream,
} from "./events.ts";

export type Workspace = PaidPeriod &
  PlanTerms & {
    exists: boolean;
    name: string;
    plan: Plan;
    planStatus: PlanStatus;
    betaOverride: boolean;
    createdAt: string;
    sendingPaused: boolean;
    /** Reason given by the person who paused sending; null if none was given, or it is not paused. */
    sendingPausedReason: string | null;
    /** True if only people may approve, for all of its identities. */
    requireHumanApproval: boolean;
    /** True if links to approve lead to the sign-in, so that each of their decisions is a member's. */
    requireNamedApprovers: boolean;
    /** True if it was ever on a plan with periods: their counters then count towards a lifetime's. */
    everPaid: boolean;
    /**
     * All stretches of months so far, except the one from its creation: periods named by the payment processor, and plans set by the
     * operator.
     */
    stretches: readonly Stretch[];
  };

type Created = Extract<WorkspaceEvent, { type: "WorkspaceCreated" }>["data"];

/** Absent fields do not change. */
export type PlanChanges = { plan?: Plan; planStatus?: PlanStatus; betaOverride?: boolean } & Partial<
  PaidPeriod & Pick<PlanTerms, "interval" | "renewsAt" | "periodsFrom">
>;

/** Plan that results from a subscription at the payment processor. */
export type SubscribedPlan = { plan: Plan; planStatus: PlanStatus } & PaidPeriod &
  Pick<PlanTerms, "interval" | "renewsAt">;

/** Absent fields do not change. `mayLoosen`: the caller may turn requireHumanApproval and requireNamedApprovers off. */
export type WorkspaceChanges = {
  name?: string;
  sendingPaused?: boolean;
  /** Allowed only while sending is paused; null for none. */
  sendingPausedReason?: string | null;
  requireHumanApproval?: boolean;
  requireNamedApprovers?: boolean;
  mayLoosen?: boolean;
};

export type WorkspaceCommand =
  | { type: "CreateWorkspace"; workspace: Created }
  | ({ type: "UpdateWorkspace" } & WorkspaceChanges)
  | ({ type: "SetPlan" } & PlanChanges)
  /** Sets the plan of the payment processor's subscription. The month in progress keeps its counters; a plan set by the operator ends. */
  | { type: "FollowSubscription"; subscribed: SubscribedPlan };

const initial: Workspace = {
  exists: false,
  name: "",
  plan: "builder_pack",
  planStatus: "active",
  betaOverride: false,
  createdAt: "",
  sendingPaused: false,
  sendingPausedReason: null,
  requireHumanApproval: false,
  requireNamedApprovers: false,
  trialEndsAt: null,
  currentPeriodStart: null,
  currentPeriodEnd: null,
  interval: null,
  renewsAt: null,
  periodsFrom: null,
  countsOn: null,
  everPaid: false,
  stretches: [],
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
      return { ...workspace, sendingPaused: true, sendingPausedReason: event.data.reason ?? null };
    case "SendingResumed":
      return { ...workspace, sendingPaused: false, sendingPausedReason: null };
    case "HumanApprovalRequired":
      return { ...workspace, requireHumanApproval: true };
    case "HumanApprovalWaived":
      return { ...workspace, requireHumanApproval: false };
    case "NamedApproversRequired":
      return { ...workspace, requireNamedApprovers: true };
    case "NamedApproversWaived":
      return { ...workspace, requireNamedApprovers: false };
    default:
      return unreachable(event);
  }
}

function planSet(workspace: Workspace, data: Extract<WorkspaceEvent, { type: "PlanSet" }>["data"]): Workspace {
  const next = { ...workspace, ...data, everPaid: workspace.everPaid || data.plan !== "builder_pack" };
  const stretch = stretchOf(next);
  return stretch === null ? next : { ...next, stretches: withStretch(next.stretches, stretch) };
}

function stretchOf({ currentPeriodStart, currentPeriodEnd, periodsFrom, countsOn }: Workspace): Stretch | null {
  if (currentPeriodStart !== null && currentPeriodEnd !== null)
    return { start: currentPeriodStart, end: currentPeriodEnd, first: countsOn };
  return periodsFrom === null ? null : { start: periodsFrom, end: null, first: null };
}

const planFieldsOf = (workspace: Workspace) => {
  const { plan, planStatus, betaOverride, trialEndsAt, currentPeriodStart, currentPeriodEnd } = workspace;
  const { interval, renewsAt, periodsFrom, countsOn } = workspace;
  return {
    ...{ plan, planStatus, betaOverride, trialEndsAt, currentPeriodStart, currentPeriodEnd },
    ...{ interval, renewsAt, periodsFrom, countsOn },
  };
};

type PlanFields = ReturnType<typeof planFieldsOf>;

const planEvents = (before: PlanFields, after: PlanFields): WorkspaceEvent[] =>
  JSON.stringify(after) === JSON.stringify(before) ? [] : [{ type: "PlanSet", data: after }];

/** Sets the plan. A period with a new start has new counters. */
function setPlan(changes: PlanChanges, workspace: Workspace): WorkspaceEvent[] {
  const before = planFieldsOf(workspace);
  const given = Object.fromEntries(Object.entries(changes).filter(([, value]) => value !== undefined));
  const after: PlanFields = { ...before, ...given };
  const sameStart = after.currentPeriodStart === before.currentPeriodStart;
  return planEvents(before, { ...after, countsOn: sameStart ? before.countsOn : null });
}

function followSubscription(subscribed: SubscribedPlan, workspace: Workspace): WorkspaceEvent[] {
  const before = planFieldsOf(workspace);
  const start = subscribed.currentPeriodStart;
  const sameStart = start === before.currentPeriodStart;
  const countsOn = start === null ? null : sameStart ? before.countsOn : countersFor(workspace, start);
  return planEvents(before, { ...before, ...subscribed, periodsFrom: null, countsOn });
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
      const { type: _, ...changes } = command;
      return setPlan(changes, workspace);
    }
    case "FollowSubscription":
      return followSubscription(command.subscribed, workspace);
    default:
      return unreachable(command);
  }
}

function update(command: WorkspaceChanges, workspace: Workspace): WorkspaceEvent[] {
  const events: WorkspaceEvent[] = [];
  if (command.name !== undefined && command.name !== workspace.name) {
    events.push({ type: "WorkspaceRenamed", data: { name: command.name } });
  }
  events.push(...pause(command, workspace));
  const { mayLoosen = false } = command;
  if (switches(command.requireHumanApproval, workspace.requireHumanApproval, { ...humanApproval, mayLoosen })) {
    events.push({ type: command.requireHumanApproval ? "HumanApprovalRequired" : "HumanApprovalWaived", data: {} });
  }
  if (switches(command.requireNamedApprovers, workspace.requireNamedApprovers, { ...namedApprovers, mayLoosen })) {
    events.push({ type: command.requireNamedApprovers ? "NamedApproversRequired" : "NamedApproversWaived", data: {} });
  }
  return events;
}

/** Requirements of a workspace, in words and by their field. */
const humanApproval = { what: "human approval", field: "require_human_approval" };
const namedApprovers = { what: "named approvers", field: "require_named_approvers" };

/** True if a requirement is turned on or off. Throws Rejected insufficient_scope if the caller may not turn it off. */
function switches(
  wanted: boolean | undefined,
  present: boolean,
  { what, field, mayLoosen }: { what: string; field: string; mayLoosen: boolean },
): boolean {
  if (wanted === undefined || wanted === present) return false;
  if (wanted || mayLoosen) return true;
  const sentence = `this workspace requires ${what}: turning ${field} off needs the scope write:approvals`;
  throw new Rejected("insufficient_scope", sentence);
}

function pause({ sendingPaused, sendingPausedReason }: WorkspaceChanges, workspace: Workspace): WorkspaceEvent[] {
  const paused = sendingPaused ?? workspace.sendingPaused;
  if (!paused) {
    if (sendingPausedReason) {
      throw invalidRequest(
        "sending_paused_reason",
        "sending is not paused: give a reason together with sending_paused true",
      );
    }
    return workspace.sendingPaused ? [{ type: "SendingResumed", data: {} }] : [];
  }
  const reason = sendingPausedReason === undefined ? workspace.sendingPausedReason : sendingPausedReason;
  if (workspace.sendingPaused && reason === workspace.sendingPausedReason) return [];
  return [{ type: "SendingPaused", data: { ...(reason !== null && { reason }) } }];
}

export const workspaceDecider: Decider<Workspace, WorkspaceCommand, WorkspaceEvent> = {
  category: "workspace",
  initial,
  evolve,
  decide,
};

export const workspaces = stream({ decider: workspaceDecider, name: workspaceStream });
