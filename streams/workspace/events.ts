import type { Event } from "../event.ts";

export type Plan = "builder_pack" | "pro" | "agency";
export type PlanStatus = "trialing" | "active" | "past_due" | "canceled";

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
  | Event<"PlanSet", { plan: Plan; planStatus: PlanStatus; betaOverride: boolean }>
  | Event<"SendingPaused", Record<string, never>>
  | Event<"SendingResumed", Record<string, never>>;

export const workspaceStream = (id: string): string => `workspace-${id}`;
