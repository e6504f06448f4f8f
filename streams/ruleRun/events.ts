import type { Event } from "../event.ts";
import type { RuleAction, TriggerEvent } from "../rule/events.ts";

/** Subject of a trigger event. */
export type RuleSubject = {
  identityId: string;
  threadId: string;
  /** Id of the inbound message: the received one, or the one that a draft answers. */
  messageId: string | null;
  draftId: string | null;
  /** The draft's version that was evaluated; an approval applies to no other. */
  draftVersion: number | null;
  /** Address of the contact that add_tag tags. */
  contactEmail: string | null;
};

/** Action of a rule that matched: planned, or suppressed with a reason. */
export type PlannedAction = { action: RuleAction; suppressed: string | null };

/** Result of one rule. `actions` is empty if it did not match. */
export type RuleResult = {
  ruleId: string;
  ruleName: string;
  version: number;
  matched: boolean;
  actions: PlannedAction[];
};

/** `refused`: its subject no longer allows it. `failed`: it could not be done; it may still be retried. */
export type ActionOutcome = "done" | "refused" | "failed";

/** Values that a rule could use, by field (streams/rule/content.ts). */
export type KnownFacts = Record<string, readonly string[]>;

export type RuleRunEvent =
  /** All actions that follow from one trigger event, decided once and taken afterwards. */
  | Event<
      "RulesEvaluated",
      {
        workspaceId: string;
        triggerEvent: TriggerEvent;
        triggerEventId: string;
        subject: RuleSubject;
        /** Results in order of evaluation. */
        results: RuleResult[];
        /** Facts at the start of the walk, without the message's text. */
        facts: KnownFacts;
      }
    >
  /** `index`: the action's index in its rule. A later event of the same action replaces a failure. */
  | Event<"RuleActionTaken", { ruleId: string; index: number; outcome: ActionOutcome; reason: string | null }>
  /** The mode that set_approval_mode set at email.received was applied to the next draft based on that message. */
  | Event<
      "ApprovalModeUsed",
      {
        draftId: string;
        /** If it may not be used for that draft: the suppressed action, and why. */
        suppressed?: { ruleId: string; index: number; reason: string };
      }
    >;

export const ruleRunStream = (id: string): string => `ruleRun-${id}`;
