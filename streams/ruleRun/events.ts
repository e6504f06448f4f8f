import type { Event } from "../event.ts";
import type { RuleAction, TriggerEvent } from "../rule/events.ts";

/** What a trigger event is about. */
export type RuleSubject = {
  identityId: string;
  threadId: string;
  /** The inbound message: the one received, or the one a draft answers. */
  messageId: string | null;
  draftId: string | null;
  /** The draft's version that was judged: an approval is for no other. */
  draftVersion: number | null;
  /** Whom add_tag tags. */
  contactEmail: string | null;
};

/** An action of a rule that matched: to be done, or suppressed and why. */
export type PlannedAction = { action: RuleAction; suppressed: string | null };

/** One rule's walk. `actions` is empty if it did not match. */
export type RuleResult = {
  ruleId: string;
  ruleName: string;
  version: number;
  matched: boolean;
  actions: PlannedAction[];
};

/** `refused`: its subject does not allow it any more. `failed`: could not be done, and why; it may still be tried again. */
export type ActionOutcome = "done" | "refused" | "failed";

/** By field (streams/rule/content.ts) what a rule could ask about. */
export type KnownFacts = Record<string, readonly string[]>;

export type RuleRunEvent =
  /** Everything that one trigger event sets in motion, decided once and carried out afterwards. */
  | Event<
      "RulesEvaluated",
      {
        workspaceId: string;
        triggerEvent: TriggerEvent;
        triggerEventId: string;
        subject: RuleSubject;
        /** In the order in which they were walked. */
        results: RuleResult[];
        /** What was known at the start of the walk, but for the message's text. */
        facts: KnownFacts;
      }
    >
  /** `index`: the action's place in its rule. A later one of the same action replaces a failure. */
  | Event<"RuleActionTaken", { ruleId: string; index: number; outcome: ActionOutcome; reason: string | null }>
  /** What set_approval_mode said at email.received has met the next draft based on that message. */
  | Event<
      "ApprovalModeUsed",
      {
        draftId: string;
        /** If it may not be used for that draft: the action that is suppressed after all, and why. */
        suppressed?: { ruleId: string; index: number; reason: string };
      }
    >;

export const ruleRunStream = (id: string): string => `ruleRun-${id}`;
