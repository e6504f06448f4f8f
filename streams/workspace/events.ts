import type { Event } from "../event.ts";

export type Plan = "builder_pack" | "pro" | "agency";
export type PlanStatus = "trialing" | "active" | "past_due" | "canceled";

/**
 * ISO times, null if there is none; absent in events of before they were kept. Both period fields come from the payment processor; an end
 * alone is when a canceled plan ends whose periods are calendar months.
 */
export type PaidPeriod = {
  trialEndsAt: string | null;
  currentPeriodStart: string | null;
  currentPeriodEnd: string | null;
};

export type WorkspaceEvent =
  | Event<
      "WorkspaceCreated",
      {
        name: string;
        slug: string;
        plan: Plan;
        planStatus: PlanStatus;
        betaOverride: boolean;
        /** Periods count from here. */
        createdAt: string;
      }
    >
  | Event<"WorkspaceRenamed", { name: string }>
  | Event<"PlanSet", { plan: Plan; planStatus: PlanStatus; betaOverride: boolean } & Partial<PaidPeriod>>
  | Event<"SendingPaused", Record<string, never>>
  | Event<"SendingResumed", Record<string, never>>
  /** Counts as set on each of its identities, until it is waived. */
  | Event<"HumanApprovalRequired", Record<string, never>>
  | Event<"HumanApprovalWaived", Record<string, never>>;

export const workspaceStream = (id: string): string => `workspace-${id}`;
