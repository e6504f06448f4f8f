import { createdRunId, reevaluateRules, walkRulesOfMessage } from "#src/commands/approvals/approvalValidity.ts";
import type { Dependencies } from "#src/commands/dependencies.ts";
import type { Cause } from "#src/commands/handle.ts";
import { actorOf, applyRules, decideSubmission } from "#src/commands/rules/ruleActions.ts";
import { draftInput, toTestedMessage } from "#src/commands/rules/ruleFacts.ts";
import type { Outlets } from "#src/commands/rules/ruleNotices.ts";
import { evaluateRules, receivedRunId, runActions } from "#src/commands/rules/ruleRuns.ts";
import { workingRules } from "#src/commands/rules/workingRules.ts";
import { type AuthenticationState, findAuthentication, mailAnsweredBy } from "#src/commands/threads/answeredMail.ts";
import { noteDraft } from "#src/commands/threads/threads.ts";
import { Rejected } from "#streams/decider.ts";
import type { Draft } from "#streams/draft/draft.ts";
import type { DraftEvent } from "#streams/draft/events.ts";
import { draftStream } from "#streams/draft/events.ts";
import { isEnd, outcomeAfter } from "#streams/draft/outcome.ts";
import { idOf, type Recorded } from "#streams/event.ts";
import { actionKey, approvalModeOf, type RuleRun } from "#streams/ruleRun/decider.ts";
import type { RuleResult } from "#streams/ruleRun/events.ts";
import { isAboutApproval } from "#streams/ruleRun/plan.ts";
import type { Acting, ProcessContext } from "./process.ts";

type Mode = "auto" | "manual" | null;

/** Notices of a rule run that are to be sent: the key of their lane, and the number of earlier tries. */
export type PendingNotices = { key: string; runId: string; tries: number };

/** Functions of runRules.ts that submissions use. */
type RuleRunFunctions = {
  onReceived(event: Recorded, context: ProcessContext): Promise<undefined>;
  tellPeople(telling: PendingNotices, acting: Acting): Promise<void>;
};

/**
 * Maximum time in milliseconds that a draft's rules wait for the authentication of the answered message; below, the pause between checks.
 */
const proofWithinMs = 10_000;
const lookEveryMs = 500;

/**
 * Runs the rules for draft.created, after the rules of the answered message, which may have set an approval mode for the draft. Records on
 * the draft when its rules begin and end, because an auto-approved draft is not sent before the end, even if there are no rules. If no rule
 * could apply when the draft was submitted, the submission has recorded the end (canNoRuleApply).
 */
export function createSubmissionRules(deps: Dependencies, outlets: Outlets, beside: RuleRunFunctions) {
  async function judge(event: Recorded, until: Date, context: ProcessContext): Promise<undefined> {
    const { cause } = context;
    const draftId = idOf(event.stream);
    const runId = createdRunId(event.id);
    const { state: draft } = await deps.drafts.handle(draftId, { type: "BeginRules" }, cause);
    // The draft was submitted when there were no rules. Rules created since are evaluated when its send is claimed.
    if (draft.autoApproved && draft.rulesApplied && !(await deps.ruleRuns.load(runId)).state.evaluated)
      return undefined;
    const mail = await mailAnsweredBy(deps, draft);
    const proof: AuthenticationState =
      mail === null ? { said: null, isAwaited: false } : await findAuthentication(deps, mail);
    if (proof.isAwaited && deps.clock.now() < until && (await proofMatters(draft))) {
      const due = new Date(Math.min(until.getTime(), deps.clock.now().getTime() + lookEveryMs));
      await context.timers.set({
        key: keyOf(event),
        name: `created:${draftId}`,
        dueAt: due,
        payload: { kind: "created", draftId, until },
      });
      return undefined;
    }
    // The message's rules may require a person, but still wait for the message's authentication. An automatic approval is not valid before
    // they have run.
    if (proof.isAwaited && (await messageMaySetMode(draft))) await giveUp(draftId, cause);
    await ensureReceived(draft, proof, context);
    const { workspaceId, threadId } = draft;
    const trigger = { trigger: "draft.created", runId, triggerEventId: event.id, workspaceId } as const;
    const about = async () => {
      const outcome = outcomeAfter(event as unknown as DraftEvent);
      const note = { threadId, draftId, draftRevision: event.revision, hasEnded: isEnd(draft.status) };
      if (outcome) await noteDraft(deps, { ...note, outcome }, cause);
      const message = mail && (await toTestedMessage(deps, mail));
      return draftInput(deps, { trigger: "draft.created", draftId, draft: { ...draft, version: 1 }, message });
    };
    const before = async () => [await walkRulesOfMessage(deps, draftId, draft)];
    const run = await evaluateRules(deps, { trigger, about, before }, cause);
    if (run) await runActions(deps, { outlets, runId, part: "quick" }, cause);
    const own = run && (await ownMode(runId));
    const fromMessage = await modeOfMessage(draftId, draft);
    // The draft's own rules run after the message's rules, so their decision replaces that of the message's rules.
    if (own && fromMessage && !fromMessage.isUsedUp) await takeMode({ draftId, ...fromMessage }, cause);
    const mode = own ? own.mode : await settle({ draftId, draft }, fromMessage, cause);
    await applyRules(deps, { draftId, mode }, cause);
    if (run) await beside.tellPeople({ key: keyOf(event), runId, tries: 0 }, context);
    return undefined;
  }

  /** True if the result of the message's authentication can change an approval. */
  async function proofMatters({ workspaceId }: Draft): Promise<boolean> {
    const rules = await workingRules(deps, workspaceId);
    return [...rules("draft.created"), ...rules("email.received")].some(({ actions }) => actions.some(isAboutApproval));
  }

  const messageMaySetMode = async ({ workspaceId }: Draft): Promise<boolean> =>
    (await workingRules(deps, workspaceId))("email.received").some(({ actions }) => actions.some(isAboutApproval));

  async function giveUp(draftId: string, cause: Cause): Promise<void> {
    const command = { type: "GiveUpOnRules", because: "the message's rules could not be run in time" } as const;
    await deps.drafts.handle(draftId, command, cause);
  }

  /**
   * Runs the message's rules now if they could set a mode. The message's authentication may be newer than the draft, so these rules may not
   * have run yet.
   */
  async function ensureReceived(draft: Draft, { said }: AuthenticationState, context: ProcessContext): Promise<void> {
    if (said !== null && (await messageMaySetMode(draft))) await beside.onReceived(said, context.because(said));
  }

  /**
   * Returns the approval mode that the draft's own rules set; null if they set none. In the result, `mode` is null if the mode could not be
   * applied.
   */
  async function ownMode(runId: string): Promise<{ mode: Mode } | null> {
    const { state: run } = await deps.ruleRuns.load(runId);
    const decision = approvalDecision(run);
    if (!decision) return null;
    const isDone = run.outcomes[decision.key]?.outcome === "done";
    return { mode: isDone ? decision.mode : null };
  }

  type FromMessage = {
    mode: "auto" | "manual";
    rule: RuleResult;
    index: number;
    runId: string;
    isUsedUp: boolean;
  } | null;

  /**
   * Returns the last approval mode that the message's rules set for the next draft that answers the message. `isUsedUp`: true if another
   * draft has used that mode.
   */
  async function modeOfMessage(draftId: string, { basedOnMessageId }: Draft): Promise<FromMessage> {
    if (basedOnMessageId === null) return null;
    const runId = receivedRunId(basedOnMessageId);
    const { state } = await deps.ruleRuns.load(runId);
    const found = approvalModeOf(state);
    return found && { ...found, runId, isUsedUp: state.modeUsedBy !== null && state.modeUsedBy !== draftId };
  }

  type Suppressed = { ruleId: string; index: number; reason: string };

  /** Marks the mode as used by this draft. Returns false if another draft used it first. */
  async function takeMode(
    { draftId, runId, suppressed }: { draftId: string; runId: string; suppressed?: Suppressed },
    cause: Cause,
  ) {
    const command = { type: "UseMode", draftId, ...(suppressed && { suppressed }) } as const;
    const { state: used } = await deps.ruleRuns.handle(runId, command, cause);
    return used.modeUsedBy === draftId;
  }

  /**
   * Called when the authentication of the message is known. If the draft's own rules set no mode, applies that of the message's rules, or
   * the identity's setting.
   */
  async function settle(
    { draftId, draft }: { draftId: string; draft: Draft },
    fromMessage: FromMessage,
    cause: Cause,
  ): Promise<Mode> {
    if (fromMessage?.mode === "manual") {
      const isForThisOne = !fromMessage.isUsedUp && (await takeMode({ draftId, ...fromMessage }, cause));
      // A `manual` mode overrides the identity's automatic approval for every draft that answers the message.
      return isForThisOne || draft.autoApproved ? apply({ draftId, mode: "manual" }, fromMessage, cause) : null;
    }
    const found = fromMessage?.isUsedUp ? null : fromMessage;
    if (found === null && !draft.autoApproved) return null;
    const submitted = { draftId, draft: { ...draft, version: 1 }, submittedBySwitch: draft.autoApproved };
    const { decision } = await reevaluateRules(deps, submitted);
    if (found !== null) {
      // If the rule was changed or deleted after the message arrived, it approves nothing any more.
      if (decision.by.some((source) => source.kind === "rule" && source.ruleId === found.rule.ruleId)) {
        return (await takeMode({ draftId, ...found }, cause)) ? apply({ draftId, mode: "auto" }, found, cause) : null;
      }
      const { ruleId } = found.rule;
      const refused = decision.refused.find((each) => each.ruleId === ruleId && each.index === found.index);
      if (refused) await takeMode({ draftId, ...found, suppressed: refused }, cause);
    }
    if (!draft.autoApproved || decision.manual === null) return null;
    const { reason, ...rule } = decision.manual;
    return apply({ draftId, mode: "manual", reason }, { rule, runId: "" }, cause);
  }

  async function apply(
    { draftId, mode, reason }: { draftId: string; mode: "auto" | "manual"; reason?: string },
    { rule, runId }: { rule: Pick<RuleResult, "ruleId" | "ruleName">; runId: string },
    because: Cause,
  ): Promise<Mode> {
    const cause = { ...because, actor: actorOf(rule) };
    const subject = { draftId, draftVersion: 1, grantedBy: { runId, ruleId: rule.ruleId } };
    try {
      await decideSubmission(deps, { subject, mode, because: reason }, cause);
      return mode;
    } catch (error) {
      // The draft was decided or edited in between, or human approval became required: that state is kept.
      if (error instanceof Rejected) return null;
      throw error;
    }
  }

  const keyOf = (event: Recorded): string => (event.data.basedOnMessageId as string | null) ?? idOf(event.stream);

  return {
    onSubmitted: (event: Recorded, context: ProcessContext): Promise<undefined> =>
      judge(event, new Date(deps.clock.now().getTime() + proofWithinMs), context),

    async onTimer(payload: Record<string, unknown>, context: ProcessContext): Promise<undefined> {
      const [event] = await deps.store.read(draftStream(payload.draftId as string), 0, 1);
      return event && judge(event, new Date(payload.until as string), context.because(event));
    },
  };
}

/** Returns the run's single action about the draft's approval that was not suppressed; null if there is none. */
function approvalDecision({ evaluated }: RuleRun): { mode: "auto" | "manual"; key: string } | null {
  for (const { ruleId, actions } of evaluated?.results ?? []) {
    for (const [index, { action, suppressed }] of actions.entries()) {
      if (suppressed !== null || !isAboutApproval(action)) continue;
      const mode = action.type === "set_approval_mode" ? action.mode : "auto";
      return { mode, key: actionKey(ruleId, index) };
    }
  }
  return null;
}
