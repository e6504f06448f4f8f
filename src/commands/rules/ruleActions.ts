import { Rejected } from "#streams/decider.ts";
import { requireStatus } from "#streams/draft/draft.ts";
import { draftStream } from "#streams/draft/events.ts";
import type { RuleAction } from "#streams/rule/events.ts";
import type { RuleRun } from "#streams/ruleRun/decider.ts";
import type { ActionOutcome, RuleResult, RuleSubject } from "#streams/ruleRun/events.ts";
import { requireKeysMayDecide, requireOneApproval } from "../approvals/humanApproval.ts";
import { tagContact } from "../contacts.ts";
import type { Dependencies } from "../dependencies.ts";
import { changeDraft } from "../drafts/changeDraft.ts";
import type { Cause } from "../handle.ts";
import { derivedId } from "../ids.ts";
import { commandThread } from "../threads/threads.ts";
import { notifyByRule, type Outlets } from "./ruleNotices.ts";

/** An action of a rule run to be taken now. `outlets`: channels through which people are notified. */
export type ActionToTake = { outlets: Outlets; run: RuleRun; runId: string; rule: RuleResult; index: number };
export type ActionResult = { outcome: ActionOutcome; reason: string | null };

const done: ActionResult = { outcome: "done", reason: null };

/** Takes an action, with the rule as the actor. If an earlier run took the action but could not record that, this run detects it. */
export async function takeAction(deps: Dependencies, toTake: ActionToTake, because: Cause): Promise<ActionResult> {
  const { run, rule, index } = toTake;
  const evaluated = run.evaluated;
  const action = rule.actions[index]?.action;
  if (!evaluated || !action) throw new Error(`rule ${rule.ruleId} planned no action ${index}`);
  const cause: Cause = { ...because, actor: actorOf(rule) };
  try {
    if (action.type === "notify_channel") return await notifyByRule(deps, { ...toTake, evaluated, action });
    const { triggerEvent, subject } = evaluated;
    const grantedBy = { runId: toTake.runId, ruleId: rule.ruleId };
    const isSubmission = triggerEvent === "draft.created";
    const once = derivedId("rule-action", toTake.runId, rule.ruleId, String(index));
    await change(deps, { isSubmission, subject: { ...subject, grantedBy }, action, once }, cause);
    return done;
  } catch (error) {
    if (!(error instanceof Rejected)) throw error;
    return { outcome: "refused", reason: error.message };
  }
}

export const actorOf = ({ ruleId, ruleName }: Pick<RuleResult, "ruleId" | "ruleName">): Cause["actor"] => ({
  kind: "rule",
  id: ruleId,
  name: ruleName,
});

/** An action that changes this service's own state. */
type StateChange = {
  isSubmission: boolean;
  subject: RuleSubject & GrantSource;
  action: Exclude<RuleAction, { type: "notify_channel" }>;
  /** Identifies the action, so that an action that was taken but not recorded is not taken again. */
  once: string;
};

async function change(
  deps: Dependencies,
  { isSubmission, subject, action, once }: StateChange,
  cause: Cause,
): Promise<void> {
  const { threadId } = subject;
  switch (action.type) {
    case "set_thread_status":
      return updateThread(deps, { threadId, changes: { status: action.status, once } }, cause);
    case "set_priority":
      return updateThread(deps, { threadId, changes: { priority: action.priority, once } }, cause);
    case "add_tag": {
      const { workspaceId } = cause;
      if (subject.contactEmail === null || workspaceId === null)
        throw new Rejected("not_found", "there is no contact to tag");
      await tagContact(deps, { workspaceId, email: subject.contactEmail, tag: action.tag }, cause);
      return;
    }
    case "skip_approval":
      return approveByRule(deps, subject, cause);
    case "set_approval_mode":
      // At email.received nothing is left to do: the run itself stores the mode for the next draft.
      if (isSubmission) await decideSubmission(deps, { subject, mode: action.mode }, cause);
  }
}

/** The run and the rule that granted an approval, as the approval records them. Not recorded for `manual`. */
type GrantSource = { grantedBy: { runId: string; ruleId: string } };

/** `because`: reason why a person is asked, if it is not the rule itself. */
type SubmissionDecision = {
  subject: Pick<RuleSubject, "draftId" | "draftVersion"> & GrantSource;
  mode: "manual" | "auto";
  because?: string;
};

/**
 * Applies a rule's decision about a draft that was just submitted. A `manual` decision is recorded in the event that ends the draft's
 * rules.
 */
export async function decideSubmission(
  deps: Dependencies,
  { subject, mode, because }: SubmissionDecision,
  cause: Cause,
): Promise<void> {
  if (mode === "auto") return approveByRule(deps, subject, cause);
  const { state: draft } = await deps.drafts.load(subject.draftId as string);
  // The draft may have been sent by hand, or become stale, before its rules ran.
  if (!draft.rulesApplied) requireStatus(draft, "returned to a person", "pending", "approved");
  await applyRules(deps, { draftId: subject.draftId as string, mode: "manual", because }, cause);
}

/** Records once that a draft's creation rules have run. An auto-approved draft is not sent before that. */
export async function applyRules(
  deps: Dependencies,
  { draftId, mode, because }: { draftId: string; mode: "auto" | "manual" | null; because?: string },
  cause: Cause,
): Promise<void> {
  const ofRule = `the rule ${cause.actor.name ?? cause.actor.id} requires a person's approval`;
  await deps.drafts.handle(draftId, { type: "ApplyRules", mode, because: because ?? ofRule }, cause);
}

/** Approves the version that the rule judged. The send path then queues it after its own checks. */
async function approveByRule(
  deps: Dependencies,
  { draftId, draftVersion, grantedBy }: Pick<RuleSubject, "draftId" | "draftVersion"> & GrantSource,
  cause: Cause,
): Promise<void> {
  if (draftId === null) throw new Rejected("invalid_status", "there is no draft");
  const { state: draft } = await deps.drafts.load(draftId);
  await requireKeysMayDecide(deps, draft);
  await requireOneApproval(deps, draft);
  if (draft.status === "approved" && draft.sendRequested) return;
  if (draft.status !== "pending" && (await wasApproved(deps, draftId, cause))) return;
  const command = {
    type: "ApproveDraft",
    ifVersion: draftVersion,
    contentSha256: null,
    sendRequested: true,
    tokenSha256: null,
    grantedBy,
  } as const;
  await changeDraft(deps, { draftId, command }, cause);
}

type ThreadUpdate = {
  threadId: string;
  changes: {
    status?: "open" | "waiting" | "draft_pending" | "closed";
    priority?: "low" | "normal" | "high" | "urgent";
    once: string;
  };
};

/** Changes the thread once. A repetition does not override what a person has set since. */
async function updateThread(deps: Dependencies, { threadId, changes }: ThreadUpdate, cause: Cause): Promise<void> {
  const because = `rule ${cause.actor.name ?? cause.actor.id}`;
  await commandThread(deps, { threadId, command: { type: "UpdateThread", ...changes, because } }, cause);
}

/** True if this rule has already approved the draft for the same trigger event. */
async function wasApproved(deps: Dependencies, draftId: string, { causationId, actor }: Cause): Promise<boolean> {
  const events = await deps.store.read(draftStream(draftId));
  return events.some(
    ({ type, metadata }) =>
      type === "DraftApproved" && metadata.causationId === causationId && metadata.actor.id === actor.id,
  );
}
