import type { Dependencies } from "#src/commands/dependencies.ts";
import type { Cause } from "#src/commands/handle.ts";
import { learnMessageId } from "#src/commands/sends/deliveryReports.ts";
import {
  checkDraftSendable,
  checkDraftSendableWith,
  newerMessageIn,
  type SendRefusal,
} from "#src/commands/sends/sendChecks.ts";
import { type Loader, tryCachedFirst } from "#src/commands/states/loader.ts";
import { StreamMoved, Unavailable } from "#src/eventStore/eventStore.ts";
import { idInAnswer } from "#src/mail/in/messageIds.ts";
import { CredentialsRefused, NoRoom, type ReadyConnection } from "#src/mail/mailProvider.ts";
import { crashPoint } from "#src/platform/crashPoints.ts";
import { createSingleFlight } from "#src/platform/singleFlight.ts";
import { Rejected } from "#streams/decider.ts";
import type { Delivery, NoConnection } from "#streams/delivery/decider.ts";
import { deliveryStream } from "#streams/delivery/events.ts";
import { notBegunOutcome, type OutcomeEvent, outcomeEvent, recordOutcome, unknownOutcome } from "./deliveryOutcomes.ts";
import type { DeliverySettings } from "./deliverySettings.ts";
import { type FrozenMail, freezeMail } from "./freezeMail.ts";
import type { ProcessContext, SetAside } from "./process.ts";
import { undefinedIfLate, unlessAborted } from "./timeLimits.ts";
import { createWritePermission, type Sending } from "./writePermission.ts";

/** Reason why a draft fails: its code, and a sentence. */
export type DraftFailure = { code: string; message: string };

/**
 * Result of beginning an attempt. `went on`: another run took the attempt over; the delivery's stream says how it ended. `ended`: the mail
 * was handed over here, with this recorded state. Otherwise nothing was handed over: an obstacle prevents it (SetAside), there was no room
 * at the provider (NoRoomMade), the provider could not be reached (NoConnectionMade), the customer wrote again (`staleBy`), or the draft
 * cannot be sent (`fails`).
 */
export type BeginResult =
  | "went on"
  | { ended: Delivery }
  | SetAside
  | NoRoomMade
  | NoConnectionMade
  | { staleBy: string }
  | { fails: DraftFailure };

/** `lookedAt`: monotonic time of the check that the mail may be sent. */
type StartResult = { lookedAt: number } | Exclude<BeginResult, { ended: Delivery }>;

export type NoConnectionMade = { noConnection: NoConnection; message: string };

/** `away`: true if the provider is unreachable for everyone. `otherwise`: result to use if the draft has waited long enough. */
export type NoRoomMade = { noRoom: { away: boolean; otherwise: NoConnectionMade } };

type HandOverContext = Pick<ProcessContext, "cause" | "signal">;

export type HandOvers = {
  /**
   * Begins an attempt that was not started; if it is already running in this operating-system process, waits for it. If the signal is
   * aborted before the start (shutdown, takeover by another instance, or timeout), throws the signal's reason at once, and work that is
   * still running then starts nothing.
   */
  begin(sending: Sending, told: HandOverContext): Promise<BeginResult>;
  /** Takes over a started attempt. If the attempt is running here, waits for it; otherwise records its outcome as unknown. */
  takeOver(attemptId: string, delivery: Delivery & { phase: "started" }, cause: Cause): Promise<void>;
  /** Resolves when this attempt is not running here. */
  ended(attemptId: string): Promise<void>;
};

/**
 * Creates the functions that hand mail over. Everything slow is done before the last checks, connecting first; then `DeliveryStarted` is
 * recorded and the mail is handed over at once. The provider's response is recorded however long the event store is unreachable. A run that
 * finds the attempt already started hands nothing over.
 */
export function createHandOvers(deps: Dependencies, settings: DeliverySettings): HandOvers {
  const { provider, instanceId, handOverSeconds } = settings;
  const runs = createSingleFlight<BeginResult>();
  /** By attempt, the fence of a start for which it is unknown if it was appended. Nothing was handed over after such a start. */
  const unused = new Map<string, string>();

  async function beginOnce(sending: Sending, told: HandOverContext): Promise<BeginResult> {
    const { draft } = sending;
    const { cause, signal } = told;
    // The same check is repeated below. This early one keeps a draft that cannot be sent now from taking a connection.
    const { no } = await unlessAborted(signal, checkDraftSendable(deps, { moment: "connected", ...sending }, cause));
    if (no) return begunBy(no);
    const connection = await connectUnlessAborted(signal);
    if (!("handOver" in connection)) {
      // After an abort, a missing connection says nothing about the provider.
      signal.throwIfAborted();
      return connection;
    }
    crashPoint("deliver:connected");
    try {
      // The mail is rendered only now, so that an attempt that waits for a connection keeps no mail in memory.
      const mail = await unlessAborted(signal, freezeMail(deps, draft, draft.attemptId));
      const started = await start(sending, mail, told);
      if (started !== "went on" && "lookedAt" in started)
        return await give(connection, { sending, mail, ...started }, cause);
      connection.discard();
      return started;
    } catch (error) {
      connection.discard();
      // Another run has just started or closed the attempt.
      if (error instanceof Rejected && error.code === "send_in_progress") return "went on";
      throw error;
    }
  }

  /** Returns a connection. On abort, throws at once, and discards a connection that arrives later. */
  async function connectUnlessAborted(signal: AbortSignal): ReturnType<typeof connect> {
    const connecting = connect();
    try {
      return await unlessAborted(signal, connecting);
    } catch (error) {
      void connecting.then((late) => "handOver" in late && late.discard()).catch(() => undefined);
      throw error;
    }
  }

  async function connect(): Promise<ReadyConnection | NoConnectionMade | NoRoomMade> {
    try {
      return await provider.connect({ comesBack: true });
    } catch (error) {
      if (error instanceof NoRoom)
        return { noRoom: { away: error.away, otherwise: noConnection(error.lastFailure ?? error) } };
      if (!(error instanceof Unavailable)) throw error;
      return noConnection(error);
    }
  }

  /** Checks the draft, then starts the attempt. If a checked stream has moved, repeats both. */
  async function start(sending: Sending, mail: FrozenMail, told: HandOverContext): Promise<StartResult> {
    for (;;) {
      try {
        return await tryCachedFirst(deps, (loader) => startBy(loader, { sending, mail }, told));
      } catch (error) {
        if (!(error instanceof StreamMoved) || error.stream === deliveryStream(sending.draft.attemptId)) throw error;
      }
    }
  }

  async function startBy(
    loader: Loader,
    { sending, mail }: { sending: Sending; mail: FrozenMail },
    { cause, signal }: HandOverContext,
  ): Promise<StartResult> {
    const lookedAt = deps.clock.monotonic();
    const verdict = await unlessAborted(
      signal,
      checkDraftSendableWith(loader, { moment: "started", ...sending }, cause),
    );
    if (verdict.no?.question === "claim") {
      if (await unlessAborted(signal, isOver(sending))) return "went on";
      throw new Error(`the claim of attempt ${sending.draft.attemptId} is gone`);
    }
    if (verdict.no) return begunBy(verdict.no);
    signal.throwIfAborted();
    await appendStart(loader.appending(), { sending, mail }, { ...cause, unlessMoved: verdict.guards });
    return { lookedAt };
  }

  /** Returns true if another run has moved the draft on meanwhile, so that the missing claim is explained. */
  async function isOver({ draftId, draft }: Sending): Promise<boolean> {
    const { state: now } = await deps.drafts.load(draftId);
    return now.status !== "sending" || now.attemptId !== draft.attemptId;
  }

  async function appendStart(
    appending: Dependencies,
    { sending: { draftId, draft }, mail }: { sending: Sending; mail: FrozenMail },
    cause: Cause,
  ): Promise<void> {
    const fence = deps.ids.uuid();
    const started = {
      draftId,
      threadId: draft.threadId,
      version: draft.version,
      contentSha256: draft.contentSha256,
      provider: provider.name,
      rfcMessageId: mail.messageId,
      mimeSha256: mail.mimeSha256,
      instanceId,
      fence,
    };
    try {
      await appending.deliveries.handle(draft.attemptId, { type: "StartDelivery", started }, cause);
    } catch (error) {
      if (error instanceof Unavailable) unused.set(draft.attemptId, fence);
      throw error;
    }
  }

  /**
   * Hands the mail over, once. If the provider does not respond in time, the outcome counts as unknown; a later response is recorded as
   * evidence.
   */
  async function give(
    connection: ReadyConnection,
    { sending, mail, lookedAt }: { sending: Sending; mail: FrozenMail; lookedAt: number },
    cause: Cause,
  ): Promise<BeginResult> {
    const { attemptId } = sending.draft;
    crashPoint("deliver:started");
    const permission = createWritePermission(deps, { sending, lookedAt }, cause);
    const { envelope, mime, messageId, letter } = mail;
    const handing = connection.handOver({ attemptId, envelope, messageId, mime, letter }, permission.mayWrite);
    const outcome = await undefinedIfLate(handOverSeconds * 1000, handing);
    if (outcome) {
      crashPoint("deliver:handed-over");
      const ended = await record(attemptId, outcomeEvent(outcome, permission.isWithheld()), cause);
      crashPoint("deliver:recorded");
      return { ended };
    }
    permission.giveUp();
    void handing
      .then((late) => record(attemptId, outcomeEvent(late, permission.isWithheld()), cause))
      .catch(() => undefined);
    await record(attemptId, unknownOutcome(`the hand-over did not end within ${handOverSeconds} s`), cause);
    return "went on";
  }

  async function record(attemptId: string, outcome: OutcomeEvent, cause: Cause) {
    const ended = await recordOutcome(deps, { attemptId, outcome }, cause);
    const rfcMessageId = outcome.type === "DeliveryAccepted" ? idInAnswer(outcome.data.response) : undefined;
    if (rfcMessageId !== undefined) await learnMessageId(deps, { attemptId, rfcMessageId }, cause);
    return ended;
  }

  async function ended(attemptId: string): Promise<void> {
    await runs.underWay(attemptId)?.catch(() => undefined);
  }

  return {
    ended,
    async begin(sending, told) {
      const { attemptId } = sending.draft;
      if (runs.underWay(attemptId)) {
        await ended(attemptId);
        return "went on";
      }
      return runs.run(attemptId, () => beginOnce(sending, told));
    },
    async takeOver(attemptId, { started }, cause) {
      if (runs.underWay(attemptId)) return ended(attemptId);
      const neverUsed = unused.get(attemptId) === started.fence;
      const message = "the hand-over was interrupted: it is not known whether the provider accepted the mail";
      await record(attemptId, neverUsed ? notBegunOutcome : unknownOutcome(message), cause);
      unused.delete(attemptId);
    },
  };
}

/** Result for a draft that got no connection. The message says why, without secrets. */
const noConnection = (failure: Unavailable): NoConnectionMade => ({
  noConnection: failure instanceof CredentialsRefused ? "provider_credentials" : "provider_unavailable",
  message: failure.message,
});

/** Converts a refusal by the checks before the start to the result of the attempt. */
function begunBy(no: SendRefusal): SetAside | { staleBy: string } | { fails: DraftFailure } {
  const { question, refusal, obstacle, endedBy = [] } = no;
  if (question === "stale") return { staleBy: newerMessageIn(no) };
  if (obstacle === "identity_deleted") {
    return { fails: { code: obstacle, message: "the identity was deleted before the mail was sent" } };
  }
  return obstacle ? { setAside: endedBy } : { fails: { code: refusal.code, message: refusal.message } };
}
