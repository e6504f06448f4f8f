import { withdrawalOf } from "#src/commands/approvals/approvalStanding.ts";
import type { Dependencies } from "#src/commands/dependencies.ts";
import type { Cause } from "#src/commands/handle.ts";
import { rulesWaitMs, waitUntilFiled } from "#src/commands/sends/barrier.ts";
import { learnMessageId } from "#src/commands/sends/deliveryReports.ts";
import { lookAnew } from "#src/commands/sends/lookAnew.ts";
import { type Standing, sendingStanding } from "#src/commands/sends/sendingAllowed.ts";
import { oneLook } from "#src/commands/states/oneLook.ts";
import { crashPoint } from "#src/crashPoints.ts";
import { StreamMoved, Unavailable } from "#src/eventStore/eventStore.ts";
import { idInAnswer } from "#src/mail/in/messageIds.ts";
import { CredentialsRefused, NoRoom, type ReadyConnection } from "#src/mail/mailProvider.ts";
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

export type NoConnectionMade = { noConnection: NoConnection; message: string };

/** `away`: nobody reaches the provider. `otherwise`: what it comes to for a draft that has waited long enough. */
export type NoRoomMade = { noRoom: { away: boolean; otherwise: NoConnectionMade } };

type Told = Pick<ProcessContext, "cause" | "signal">;

/** What was asked for together with the draft. */
export type Seen = { look: Dependencies; inboxEnd?: Promise<number> | undefined };

export type HandOvers = {
  /**
   * Takes an attempt up that was not started. Waits for one that is under way in this process already. Throws the signal's reason at once where
   * that is aborted before the start: this instance stops then, another one works on the draft, or it took too long. Whatever it waited for starts
   * nothing afterwards. `look`: at the sender, just now; `inboxEnd`: of then.
   */
  begin(sending: Sending & Seen, told: Told): Promise<Begun>;
  /** Takes an attempt over that was started: one that is under way here is waited for; of any other, nobody knows how it ended. */
  takeOver(attemptId: string, delivery: Delivery & { phase: "started" }, cause: Cause): Promise<void>;
  /** Resolves when nothing is under way here for this attempt. */
  ended(attemptId: string): Promise<void>;
};

/**
 * Everything slow, the connection first, comes before the look at thread and inbox, then `DeliveryStarted`, then the hand-over at once.
 * What the provider answered is recorded however long the event store is away. A run that finds the attempt already started hands nothing
 * over.
 */
export function handOvers(deps: Dependencies, settings: DeliverySettings): HandOvers {
  const { provider, instanceId, handOverSeconds } = settings;
  const underWay = new Map<string, Promise<Begun>>();
  /** Starts whose outcome stayed unknown: nothing was handed over after them. By attempt, the fence of the start. */
  const unused = new Map<string, string>();

  async function beginOnce({ look, inboxEnd, ...sending }: Sending & Seen, told: Told): Promise<Begun> {
    const { draft } = sending;
    const { cause, signal } = told;
    const hindrance = hindranceOf(await unlessAborted(signal, sendingStanding(look, draft)));
    if (hindrance) return hindrance;
    // Looked at again below: what cannot be judged yet takes no connection from others meanwhile.
    await unlessAborted(signal, waitUntilFiled(deps, draft.identityId, { withinMs: rulesWaitMs, end: inboxEnd }));
    const connection = await connectUnlessAborted(signal);
    if (!("handOver" in connection)) {
      // Why there is none says nothing about the provider then.
      signal.throwIfAborted();
      return connection;
    }
    crashPoint("deliver:connected");
    try {
      // Only now: an attempt that waits for a connection keeps no mail in memory.
      const mail = await unlessAborted(signal, freezeMail(look, draft, draft.attemptId));
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

  /** Looks, and starts unless workspace or identity have moved since they were judged: then all of it is looked at again. */
  async function start(
    sending: Sending,
    mail: FrozenMail,
    { cause, signal }: Told,
  ): Promise<{ lookedAt: number } | Exclude<Begun, { ended: Delivery }>> {
    const { draftId, draft } = sending;
    for (;;) {
      const lookedAt = deps.clock.monotonic();
      // Of one look, so that the guards are of what the approval was judged by, too.
      const besides = async () => {
        const now = oneLook(deps);
        const [withdrawal, standing] = await Promise.all([
          withdrawalOf(now, draftId, draft),
          sendingStanding(now, draft),
        ]);
        return { withdrawal, standing };
      };
      const look = await unlessAborted(signal, lookAnew(deps, { ...sending, besides }, cause));
      if (look.is === "stale") return { staleBy: look.newMessageId };
      if (look.is === "not claimed") {
        if (await unlessAborted(signal, isOver(sending))) return "went on";
        throw new Error(`the claim of attempt ${draft.attemptId} is gone`);
      }
      const { withdrawal, standing } = look;
      if (withdrawal !== null) return { fails: { code: "approval_withdrawn", message: withdrawal.because } };
      const hindrance = hindranceOf(standing);
      if (hindrance) return hindrance;
      signal.throwIfAborted();
      try {
        await appendStart(sending, mail, { ...cause, unlessMoved: standing.guards });
        return { lookedAt };
      } catch (error) {
        if (!(error instanceof StreamMoved) || error.stream === deliveryStream(draft.attemptId)) throw error;
      }
    }
  }

  /** Somebody else has brought the draft on since it was looked at: that is where its claim went. */
  async function isOver({ draftId, draft }: Sending): Promise<boolean> {
    const { state: now } = await deps.drafts.load(draftId);
    return now.status !== "sending" || now.attemptId !== draft.attemptId;
  }

  async function appendStart({ draftId, draft }: Sending, mail: FrozenMail, cause: Cause): Promise<void> {
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
      await deps.deliveries.handle(draft.attemptId, { type: "StartDelivery", started }, cause);
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
    await underWay.get(attemptId)?.catch(() => undefined);
  }

  return {
    ended,
    async begin(sending, told) {
      const { attemptId } = sending.draft;
      if (underWay.has(attemptId)) {
        await ended(attemptId);
        return "went on";
      }
      const run = beginOnce(sending, told).finally(() => underWay.delete(attemptId));
      underWay.set(attemptId, run);
      return run;
    },
    async takeOver(attemptId, { started }, cause) {
      if (underWay.has(attemptId)) return ended(attemptId);
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

/** What to do about an obstacle; undefined if there is none. */
function hindranceOf({ state, obstacles }: Standing): SetAside | { fails: Failure } | undefined {
  if (state === "allowed") return undefined;
  if (state !== "identity_deleted") return { setAside: obstacles };
  return { fails: { code: state, message: "the identity was deleted before the mail was sent" } };
}
