import type { Dependencies } from "#src/commands/dependencies.ts";
import type { Cause } from "#src/commands/handle.ts";
import { learnMessageId } from "#src/commands/sends/deliveryReports.ts";
import { mayLeave, mayLeaveBy, type No, newMessageOf } from "#src/commands/sends/mayLeave.ts";
import { keptFirst, type Loader } from "#src/commands/states/loader.ts";
import { StreamMoved, Unavailable } from "#src/eventStore/eventStore.ts";
import { idInAnswer } from "#src/mail/in/messageIds.ts";
import { CredentialsRefused, NoRoom, type ReadyConnection } from "#src/mail/mailProvider.ts";
import { crashPoint } from "#src/platform/crashPoints.ts";
import { createSingleFlight } from "#src/platform/singleFlight.ts";
import { Rejected } from "#streams/decider.ts";
import type { Delivery, NoConnection } from "#streams/delivery/decider.ts";
import { deliveryStream } from "#streams/delivery/events.ts";
import { undefinedIfLate, unlessAborted } from "./bounded.ts";
import { neverBegun, type OutcomeEvent, outcomeEvent, recordOutcome, unknown } from "./deliveryOutcomes.ts";
import type { DeliverySettings } from "./deliverySettings.ts";
import { type FrozenMail, freezeMail } from "./freezeMail.ts";
import type { ProcessContext, SetAside } from "./process.ts";
import { type Sending, writePermission } from "./writePermission.ts";

/** How a draft fails: its code, and why in words. */
export type Failure = { code: string; message: string };

/**
 * What came of taking an attempt up. `went on`: its delivery's stream tells. `ended`: it was handed over here, and this is recorded of it. Otherwise
 * nothing was handed over under it: something prevents it, there was no room at the provider (NoRoom), it could not be reached, the customer
 * has written again, or the draft cannot be sent.
 */
export type Begun =
  | "went on"
  | { ended: Delivery }
  | SetAside
  | NoRoomMade
  | NoConnectionMade
  | { staleBy: string }
  | { fails: Failure };

/** `lookedAt`: when it was asked whether the mail may leave, by the monotonic clock. */
type Started = { lookedAt: number } | Exclude<Begun, { ended: Delivery }>;

export type NoConnectionMade = { noConnection: NoConnection; message: string };

/** `away`: nobody reaches the provider. `otherwise`: what it comes to for a draft that has waited long enough. */
export type NoRoomMade = { noRoom: { away: boolean; otherwise: NoConnectionMade } };

type Told = Pick<ProcessContext, "cause" | "signal">;

export type HandOvers = {
  /**
   * Takes an attempt up that was not started. Waits for one that is under way in this process already. Throws the signal's reason at once where
   * that is aborted before the start: this instance stops then, another one works on the draft, or it took too long. Whatever it waited for starts
   * nothing afterwards.
   */
  begin(sending: Sending, told: Told): Promise<Begun>;
  /** Takes an attempt over that was started: one that is under way here is waited for; of any other, nobody knows how it ended. */
  takeOver(attemptId: string, delivery: Delivery & { phase: "started" }, cause: Cause): Promise<void>;
  /** Resolves when nothing is under way here for this attempt. */
  ended(attemptId: string): Promise<void>;
};

/**
 * Everything slow, the connection first, comes before the last questions, then `DeliveryStarted`, then the hand-over at once.
 * What the provider answered is recorded however long the event store is away. A run that finds the attempt already started hands nothing
 * over.
 */
export function handOvers(deps: Dependencies, settings: DeliverySettings): HandOvers {
  const { provider, instanceId, handOverSeconds } = settings;
  const runs = createSingleFlight<Begun>();
  /** Starts whose outcome stayed unknown: nothing was handed over after them. By attempt, the fence of the start. */
  const unused = new Map<string, string>();

  async function beginOnce(sending: Sending, told: Told): Promise<Begun> {
    const { draft } = sending;
    const { cause, signal } = told;
    // Asked again below: what cannot be judged yet takes no connection from others meanwhile.
    const { no } = await unlessAborted(signal, mayLeave(deps, { moment: "connected", ...sending }, cause));
    if (no) return begunBy(no);
    const connection = await connectUnlessAborted(signal);
    if (!("handOver" in connection)) {
      // Why there is none says nothing about the provider then.
      signal.throwIfAborted();
      return connection;
    }
    crashPoint("deliver:connected");
    try {
      // Only now: an attempt that waits for a connection keeps no mail in memory.
      const mail = await unlessAborted(signal, freezeMail(deps, draft, draft.attemptId));
      const started = await start(sending, mail, told);
      if (started !== "went on" && "lookedAt" in started)
        return await give(connection, { sending, mail, ...started }, cause);
      connection.discard();
      return started;
    } catch (error) {
      connection.discard();
      // Started or closed by somebody else a moment ago.
      if (error instanceof Rejected && error.code === "send_in_progress") return "went on";
      throw error;
    }
  }

  /** A connection that comes too late is given back. */
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
      if (error instanceof NoRoom) return { noRoom: { away: error.away, otherwise: noConnection(error.lastFailure) } };
      if (!(error instanceof Unavailable)) throw error;
      return noConnection(error);
    }
  }

  /** Asks, and starts unless what it was judged by has moved since: then all of it is asked again. */
  async function start(sending: Sending, mail: FrozenMail, told: Told): Promise<Started> {
    for (;;) {
      try {
        return await keptFirst(deps, (loader) => startBy(loader, { sending, mail }, told));
      } catch (error) {
        if (!(error instanceof StreamMoved) || error.stream === deliveryStream(sending.draft.attemptId)) throw error;
      }
    }
  }

  async function startBy(
    loader: Loader,
    { sending, mail }: { sending: Sending; mail: FrozenMail },
    { cause, signal }: Told,
  ): Promise<Started> {
    const lookedAt = deps.clock.monotonic();
    const verdict = await unlessAborted(signal, mayLeaveBy(loader, { moment: "started", ...sending }, cause));
    if (verdict.no?.question === "claim") {
      if (await unlessAborted(signal, isOver(sending))) return "went on";
      throw new Error(`the claim of attempt ${sending.draft.attemptId} is gone`);
    }
    if (verdict.no) return begunBy(verdict.no);
    signal.throwIfAborted();
    await appendStart(loader.appending(), { sending, mail }, { ...cause, unlessMoved: verdict.guards });
    return { lookedAt };
  }

  /** Somebody else has brought the draft on since it was looked at: that is where its claim went. */
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

  /** Hands over, once and now. Whatever has no answer in time counts as unknown; an answer that comes later is evidence. */
  async function give(
    connection: ReadyConnection,
    { sending, mail, lookedAt }: { sending: Sending; mail: FrozenMail; lookedAt: number },
    cause: Cause,
  ): Promise<Begun> {
    const { attemptId } = sending.draft;
    crashPoint("deliver:started");
    const permission = writePermission(deps, { sending, lookedAt }, cause);
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
    await record(attemptId, unknown(`the hand-over did not end within ${handOverSeconds} s`), cause);
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
      const message = "the hand-over was interrupted: it is unknown whether the provider accepted the mail";
      await record(attemptId, neverUsed ? neverBegun : unknown(message), cause);
      unused.delete(attemptId);
    },
  };
}

/** What a draft is told that got no connection, because of this. */
const noConnection = (failure: Unavailable | undefined): NoConnectionMade =>
  failure instanceof CredentialsRefused
    ? { noConnection: "provider_credentials", message: "the mail provider rejects the service's credentials" }
    : { noConnection: "provider_unavailable", message: "the mail provider cannot be reached" };

/** The end of an attempt that was refused before anything was handed over. */
function begunBy(no: No): SetAside | { staleBy: string } | { fails: Failure } {
  const { question, refusal, obstacle, endedBy = [] } = no;
  if (question === "stale") return { staleBy: newMessageOf(no) };
  if (obstacle === "identity_deleted") {
    return { fails: { code: obstacle, message: "the identity was deleted before the mail was sent" } };
  }
  return obstacle ? { setAside: endedBy } : { fails: { code: refusal.code, message: refusal.message } };
}
