import type { Event } from "../event.ts";

export type Plan = "builder_pack" | "pro" | "agency";
export type PlanStatus = "trialing" | "active" | "past_due" | "canceled";

/** How often a subscription is paid for. */
export type Interval = "monthly" | "annual";

/**
 * ISO times, null if there is none. Both period fields come from the payment processor; an end alone is when a canceled plan ends whose periods are
 * calendar months.
 */
export type PaidPeriod = {
  trialEndsAt: string | null;
  currentPeriodStart: string | null;
  currentPeriodEnd: string | null;
};

/** What else is known of a plan's time. */
export type PlanTerms = {
  /** null: no subscription says. */
  interval: Interval | null;
  /** ISO; null: it does not renew itself. */
  renewsAt: string | null;
  /** ISO: the operator set the plan then, and its months count from there. null: nobody did since, and months count from the creation. */
  periodsFrom: string | null;
  /** The counters that the first month of the processor's period goes on with; null: counters of its own. */
  countsOn: string | null;
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
  | Event<"PlanSet", { plan: Plan; planStatus: PlanStatus; betaOverride: boolean } & PaidPeriod & PlanTerms>
  /** `reason`: as who paused it gave it; absent where none was given. Once more while it is paused: another reason. */
  | Event<"SendingPaused", { reason?: string }>
  | Event<"SendingResumed", Record<string, never>>
  /** Counts as set on each of its identities, until it is waived. */
  | Event<"HumanApprovalRequired", Record<string, never>>
  | Event<"HumanApprovalWaived", Record<string, never>>;

export const workspaceStream = (id: string): string => `workspace-${id}`;
