import type { Dependencies } from "#src/commands/dependencies.ts";
import type { Cause } from "#src/commands/handle.ts";
import { requeueSend } from "#src/commands/sends/queueSend.ts";
import { sendingState } from "#src/commands/sends/sendingAllowed.ts";
import { Rejected } from "#streams/decider.ts";
import type { Delivery } from "#streams/delivery/decider.ts";
import { deliveryStream } from "#streams/delivery/events.ts";
import type { SendingDraft } from "#streams/draft/draft.ts";
import { idOf, type Recorded } from "#streams/event.ts";
import { causedBy, causeOfTimer, traced } from "./cause.ts";
import { endAccepted, endFailed } from "./deliveryEnds.ts";
import { claimGoodForMs, type DeliverySettings } from "./deliverySettings.ts";
import { type HandOver, handOver, type NotConnected } from "./handOver.ts";
import type { Acting, Process, ProcessContext } from "./process.ts";

const pausedRecheckMs = 2_000;
const settleEveryMs = 5_000;

type Sending = { draftId: string; draft: SendingDraft };
/** How a draft fails: its code, and why in words. */
type Failure = { code: string; message: string };

/**
 * A queued draft is handed over, at most once per attempt, and its delivery's end becomes the draft's (src/README.md, "The send path", 7 to 11).
 * What an interrupted hand-over did is never guessed: it waits for evidence, and without any the draft ends failed, `unconfirmed`.
 */
export function deliverDraft(deps: Dependencies, settings: DeliverySettings): Process {
  const later = (ms: number) => new Date(deps.clock.now().getTime() + ms);
  const mails: HandOver = handOver(deps, settings);

  async function deliver(draftId: string, cause: Cause, context: ProcessContext): Promise<void> {
    const { state: draft } = await deps.drafts.load(draftId);
    if (draft.status !== "sending") return;
    const { state: delivery } = await deps.deliveries.load(draft.attemptId);
    if (delivery.phase !== "none") return conclude({ draftId, draft }, delivery, { ...context, cause });
    const allowed = await sendingState(deps, draft);
    if (allowed === "identity_deleted") {
      const message = "the identity was deleted before the mail was sent";
      return failUnsent({ draftId, draft }, { code: "identity_deleted", message }, { ...context, cause });
    }
    if (allowed !== "allowed") {
      return context.timers.set({
        key: draftId,
        name: "wait",
        dueAt: later(pausedRecheckMs),
        payload: of(draft.attemptId, cause),
      });
    }
    if (deps.freshClaims.age(draft.attemptId) > claimGoodForMs) return tryAgain({ draftId, draft }, cause);
    const outcome = await mails.handOver(draftId, draft, cause);
    if (outcome === "claim_too_old") return tryPrepared(draftId, draft, cause);
    if (outcome !== "recorded" && outcome.code === "approval_withdrawn") {
      return failUnsent({ draftId, draft }, outcome, { ...context, cause });
    }
    if (outcome !== "recorded") return retry({ draftId, draft }, outcome, { ...context, cause });
    const after = await deps.deliveries.load(draft.attemptId);
    return conclude({ draftId, draft }, after.state, { ...context, cause });
  }

  /** Writing the mail took longer than its claim was good for: the next attempt's is written before it is claimed. */
  async function tryPrepared(draftId: string, draft: SendingDraft, cause: Cause): Promise<void> {
    const attemptId = deps.ids.uuid();
    await mails.prepare(draft, attemptId);
    await tryAgain({ draftId, draft, newAttemptId: attemptId }, cause);
  }

  /** Any later try: the old attempt is closed on its own stream first, then claimed again (which may find the draft stale). */
  async function tryAgain(
    { draftId, draft, tries = draft.tries, newAttemptId }: Sending & { tries?: number; newAttemptId?: string },
    cause: Cause,
  ): Promise<void> {
    const attemptId = draft.attemptId;
    const phase = await closeAttempt(attemptId, { draftId, because: "claimed anew" }, cause);
    if (phase !== "abandoned" && phase !== "not_handed_over" && phase !== "refused") return;
    try {
      await requeueSend(deps, { draftId, replaces: attemptId, tries, newAttemptId }, cause);
    } catch (error) {
      // The old attempt is closed and no other was begun.
      if (error instanceof Rejected && error.code === "approval_withdrawn") {
        return fail({ draftId, draft }, error, cause);
      }
      if (!(error instanceof Rejected) || !["stale_draft", "send_in_progress", "invalid_status"].includes(error.code)) {
        throw error;
      }
    }
  }

  async function closeAttempt(attemptId: string, why: { draftId: string; because: string }, cause: Cause) {
    const command = { type: "AbandonDelivery", ...why } as const;
    return (await deps.deliveries.handle(attemptId, command, cause)).state.phase;
  }

  /** Fails a draft that nothing was handed over of. Where somebody started this very attempt meanwhile, its outcome decides. */
  async function failUnsent({ draftId, draft }: Sending, why: Failure, acting: Acting): Promise<void> {
    const { cause } = acting;
    const attemptId = draft.attemptId;
    const command = { type: "AbandonDelivery", draftId, because: why.message } as const;
    const { state: delivery } = await deps.deliveries.handle(attemptId, command, cause);
    if (!["abandoned", "not_handed_over", "refused"].includes(delivery.phase)) {
      return conclude({ draftId, draft }, delivery, acting);
    }
    await fail({ draftId, draft }, why, cause);
  }

  async function conclude(sending: Sending, delivery: Delivery, acting: Acting) {
    const { draftId, draft } = sending;
    const { cause, timers } = acting;
    switch (delivery.phase) {
      case "none":
        return;
      case "abandoned":
        return tryAgain(sending, cause);
      case "started":
        return timers.set({
          key: draftId,
          name: "cut-off",
          dueAt: later(settings.handOverSeconds * 1000),
          payload: of(draft.attemptId, cause),
        });
      case "accepted":
        return endAccepted(deps, { draftId, attemptId: draft.attemptId, delivery }, cause);
      case "not_handed_over":
        // Kept back by the service itself: whether it may leave is asked at the next claim, and no try is counted.
        if (delivery.withheld) return tryAgain(sending, cause);
        return retry(sending, unavailable(delivery.message), acting);
      case "refused":
        if (delivery.retryable) return retry(sending, unavailable(delivery.message), acting);
        return fail(sending, { code: delivery.code || "provider_refused", message: delivery.message }, cause);
      case "unknown":
        return timers.set({
          key: draftId,
          name: "settle",
          dueAt: later(0),
          payload: of(draft.attemptId, cause),
        });
      case "unconfirmed":
        return fail(sending, unconfirmed, cause);
    }
  }

  /** "Later", by schedule; at its end the draft fails and what it held is given back. */
  async function retry(sending: Sending, why: NotConnected, acting: Acting) {
    const { draftId, draft } = sending;
    const seconds = settings.retrySeconds[draft.tries];
    if (seconds === undefined) return failUnsent(sending, why, acting);
    await acting.timers.set({
      key: draftId,
      name: "retry",
      dueAt: later(seconds * 1000),
      payload: of(draft.attemptId, acting.cause),
    });
  }

  const fail = ({ draftId, draft }: Sending, { code, message }: Failure, cause: Cause) =>
    endFailed(deps, { draftId, attemptId: draft.attemptId, code, message }, cause);

  /** Looks for evidence until the time for it is over. */
  async function settle(draftId: string, payload: Record<string, unknown>, { timers }: ProcessContext): Promise<void> {
    const cause = causeOfTimer(payload, "deliverDraft");
    const attemptId = payload.attemptId as string;
    const found = await settings.provider.lookUp?.(attemptId);
    // Nothing follows "unknown" on that stream before it is settled: the time of its last event is when the outcome became unknown.
    const lost = await deps.store.readLast(deliveryStream(attemptId));
    const waitedMs = deps.clock.now().getTime() - Date.parse(lost?.metadata.at as string);
    const tooLong = waitedMs >= settings.confirmSeconds * 1000;
    if (!found && !tooLong) {
      const every = Math.min(settleEveryMs, Math.max(200, settings.confirmSeconds * 1000 - waitedMs));
      return timers.set({ key: draftId, name: "settle", dueAt: later(every), payload });
    }
    const evidence = found ? `the provider's log says ${found}` : `no evidence within ${settings.confirmSeconds} s`;
    const command = { type: "SettleDelivery", outcome: found ?? "unconfirmed", evidence } as const;
    await deps.deliveries.handle(attemptId, command, cause);
  }

  async function cutOff(attemptId: string, cause: Cause): Promise<void> {
    const message = "the hand-over was interrupted: it is unknown whether the provider accepted the mail";
    const outcome = { type: "DeliveryUnknown", data: { message } } as const;
    await deps.deliveries.handle(attemptId, { type: "RecordOutcome", outcome }, cause);
  }

  const onQueued = (event: Recorded, context: ProcessContext) =>
    deliver(idOf(event.stream), causedBy(event, "deliverDraft"), context);

  return {
    name: "deliverDraft",
    categories: ["draft"],
    keyOf: (event) => idOf(event.stream),
    on: { DraftQueued: onQueued, DraftRequeued: onQueued },
    onTimer: async (timer, context) => {
      const draftId = timer.key;
      const cause = causeOfTimer(timer.payload, "deliverDraft");
      const { state: draft } = await deps.drafts.load(draftId);
      // A timer speaks of one attempt: another one may have taken its place, and must not be judged by it.
      const { attemptId } = timer.payload as { attemptId: string };
      if (draft.status !== "sending" || draft.attemptId !== attemptId) return;
      if (timer.name === "retry") return tryAgain({ draftId, draft, tries: draft.tries + 1 }, cause);
      if (timer.name === "cut-off") await cutOff(attemptId, cause);
      if (timer.name === "settle") {
        await settle(draftId, timer.payload, context);
        if (await stillUnknown(deps, attemptId)) return;
      }
      await deliver(draftId, cause, context);
    },
    givingUp: async (subject) => {
      const draftId = "key" in subject ? subject.key : idOf(subject.stream);
      await giveUp(
        draftId,
        "key" in subject ? causeOfTimer(subject.payload, "deliverDraft") : causedBy(subject, "deliverDraft"),
      );
    },
  };

  /** A delivery is never just parked: before it started the draft fails with everything given back, afterwards it stays unknown. */
  async function giveUp(draftId: string, cause: Cause): Promise<void> {
    const { state: draft } = await deps.drafts.load(draftId);
    if (draft.status !== "sending") return;
    const { attemptId } = draft;
    const phase = await closeAttempt(attemptId, { draftId, because: "an internal error" }, cause);
    const { state: delivery } = await deps.deliveries.load(attemptId);
    if (phase === "accepted" && delivery.phase === phase)
      return endAccepted(deps, { draftId, attemptId: draft.attemptId, delivery }, cause);
    if (phase !== "started" && phase !== "unknown" && phase !== "unconfirmed") {
      const message = "an internal error prevented this mail from being sent";
      return fail({ draftId, draft }, { code: "internal", message }, cause);
    }
    if (phase === "started") await cutOff(attemptId, cause);
    const settled = { type: "SettleDelivery", outcome: "unconfirmed", evidence: "an internal error" } as const;
    await deps.deliveries.handle(attemptId, settled, cause);
    await fail({ draftId, draft }, unconfirmed, cause);
  }
}

const unconfirmed: Failure = { code: "unconfirmed", message: "it is unknown whether the provider took it" };

const unavailable = (message: string): NotConnected => ({ code: "provider_unavailable", message });

/** What a timer of an attempt carries. */
const of = (attemptId: string, cause: Cause): Record<string, unknown> => ({ ...traced(cause), attemptId });

async function stillUnknown(deps: Dependencies, attemptId: string): Promise<boolean> {
  const { state: delivery } = await deps.deliveries.load(attemptId);
  return delivery.phase === "unknown";
}
