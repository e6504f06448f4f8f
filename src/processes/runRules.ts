import type { Dependencies } from "#src/commands/dependencies.ts";
import { derivedId } from "#src/commands/ids.ts";
import { PausedByOperator } from "#src/commands/installation.ts";
import { draftInput, messageInput, type RuleInput, toTestedMessage } from "#src/commands/rules/ruleFacts.ts";
import type { Outlets } from "#src/commands/rules/ruleNotices.ts";
import { evaluateRules, receivedRunId, runActions } from "#src/commands/rules/ruleRuns.ts";
import { noteSentOnThread } from "#src/commands/sends/sentMail.ts";
import { mailAnsweredBy, readFiledMail } from "#src/commands/threads/answeredMail.ts";
import { noteDraft } from "#src/commands/threads/threads.ts";
import type { DraftEvent } from "#streams/draft/events.ts";
import { type DraftOutcome, isEnd, outcomeAfter } from "#streams/draft/outcome.ts";
import { idOf, type Recorded } from "#streams/event.ts";
import { triggersRules } from "#streams/inbox/mailKinds.ts";
import type { TriggerEvent } from "#streams/rule/events.ts";
import type { ThreadEvent } from "#streams/thread/events.ts";
import { retryAfterMs } from "./notificationRetries.ts";
import type { Acting, Process, ProcessContext, RetryLater, WaitForModels } from "./process.ts";
import { createSubmissionRules, type PendingNotices } from "./runSubmissionRules.ts";

type AuthenticatedData = Extract<ThreadEvent, { type: "MessageAuthenticated" }>["data"];

/** Number of tries, and milliseconds between them, for which rules about a delivery wait until the draft is recorded as sent. */
const sentWithin = { tries: 10, againInMs: 200 };

/**
 * Runs a workspace's rules on events of its mail and drafts. A message and the drafts that answer it share a key, so that the message's
 * rules run before the drafts' rules.
 */
export function runRules(deps: Dependencies, outlets: Outlets): Process {
  const submissions = createSubmissionRules(deps, outlets, { onReceived, tellPeople });

  async function run(
    event: Recorded,
    {
      trigger,
      key,
      runId,
      about,
    }: { trigger: TriggerEvent; key: string; runId: string; about: () => Promise<RuleInput> },
    acting: Acting,
  ): Promise<undefined> {
    const { cause } = acting;
    const workspaceId = event.metadata.workspaceId as string;
    const at = { trigger, runId, triggerEventId: event.id, workspaceId };
    if ((await evaluateRules(deps, { trigger: at, about }, cause)) === null) return;
    await runActions(deps, { outlets, runId, part: "quick" }, cause);
    await tellPeople({ key, runId, tries: 0 }, acting);
  }

  async function tellPeople({ key, runId, tries }: PendingNotices, { cause, timers }: Acting): Promise<undefined> {
    const payload = { kind: "notices", runId };
    let complete: boolean;
    try {
      complete = await runActions(deps, { outlets, runId, part: "notices" }, cause);
    } catch (error) {
      if (!(error instanceof PausedByOperator) || key === runId) throw error;
      // Notices have their own key, so that they do not delay other rules about this message or draft.
      await timers.set({ key: runId, name: "notices", inMs: 0, payload: { ...payload, tries } });
      return;
    }
    const inMs = retryAfterMs(tries);
    if (complete || inMs === undefined) return;
    await timers.set({ key, name: `notices:${runId}`, inMs, payload: { ...payload, tries: tries + 1 } });
  }

  async function onReceived(event: Recorded, context: ProcessContext): Promise<undefined> {
    const { messageId, classification, kind, contactStatus, received } = event.data as AuthenticatedData;
    if (!triggersRules({ classification, kind, fromBlocked: contactStatus === "blocked" })) return undefined;
    const workspaceId = event.metadata.workspaceId as string;
    const about = async (): Promise<RuleInput> => {
      const mail = await readFiledMail(deps, received, { workspaceId, messageId });
      if (!mail) throw new Error(`message ${messageId} was not found on its thread`);
      return messageInput(deps, await toTestedMessage(deps, mail));
    };
    const runId = receivedRunId(messageId);
    return run(event, { trigger: "email.received", key: messageId, runId, about }, context);
  }

  /**
   * Runs the rules about a draft's event. First notes the draft on its thread, so that rules see the thread's present state and may change
   * it.
   */
  const onDraft =
    (trigger: TriggerEvent) =>
    (event: Recorded, context: ProcessContext): Promise<WaitForModels | undefined> =>
      aboutOneDraft(
        event,
        // The handler is registered for draft events only, so the event is one.
        { trigger, draftId: idOf(event.stream), noted: outcomeAfter(event as unknown as DraftEvent) },
        context,
      );

  async function aboutOneDraft(
    event: Recorded,
    { trigger, draftId, noted = null }: { trigger: TriggerEvent; draftId: string; noted?: DraftOutcome | null },
    context: ProcessContext,
  ): Promise<WaitForModels | undefined> {
    // Earlier runs about the draft are in this read model.
    if (!(await context.reached(event.position, ["ruleEvaluations"])))
      return { waitFor: event.position, of: ["ruleEvaluations"] };
    const { state: draft } = await deps.drafts.load(draftId);
    const { threadId, status } = draft;
    const about = async (): Promise<RuleInput> => {
      const { cause } = context;
      const note = { threadId, draftId, draftRevision: event.revision, hasEnded: isEnd(status) };
      if (noted) await noteDraft(deps, { ...note, outcome: noted }, cause);
      else await noteSentOnThread(deps, draftId, cause);
      const mail = await mailAnsweredBy(deps, draft);
      return draftInput(deps, { trigger, draftId, draft, message: mail && (await toTestedMessage(deps, mail)) });
    };
    const runId = derivedId("rules", trigger, event.id);
    return run(event, { trigger, key: draftId, runId, about }, context);
  }

  /** Runs the rules about a delivery after the draft is recorded as sent, because the provider may confirm the delivery before that. */
  async function onDelivered(
    event: Recorded,
    context: ProcessContext,
  ): Promise<WaitForModels | RetryLater | undefined> {
    const draftId = event.data.draftId as string;
    const { state: draft } = await deps.drafts.load(draftId);
    const { tries, againInMs } = sentWithin;
    if (draft.status === "sending" && context.attempt <= tries) return { againInMs };
    return aboutOneDraft(event, { trigger: "email.delivered", draftId }, context);
  }

  /** Runs the rules about an approval once it cannot be undone any more, because it does not count for rules before. */
  async function onApproved(event: Recorded, context: ProcessContext): Promise<WaitForModels | RetryLater | undefined> {
    const { sendAfter } = event.data as { sendAfter?: string };
    if (sendAfter === undefined) return onDraft("draft.approved")(event, context);
    const againInMs = Date.parse(sendAfter) - deps.clock.now().getTime();
    if (againInMs > 0) return { againInMs };
    const { state: draft } = await deps.drafts.load(idOf(event.stream));
    const isTakenBack = draft.status === "pending" || draft.status === "rejected";
    // The approval was undone. If the draft was approved again since, the event of that approval runs the rules.
    if (isTakenBack || (draft.status === "approved" && draft.approver?.sendAfter !== sendAfter)) return undefined;
    return onDraft("draft.approved")(event, context);
  }

  /** Runs the approval rules of an auto-approved draft, which counts as approved only once its creation rules have left it approved. */
  async function onRulesApplied(event: Recorded, context: ProcessContext): Promise<WaitForModels | undefined> {
    const { state: draft } = await deps.drafts.load(idOf(event.stream));
    return draft.autoApproved ? onDraft("draft.approved")(event, context) : undefined;
  }

  return {
    name: "runRules",
    // A rule must not run on events that happened before it was created.
    onlyNews: true,
    categories: ["thread", "draft", "delivery"],
    keyOf(event) {
      if (event.type === "MessageAuthenticated") return event.data.messageId as string;
      if (event.type === "DraftSubmitted") return (event.data.basedOnMessageId as string | null) ?? idOf(event.stream);
      return event.type === "DeliveryDelivered" ? (event.data.draftId as string) : idOf(event.stream);
    },
    // An auto-approved draft waits until its rules have ended, so this process must record that even if there are no rules.
    concerns: ({ type, data }, { rules }) => rules || (type === "DraftSubmitted" && data.autoApproved === true),
    on: {
      MessageAuthenticated: onReceived,
      DraftSubmitted: submissions.onSubmitted,
      DraftRulesApplied: onRulesApplied,
      DraftApproved: onApproved,
      DraftMarkedStale: onDraft("draft.stale"),
      DraftQueued: onDraft("email.sent"),
      DraftSent: onDraft("draft.sent"),
      DeliveryDelivered: onDelivered,
    },
    async onTimer({ key, payload }, context) {
      if (payload.kind !== "notices") return submissions.onTimer(payload, context);
      const { runId, tries } = payload as { runId: string; tries: number };
      return tellPeople({ key, runId, tries }, context);
    },
  };
}
