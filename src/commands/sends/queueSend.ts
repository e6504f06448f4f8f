import { setTimeout as sleep } from "node:timers/promises";
import { crashPoint } from "#src/crashPoints.ts";
import { StreamMoved, Unavailable } from "#src/eventStore/eventStore.ts";
import { Rejected } from "#streams/decider.ts";
import { type Draft, type Reservation, requireStatus } from "#streams/draft/draft.ts";
import type { Authorisation } from "#streams/draft/events.ts";
import { requireDecided } from "#streams/draft/sending.ts";
import { requireUndoOver } from "#streams/draft/undo.ts";
import { categoryOf } from "#streams/event.ts";
import { identityStream } from "#streams/identity/events.ts";
import type { Dependencies } from "../dependencies.ts";
import { changeDraft } from "../drafts/changeDraft.ts";
import { upToDate } from "../drafts/refreshContent.ts";
import type { Cause } from "../handle.ts";
import { quotaStreamOf, releaseQuota, reserveQuota } from "../plans/quotas.ts";
import { onThread } from "../threads/threads.ts";
import { claimUnlessAnswered } from "./answeredMeanwhile.ts";
import { inboxEnd, waitMs, waitUntilFiled } from "./barrier.ts";
import { approvedByKeysToo } from "./keysApproval.ts";
import { endStale, mayLeave, newMessageOf, refuse } from "./mayLeave.ts";
import { decidesOnChange, outcomeOfFirst, type Queued, requireNamedVersion, type SendersWord } from "./repeatedSend.ts";

/** How long a send waits for a competing send of the same draft to be decided. */
const competitorMs = 2_000;

/** Longer than it takes until a claim whose maker was cut off is undone (processes/deliver.ts). */
const recoveryMs = 10_000;

/** The state between a claim and a queued draft, enough to undo it. */
type Attempt = { attemptId: string; quotaStream: string; reservationId: string; threadId: string };

/** A send that is asked for: of which draft, on whose authority, and what a key says by it. */
type AskedSend = { draftId: string; kind: Authorisation["kind"]; word?: SendersWord };

/**
 * Queues a draft for delivery (src/README.md, "The send path"): asks, claims on the thread, reserves, queues. Whatever is refused on
 * the way leaves nothing behind. Throws Rejected: stale_draft, sending_paused, identity_not_active, plan_limit_reached,
 * human_approval_required, approvals_missing, answered_meanwhile, content_changed, version_mismatch, invalid_status; and Unavailable. A repetition ends
 * as its first run did, where that came to an end; each attempt is fenced by an id of its own.
 */
export async function queueSend(
  deps: Dependencies,
  { draftId, kind, word = {} }: AskedSend,
  cause: Cause,
): Promise<Queued> {
  const { repeated = false, ...once } = cause;
  const deadline = deps.clock.monotonic() + (repeated ? recoveryMs : competitorMs);
  for (;;) {
    const earlier = repeated ? await outcomeOfFirst(deps, { draftId, word }, cause) : undefined;
    if (earlier) return earlier;
    try {
      return await queueOnce(deps, { draftId, kind, word }, once);
    } catch (error) {
      if (error instanceof StreamMoved && categoryOf(error.stream) === "identity") continue;
      // Another send of this draft is between its claim and its end: how it ends decides this one too.
      if (!(error instanceof Rejected)) throw error;
      // It is pending by now: the key's send is judged as that of any pending draft.
      if (error.code === "approval_withdrawn" && kind === "api_key") continue;
      if (error.code !== "send_in_progress") return await endedMeanwhile(error);
      if (deps.clock.monotonic() > deadline) throw stillInProgress(kind);
      await sleep(10);
    }
  }

  /** The first run may be slow, not dead, and have come to its end since this one looked: what refuses this one is then its own effect. */
  async function endedMeanwhile(refusal: Rejected): Promise<Queued> {
    const earlier = repeated ? await outcomeOfFirst(deps, { draftId, word }, cause) : undefined;
    if (earlier) return earlier;
    throw refusal;
  }
}

/**
 * A repetition cannot answer with this: the competitor may be its own first run. Nobody knows yet how the other one ends: it may have been cut off,
 * and then nothing is sent unless somebody asks again. A caller is told to; a process that has met it waits for its end.
 */
const stillInProgress = (kind: AskedSend["kind"]): Error =>
  kind === "api_key"
    ? new Unavailable("another send of this draft has begun and is neither queued nor undone yet: retry shortly")
    : new Rejected("invalid_status", "this draft is already being sent");

async function queueOnce(
  deps: Dependencies,
  { draftId, kind, word }: Required<AskedSend>,
  cause: Cause,
): Promise<Queued> {
  const decides = decidesOnChange(word);
  const byKey = kind === "api_key";
  const shown = await upToDate(deps, draftId, cause);
  requireStatus(shown, "sent", "pending", "approved");
  requireUndoOver(shown, deps.clock.now().toISOString());
  requireNamedVersion(shown, word);
  requireDecided(shown, decides);
  // Judged on the very state that is queued: an edit may have taken an approval back a moment ago.
  const asked = { moment: "queued", draftId, draft: shown, byKey } as const;
  const [{ no, filedUpTo }, { state: identity, revision }] = await Promise.all([
    mayLeave(deps, asked, cause),
    deps.identities.load(shown.identityId),
  ]);
  if (no) return refuse(deps, { draftId, draft: shown, no }, cause);
  const { approvalsRequired } = identity;
  const draft = byKey ? await approvedByKeysToo(deps, { draftId, draft: shown, identity }, cause) : shown;
  const claiming = { draftId, draft, replaces: null, filedUpTo, byKey };
  const attempt = byKey
    ? await claim(deps, claiming, cause)
    : await claimUnlessAnswered(
        deps,
        { draftId, draft, claim: (knows) => claim(deps, { ...claiming, knows }, cause) },
        cause,
      );
  try {
    crashPoint("send:claimed");
    await reserveQuota(deps, { workspaceId: draft.workspaceId, ...attempt }, cause);
    crashPoint("send:reserved");
    const { identityId, messageId, version, contentSha256, stored } = draft;
    const queued = {
      ...stored,
      ...attempt,
      identityId,
      messageId,
      version,
      contentSha256,
      authorisation: authorisationOf(draft, kind),
    };
    const command = {
      type: "QueueDraft",
      queued,
      decides,
      approvalsRequired,
      at: deps.clock.now().toISOString(),
    } as const;
    const queueing = { draftId, command, recorded: "send:queued" } as const;
    // A key's send is an approval: it counts by the identity as it was judged.
    const unlessMoved = [{ stream: identityStream(draft.identityId), revision }];
    const handled = await changeDraft(deps, queueing, { ...cause, unlessMoved });
    const { threadId, attemptId } = attempt;
    return { ...handled, threadId, attemptId, queuedAt: deps.clock.now().toISOString() };
  } catch (error) {
    const isRefused = error instanceof Rejected || error instanceof StreamMoved;
    if (isRefused) await undoSend(deps, { draftId, attempt, because: error.message }, cause);
    throw error;
  }
}

/** A key's send of what is approved is no further authorisation. If several had to approve, it names them. */
function authorisationOf({ approval, version }: Draft, kind: AskedSend["kind"]): Authorisation {
  const decided = approval?.by === "person" || approval?.by === "key" ? approval : null;
  return {
    kind: decided && kind === "api_key" ? "approval" : kind,
    approvedVersion: version,
    ...(decided?.quorum && { quorum: decided.quorum }),
  };
}

/**
 * Claims the draft again in the place of an older attempt that is closed, and queues it under the new one. Used by every later try,
 * after a retry, and after an attempt that was given up. May end stale: then the draft is, and Rejected stale_draft is thrown. Throws Rejected approval_withdrawn before any
 * claim where what approved it without a person does so no more: nothing was handed over, and the caller ends it.
 */
export async function requeueSend(
  deps: Dependencies,
  { draftId, replaces, tries }: { draftId: string; replaces: string; tries: number },
  cause: Cause,
): Promise<void> {
  const { state: draft } = await deps.drafts.load(draftId);
  if (draft.status !== "sending" || draft.attemptId !== replaces) return;
  const { no, filedUpTo } = await mayLeave(deps, { moment: "queued again", draftId, draft }, cause);
  if (no) return refuse(deps, { draftId, draft, no }, cause);
  const attempt = await claim(deps, { draftId, draft, replaces, filedUpTo }, cause);
  crashPoint("send:reclaimed");
  const command = { type: "RequeueDraft", attemptId: attempt.attemptId, replaces, tries } as const;
  await deps.drafts.handle(draftId, command, cause);
}

type Claiming = {
  draftId: string;
  draft: Draft;
  replaces: string | null;
  /** Up to where the inbox was judged. */
  filedUpTo: number;
  byKey?: boolean;
  /** The answers that its approval knows of; absent: none is asked about. */
  knows?: readonly string[];
};

/** Claims the send on the thread, which refuses it if the customer wrote since: nothing that was acknowledged before the claim is in the log is left out. */
async function claim(
  deps: Dependencies,
  { draftId, draft, replaces, filedUpTo, byKey = false, knows }: Claiming,
  cause: Cause,
): Promise<Attempt> {
  const attemptId = deps.ids.uuid();
  const quota = draft.reservation ?? {
    quotaStream: await quotaStreamOf(deps, draft.workspaceId),
    reservationId: attemptId,
  };
  const { version, contentSha256, machineAddresses, basedOnNumber, identityId } = draft;
  const claimed = {
    draftId,
    version,
    contentSha256,
    attemptId,
    quotaStream: quota.quotaStream,
    ...(machineAddresses.length > 0 && { machineAddresses: [...machineAddresses] }),
  };
  const command = { type: "ClaimSend", claim: claimed, basedOnNumber, replaces, ...(knows && { knows }) } as const;
  let threadId: string | undefined;
  try {
    threadId = (await onThread(deps, { threadId: draft.threadId, command }, cause)).threadId;
    // Mail that was acknowledged since the inbox was judged comes before the claim in the log: repeating the claim judges it too.
    if ((await inboxEnd(deps, identityId)) !== filedUpTo) {
      await waitUntilFiled(deps, identityId, waitMs(deps, byKey));
      threadId = (await onThread(deps, { threadId, command }, cause)).threadId;
    }
    return { attemptId, threadId, ...quota };
  } catch (error) {
    if (error instanceof Rejected && error.code === "stale_draft") {
      await endStale(deps, { draftId, draft, newMessageId: newMessageOf({ refusal: error }) }, cause);
      const release = { type: "ReleaseClaim", draftId, attemptId, because: "stale" } as const;
      if (threadId) await onThread(deps, { threadId, command: release }, cause);
    }
    throw error;
  }
}

/** What a draft may still hold: a claim on its thread, and a part of the quota. */
type Holding = { threadId: string; attemptId: string | null; reservation: Reservation | null };

/** Gives back what a draft that ended unsent still holds: its quota first, then its claim. */
export async function giveBack(
  deps: Dependencies,
  { draftId, draft, because }: { draftId: string; draft: Holding; because: string },
  cause: Cause,
): Promise<void> {
  if (draft.reservation) await releaseQuota(deps, draft.reservation, cause);
  if (draft.attemptId) {
    const release = { type: "ReleaseClaim", draftId, attemptId: draft.attemptId, because } as const;
    await onThread(deps, { threadId: draft.threadId, command: release }, cause);
  }
}

/** The first attempt that a draft is queued under reserves its quota, and gives the reservation its id; later ones replace it. */
const wasQueuedUnder = ({ attemptId, reservation }: Draft, attempt: Attempt): boolean =>
  attemptId === attempt.attemptId || reservation?.reservationId === attempt.reservationId;

/**
 * Takes back an attempt that did not come to be queued. The order matters: first the draft refuses that attempt permanently, then its
 * quota, then the claim. An attempt that was queued after all stays as it is.
 */
export async function undoSend(
  deps: Dependencies,
  { draftId, attempt, because }: { draftId: string; attempt: Attempt; because: string },
  cause: Cause,
): Promise<void> {
  const { attemptId, threadId } = attempt;
  const abandon = { type: "AbandonSend", attemptId, because } as const;
  const { state } = await deps.drafts.handle(draftId, abandon, cause);
  if (wasQueuedUnder(state, attempt)) return;
  await releaseQuota(deps, attempt, cause);
  const release = { type: "ReleaseClaim", draftId, attemptId, because } as const;
  await onThread(deps, { threadId, command: release }, cause);
}
