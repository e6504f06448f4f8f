import type { Event } from "../event.ts";

export type Plan = "builder_pack" | "pro" | "agency";
export type PlanStatus = "trialing" | "active" | "past_due" | "canceled";

/** Interval of a subscription's payments. */
export type Interval = "monthly" | "annual";

/**
 * Times (ISO) of a plan; null if there is none. A period with both times is the payment processor's. With an end only, the plan's months
 * are calendar months and the plan, canceled, runs until then.
 */
export type PaidPeriod = {
  trialEndsAt: string | null;
  currentPeriodStart: string | null;
  currentPeriodEnd: string | null;
};

/** Further times of a plan. */
export type PlanTerms = {
  /** Interval of its subscription; null if there is none. */
  interval: Interval | null;
  /** Time of renewal (ISO); null if it does not renew. */
  renewsAt: string | null;
  /** Time (ISO) when the operator set the plan, from which its months count. Null if not set since; months then count from the creation. */
  periodsFrom: string | null;
  /** Counters that the first month of the processor's period continues; null: new counters. */
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
        /** Time from which periods count. */
        createdAt: string;
      }
    >
  | Event<"WorkspaceRenamed", { name: string }>
  | Event<"PlanSet", { plan: Plan; planStatus: PlanStatus; betaOverride: boolean } & PaidPeriod & PlanTerms>
  /** `reason`: given by the person who paused sending; absent if none was given. A repetition while it is paused sets another reason. */
  | Event<"SendingPaused", { reason?: string }>
  | Event<"SendingResumed", Record<string, never>>
  /** Applies to each of its identities, until it is waived. */
  | Event<"HumanApprovalRequired", Record<string, never>>
  | Event<"HumanApprovalWaived", Record<string, never>>
  /** Links to approve lead to the sign-in, and only members decide; until it is waived. Presses in chats are not concerned. */
  | Event<"NamedApproversRequired", Record<string, never>>
  | Event<"NamedApproversWaived", Record<string, never>>;

export const workspaceStream = (id: string): string => `workspace-${id}`;
