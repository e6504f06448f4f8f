import type { Dependencies } from "#src/commands/dependencies.ts";
import type { Cause } from "#src/commands/handle.ts";
import { endStale } from "#src/commands/sends/sendChecks.ts";
import { noteSentOnThread } from "#src/commands/sends/sentMail.ts";
import type { Delivery } from "#streams/delivery/decider.ts";
import { deliveryStream } from "#streams/delivery/events.ts";
import { idOf, type Recorded } from "#streams/event.ts";
import type { ThreadEvent } from "#streams/thread/events.ts";
import { claimAgain, claimOf, type LoneClaim, recoverClaim } from "./claims.ts";
import { endAccepted, endFailed, finishUnsent } from "./deliveryEnds.ts";
import type { DeliverySettings } from "./deliverySettings.ts";
import { type BeginResult, createHandOvers, type DraftFailure } from "./handOver.ts";
import type { Acting, LaterTimer, Process, ProcessContext, SetAside, Timer } from "./process.ts";
import { settleUnknown } from "./settleUnknown.ts";
import { type Advancing, readWait, waitForRoom } from "./waitForRoom.ts";
import type { Sending } from "./writePermission.ts";

/** Data of the event that `onClaimed` handles. */
type SendClaimedData = Extract<ThreadEvent, { type: "SendClaimed" }>["data"];

/** Milliseconds from a claim until it is checked. Queueing takes less time, so the draft is queued by then or the run was interrupted. */
const claimAloneMs = 6_000;

/**
 * Result of one step. "again": run the next step at once. SetAside: wait for an event. undefined: nothing to do until the next event or
 * timer.
 */
type StepResult = "again" | SetAside | undefined;

/**
 * Hands a queued draft over, at most once per attempt, and records the outcome on the draft (src/sendPath.md, "Steps"). One step function
 * handles all events and timers: the streams say what comes next, so a restart after a crash needs no special case. The outcome of an
 * interrupted hand-over is never guessed: the draft waits for evidence, and fails as `unconfirmed` if there is none in time.
 */
export function deliver(deps: Dependencies, settings: DeliverySettings): Process {
  const attempts = createHandOvers(deps, settings);
  const room = waitForRoom(deps, settings);

  async function advance(draftId: string, acting: Advancing): Promise<SetAside | undefined> {
    for (;;) {
      const { state: draft } = await deps.drafts.load(draftId);
      // A crash may have happened after the draft was recorded as sent and before its thread was updated, so update the thread again.
      if (draft.status === "sent") await noteSentOnThread(deps, draftId, acting.cause);
      if (draft.status !== "sending") return undefined;
      const { state: delivery } = await deps.deliveries.load(draft.attemptId);
      const next = await step({ draftId, draft }, delivery, acting);
      if (next !== "again") return next;
    }
  }

  async function step(sending: Sending, delivery: Delivery, acting: Advancing): Promise<StepResult> {
    const { draftId, draft } = sending;
    const { attemptId } = draft;
    switch (delivery.phase) {
      case "none":
        return begun(sending, await attempts.begin(sending, acting), acting);
      case "started":
        await attempts.takeOver(attemptId, delivery, acting.cause);
        return "again";
      case "abandoned":
        if (delivery.noConnection === null) return again(sending, draft.tries, acting);
        return later(sending, { code: delivery.noConnection, message: delivery.message }, acting);
      case "not_handed_over":
        // The service itself withheld the mail. The next claim checks again if the mail may be sent; this attempt does not count as a try.
        if (delivery.withheld) return again(sending, draft.tries, acting);
        return later(sending, { code: "provider_unavailable", message: delivery.message }, acting);
      case "refused":
        if (delivery.retryable) return later(sending, whyLater(delivery), acting);
        return fail(sending, refusalOf(delivery), acting.cause);
      case "accepted":
        await endAccepted(deps, { draftId, attemptId, delivery }, acting.cause);
        return undefined;
      case "unknown":
        return settleUnknown(deps, settings, { sending, acting });
      case "unconfirmed":
        return fail(sending, unconfirmed, acting.cause);
    }
  }

  /** Handles the result of beginning an attempt. If nothing was handed over, first closes the attempt on its own stream. */
  async function begun(sending: Sending, begun: BeginResult, acting: Advancing): Promise<StepResult> {
    if (begun === "went on") return "again";
    if ("ended" in begun) {
      const { ended: delivery } = begun;
      const { draftId, draft } = sending;
      if (delivery.phase !== "accepted") return "again";
      await endAccepted(deps, { draftId, attemptId: draft.attemptId, delivery }, acting.cause);
      return undefined;
    }
    if ("setAside" in begun) return begun;
    if ("noRoom" in begun && (await room.wait(sending, begun.noRoom, acting))) return undefined;
    const { draftId, draft } = sending;
    if ("noRoom" in begun || "noConnection" in begun) {
      const { noConnection: code, message: because } = "noRoom" in begun ? begun.noRoom.otherwise : begun;
      await close(sending, { because, code }, acting.cause);
      return "again";
    }
    const because = "staleBy" in begun ? "the customer wrote again" : begun.fails.message;
    if (!(await close(sending, { because }, acting.cause))) return "again";
    if ("fails" in begun) return fail(sending, begun.fails, acting.cause);
    await endStale(deps, { draftId, draft, newMessageId: begun.staleBy }, acting.cause);
    return undefined;
  }

  /** Closes the attempt. Returns false if another run started the attempt meanwhile; that run's outcome then decides. */
  async function close(
    { draftId, draft }: Sending,
    why: { because: string; code?: "provider_unavailable" | "provider_credentials" },
    cause: Cause,
  ): Promise<boolean> {
    const command = { type: "AbandonDelivery", draftId, ...why } as const;
    const { state: delivery } = await deps.deliveries.handle(draft.attemptId, command, cause);
    return ["abandoned", "not_handed_over", "refused"].includes(delivery.phase);
  }

  /** Replaces the closed attempt with a new one. */
  async function again({ draftId, draft }: Sending, tries: number, acting: Acting): Promise<StepResult> {
    const withdrawn = await claimAgain(deps, { draftId, draft, tries }, acting.cause);
    return withdrawn ? fail({ draftId, draft }, withdrawn, acting.cause) : "again";
  }

  /**
   * Schedules the next try: after a pause from the end of the attempt, and not before the time that the provider asked for. If no try is
   * left, fails the draft.
   */
  async function later(
    sending: Sending,
    why: DraftFailure & { waitSeconds?: number },
    acting: Acting,
  ): Promise<StepResult> {
    const { draftId, draft } = sending;
    const { waitSeconds = 0, ...failure } = why;
    const pause = settings.retrySeconds[draft.tries];
    if (pause === undefined) return fail(sending, failure, acting.cause);
    const seconds = Math.max(pause, waitSeconds);
    const ended = await deps.store.readLast(deliveryStream(draft.attemptId));
    const dueAt = new Date(Date.parse(ended?.metadata.at as string) + seconds * 1000);
    if (dueAt <= deps.clock.now()) return again(sending, draft.tries + 1, acting);
    await acting.timers.set({ key: draftId, name: "retry", dueAt });
    return undefined;
  }

  async function fail({ draftId, draft }: Sending, why: DraftFailure, cause: Cause): Promise<undefined> {
    await endFailed(deps, { draftId, attemptId: draft.attemptId, ...why }, cause);
  }

  /**
   * Handles a delivery report that settles an unknown outcome: records the draft as sent or, if it already failed as unconfirmed, records
   * the evidence.
   */
  async function onSettled(event: Recorded, context: ProcessContext): Promise<SetAside | undefined> {
    const attemptId = idOf(event.stream);
    const { state: delivery } = await deps.deliveries.load(attemptId);
    if (delivery.started === null) return undefined;
    const { draftId } = delivery.started;
    const { cause } = context;
    const { state: draft } = await deps.drafts.load(draftId);
    if (draft.attemptId !== attemptId) return undefined;
    if (draft.status === "sending") return advance(draftId, context);
    if (delivery.phase === "accepted") await endAccepted(deps, { draftId, attemptId, delivery }, cause);
    if (delivery.phase === "refused") await endFailed(deps, { draftId, attemptId, ...refusalOf(delivery) }, cause);
    return undefined;
  }

  /** Sets a timer that finds a claim whose draft was not queued because the run was interrupted. */
  function onClaimed(event: Recorded): LaterTimer {
    const { attemptId, quotaStream, replaces } = event.data as SendClaimedData;
    const claim: LoneClaim = { attemptId, quotaStream, replaces, threadId: idOf(event.stream) };
    return { name: attemptId, inMs: claimAloneMs, payload: { claim } };
  }

  /** Does not cancel the claim's timer: that would cost more than letting it find nothing to do. */
  const onQueued = (event: Recorded, context: ProcessContext) => advance(idOf(event.stream), context);

  async function onTimer(timer: Timer, context: ProcessContext): Promise<SetAside | undefined> {
    const draftId = timer.key;
    const wait = readWait(timer);
    const claim = claimOf(timer);
    if (claim && !(await recoverClaim(deps, { draftId, claim }, context.cause))) return undefined;
    return advance(draftId, { ...context, ...(wait && { wait }) });
  }

  /**
   * Last resort before the item is parked. If the attempt was not started, the draft fails, and its claim and quota are released; otherwise
   * the outcome stays unknown.
   */
  async function giveUp(draftId: string, cause: Cause): Promise<void> {
    const { state: draft } = await deps.drafts.load(draftId);
    if (draft.status === "sent") return noteSentOnThread(deps, draftId, cause);
    if (draft.status !== "sending") return;
    const { attemptId } = draft;
    await attempts.ended(attemptId);
    const closed = await close({ draftId, draft }, { because: "an internal error" }, cause);
    if (closed) return fail({ draftId, draft }, internal, cause);
    const { state: started } = await deps.deliveries.load(attemptId);
    if (started.phase === "started") await attempts.takeOver(attemptId, started, cause);
    const settled = { type: "SettleDelivery", outcome: "unconfirmed", evidence: "an internal error" } as const;
    const { state: delivery } = await deps.deliveries.handle(attemptId, settled, cause);
    if (delivery.phase === "accepted") return endAccepted(deps, { draftId, attemptId, delivery }, cause);
    await fail({ draftId, draft }, delivery.phase === "unconfirmed" ? unconfirmed : internal, cause);
  }

  return {
    name: "deliver",
    categories: ["draft", "thread", "delivery"],
    longestRunSeconds: settings.handOverSeconds + 60,
    concurrency: lanesFor(settings.connections),
    keyOf: draftIdOf,
    later: { SendClaimed: onClaimed },
    on: {
      DraftQueued: onQueued,
      DraftRequeued: onQueued,
      DeliverySettled: onSettled,
      DraftMarkedStale: (event, { cause }) => finishUnsent(deps, { event, because: "stale" }, cause),
      DraftFailed: (event, { cause }) => finishUnsent(deps, { event, because: event.data.code }, cause),
    },
    onTimer,
    givingUp: (_, { key: draftId, cause }) => giveUp(draftId, cause),
  };
}

/**
 * Returns the number of lanes: one per connection for drafts being handed over, one per connection for drafts waiting, and some for steps
 * that need no connection.
 */
const lanesFor = (connections: number): number => Math.max(32, 2 * connections + 12);

/** Returns the draft of an event. Events of threads and deliveries name the draft in their data; a draft's own events are on its stream. */
const draftIdOf = ({ stream, data }: Recorded): string => (data.draftId as string | undefined) ?? idOf(stream);

/** Returns the failure for a refusal that may pass, for example of credentials that the operator can correct. */
const whyLater = ({ code, message, retryAfterSeconds }: Delivery & { phase: "refused" }) => ({
  code: code === "provider_credentials" ? code : "provider_unavailable",
  message,
  waitSeconds: retryAfterSeconds,
});

const refusalOf = ({ code, message }: Delivery & { phase: "refused" }): DraftFailure => ({
  code: code || "provider_refused",
  message,
});

const unconfirmed: DraftFailure = { code: "unconfirmed", message: "it is not known whether the provider accepted it" };
const internal: DraftFailure = { code: "internal", message: "an internal error prevented this mail from being sent" };
