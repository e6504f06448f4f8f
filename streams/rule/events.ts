import type { Event } from "../event.ts";
import type { Priority, ThreadStatus } from "../thread/events.ts";

/** Events that can trigger a rule. */
export const triggerEvents = [
  "email.received",
  "email.sent",
  "email.delivered",
  "draft.created",
  "draft.approved",
  "draft.sent",
  "draft.stale",
] as const;
export type TriggerEvent = (typeof triggerEvents)[number];

export const operators = [
  "equals",
  "not_equals",
  "contains",
  "not_contains",
  "starts_with",
  "ends_with",
  "in",
  "not_in",
] as const;
export type Operator = (typeof operators)[number];

/** Condition on one field. `value` is a list for `in` and `not_in`, else one string. */
export type Leaf = { field: string; op: Operator; value: string | string[] };
/** Group of conditions. An empty one, also `{}`, passes. */
export type Group = { operator?: "AND" | "OR"; conditions?: (Group | Leaf)[] };

export type RuleChannel = "telegram" | "slack" | "email";

/** Action of a rule. Secrets in the config of `notify_channel` are sealed. */
export type RuleAction =
  | { type: "set_thread_status"; status: ThreadStatus }
  | { type: "set_approval_mode"; mode: "manual" | "auto" }
  | { type: "skip_approval" }
  | { type: "notify_channel"; channel: RuleChannel; config: Record<string, string> }
  | { type: "add_tag"; tag: string }
  | { type: "set_priority"; priority: Priority };

export type RuleSettings = {
  name: string;
  triggerEvent: TriggerEvent;
  conditions: Group;
  actions: RuleAction[];
  status: "active" | "inactive";
  /** Priority; lower ones are evaluated first. */
  priority: number;
  stopAfterMatch: boolean;
  identityId: string | null;
  assistantId: string | null;
};

/** `version`: 1 on creation, incremented by every change; evaluations name the version they used. */
export type RuleEvent =
  | Event<"RuleCreated", RuleSettings & { workspaceId: string; version: number }>
  | Event<"RuleUpdated", { version: number; changes: Partial<RuleSettings> }>
  /** The secrets of the actions were sealed again, under another key of the ring; the version is unchanged. */
  | Event<"RuleSecretsResealed", { actions: RuleAction[] }>
  | Event<"RuleDeleted", { version: number }>;

export const ruleStream = (id: string): string => `rule-${id}`;
