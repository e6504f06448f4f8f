import { setTimeout as sleep } from "node:timers/promises";
import { StreamMoved, Unavailable } from "#src/eventStore/eventStore.ts";
import { crashPoint } from "#src/platform/crashPoints.ts";
import { Rejected } from "#streams/decider.ts";
import { type Draft, requireStatus } from "#streams/draft/draft.ts";
import type { Authorisation, DraftEvent, StoredContent } from "#streams/draft/events.ts";
import { requireDecidedVersion } from "#streams/draft/sending.ts";
import { requireUndoOver } from "#streams/draft/undo.ts";
import { categoryOf } from "#streams/event.ts";
import type { Identity } from "#streams/identity/decider.ts";
import { identityStream } from "#streams/identity/events.ts";
import type { Dependencies } from "../dependencies.ts";
import { type ChangedDraft, changeDraft } from "../drafts/changeDraft.ts";
import { loadContent } from "../drafts/draftContents.ts";
import { bringUpToDate } from "../drafts/refreshContent.ts";
import type { Cause } from "../handle.ts";
import { reserveQuota } from "../plans/quotas.ts";
import { searchTextOf } from "../searchText.ts";
import type { Loaded } from "../states/foldState.ts";
import { freshStates, type Loader, tryCachedFirst } from "../states/loader.ts";
import { claimUnlessAnswered } from "./answeredMeanwhile.ts";
import { claimSend, type SendAttempt } from "./claimSend.ts";
import { countAnswer, decidedWithoutPerson } from "./countAnswer.ts";
import { addKeyApproval } from "./keyApproval.ts";
import {
  decidesOnChange,
  outcomeOfFirstRun,
  type QueuedSend,
  requireNamedVersion,
  type SendIntent,
} from "./repeatedSend.ts";
import { checkDraftSendableWith, recordSendRefusal } from "./sendChecks.ts";
import { undoSend } from "./undoSend.ts";

/** Maximum time in milliseconds to wait until a competing send of the same draft ends. */
const competitorMs = 2_000;

/**
 * Maximum time in milliseconds that a repeated request waits for its first run: longer than it takes to undo an interrupted claim
 * (processes/deliver.ts).
 */
const recoveryMs = 10_000;

/** A requested send: the draft, the kind of authorisation, and conditions that an API key states (`intent`). */
type AskedSend = { draftId: string; kind: Authorisation["kind"]; intent?: SendIntent };

/**
 * Queues a draft for delivery (src/sendPath.md, "Steps"): checks, claims on the thread, reserves quota, queues. If a step refuses, all
 * earlier steps are undone. A repeated request returns the result of its first run if that ended. Each attempt has its own id as a fence.
 * Throws Unavailable, and Rejected: stale_draft, sending_paused, identity_not_active, plan_limit_reached, human_approval_required,
 * approvals_missing, answered_meanwhile, content_changed, version_mismatch, invalid_status, loop_guarded.
 */
export async function queueSend(
  deps: Dependencies,
  { draftId, kind, intent = {} }: AskedSend,
  cause: Cause,
): Promise<QueuedSend> {
  const { repeated = false, ...once } = cause;
  const deadline = deps.clock.monotonic() + (repeated ? recoveryMs : competitorMs);
  for (;;) {
    const earlier = repeated ? await outcomeOfFirstRun(deps, { draftId, intent }, cause) : undefined;
    if (earlier) return earlier;
    try {
      return await queueOnce(deps, { draftId, kind, intent }, once);
    } catch (error) {
      if (error instanceof StreamMoved && categoryOf(error.stream) === "identity") continue;
      // Another send of this draft holds the claim and has not ended yet: its result is also the result of this send.
      if (!(error instanceof Rejected)) throw error;
      // The draft is pending again, so the key's send is judged like that of any pending draft.
      if (error.code === "approval_withdrawn" && kind === "api_key") continue;
      if (error.code !== "send_in_progress") return await endedMeanwhile(error);
      if (deps.clock.monotonic() > deadline) throw stillInProgress(kind);
      await sleep(10);
    }
  }

  /**
   * Returns the first run's result if that run was only slow and has ended meanwhile; it is then what caused this refusal. Throws the
   * refusal otherwise.
   */
  async function endedMeanwhile(refusal: Rejected): Promise<QueuedSend> {
    const earlier = repeated ? await outcomeOfFirstRun(deps, { draftId, intent }, cause) : undefined;
    if (earlier) return earlier;
    throw refusal;
  }
}

/**
 * Returns the error to throw while a competing send is undecided. That send may be this request's own first run, and may have been
 * interrupted, in which case nothing is sent unless the request is repeated. API callers are asked to retry; a process waits for the send's
 * end.
 */
const stillInProgress = (kind: AskedSend["kind"]): Error =>
  kind === "api_key"
    ? new Unavailable("another request to send this draft is still running: retry shortly")
    : new Rejected("invalid_status", "this draft is already being sent");

async function queueOnce(deps: Dependencies, asked: Required<AskedSend>, cause: Cause): Promise<QueuedSend> {
  const claimed = await tryCachedFirst(deps, (loader) => judgeAndClaim(loader, asked, cause));
  crashPoint("send:claimed");
  const { draft, attempt } = claimed;
  try {
    await reserveQuota(deps, { workspaceId: draft.workspaceId, ...attempt }, cause);
    crashPoint("send:reserved");
    const handled = await queueClaimed(deps, { asked, claimed }, cause);
    const { threadId, attemptId } = attempt;
    return { ...handled, threadId, attemptId, queuedAt: deps.clock.now().toISOString() };
  } catch (error) {
    const isRefused = error instanceof Rejected || error instanceof StreamMoved;
    if (isRefused) await undoSend(deps, { draftId: asked.draftId, attempt, because: error.message }, cause);
    throw error;
  }
}

/** A draft that may be sent, the identity state it was judged by, and the claim of its send. */
type ClaimedSend = { draft: Draft; identity: Loaded<Identity>; attempt: SendAttempt };

/** Judges and claims. Throws Unsure if cached states do not suffice and fresh ones must decide. */
async function judgeAndClaim(
  loader: Loader,
  { draftId, kind, intent }: Required<AskedSend>,
  cause: Cause,
): Promise<ClaimedSend> {
  const byKey = kind === "api_key";
  const shown = await bringUpToDate(loader, draftId, cause);
  requireStatus(shown, "sent", "pending", "approved");
  requireUndoOver(shown, loader.clock.now().toISOString());
  requireNamedVersion(shown, intent);
  requireDecidedVersion(shown, decidesOnChange(intent));
  // Judge the same state that is then queued, because an edit may just have revoked an approval.
  const { no, filedUpTo } = await checkDraftSendableWith(
    loader,
    { moment: "queued", draftId, draft: shown, byKey },
    cause,
  );
  if (no) return recordSendRefusal(loader, { draftId, draft: shown, no }, cause);
  const decidedBy = decidedWithoutPerson(shown, byKey);
  // Only the draft says whether a person approved it. An answer that is counted and then refused for another reason is not counted again.
  if (decidedBy !== null)
    await countAnswer(loader.appending("drafts"), { draftId, draft: shown, by: decidedBy }, cause);
  const identity = await loader.identities.load(shown.identityId);
  const counting = { draftId, draft: shown, identity: identity.state };
  const draft = byKey ? await addKeyApproval(loader, counting, cause) : shown;
  const claiming = { draftId, draft, replaces: null, filedUpTo, byKey };
  const attempt = byKey
    ? await claimSend(loader, claiming, cause)
    : await claimUnlessAnswered(
        loader,
        { draftId, draft, claim: (knows) => claimSend(loader, { ...claiming, knows }, cause) },
        cause,
      );
  return { draft, identity, attempt };
}

/** Queues the claimed draft. A send by API key is an approval; how it counts depends on the identity's state that was read. */
async function queueClaimed(
  deps: Dependencies,
  { asked, claimed }: { asked: Required<AskedSend>; claimed: ClaimedSend },
  cause: Cause,
): Promise<ChangedDraft> {
  const { draftId, kind, intent } = asked;
  const { draft, identity, attempt } = claimed;
  const { identityId, messageId, version, contentSha256, stored } = draft;
  const command = {
    type: "QueueDraft",
    queued: {
      ...stored,
      ...(await searchedPartOf(deps, stored)),
      ...attempt,
      identityId,
      messageId,
      version,
      contentSha256,
      authorisation: authorisationOf(draft, kind),
    },
    decides: decidesOnChange(intent),
    approvalsRequired: identity.state.approvalsRequired,
    at: deps.clock.now().toISOString(),
  } as const;
  const unlessMoved = [{ stream: identityStream(identityId), revision: identity.revision }];
  return changeDraft(deps, { draftId, command, recorded: "send:queued" }, { ...cause, unlessMoved });
}

/** Returns what can be searched of a content that is too large for an event. */
async function searchedPartOf(
  { blobs }: Dependencies,
  stored: StoredContent,
): Promise<Pick<Extract<DraftEvent, { type: "DraftQueued" }>["data"], "searchText">> {
  if (stored.content !== null) return {};
  const { subject, body_text } = await loadContent(blobs, stored);
  return { searchText: { subject, body_text: searchTextOf(body_text) } };
}

/**
 * Returns the authorisation to record when the draft is queued. If an API key sends an approved draft, the approval is the authorisation.
 * If there was a quorum, its approvers are named.
 */
function authorisationOf({ approval, version }: Draft, kind: AskedSend["kind"]): Authorisation {
  const decided = approval?.by === "person" || approval?.by === "key" ? approval : null;
  return {
    kind: decided && kind === "api_key" ? "approval" : kind,
    approvedVersion: version,
    ...(decided?.quorum && { quorum: decided.quorum }),
  };
}

/**
 * Claims the draft again to replace a closed attempt, and queues it under the new attempt. Used for every later try: after a temporary
 * failure or an abandoned attempt. If the draft is stale, marks it so and throws Rejected stale_draft. If the automatic approval is no
 * longer valid, throws Rejected approval_withdrawn before the claim; nothing was handed over, and the caller fails the draft.
 */
export async function requeueSend(
  deps: Dependencies,
  { draftId, replaces, tries }: { draftId: string; replaces: string; tries: number },
  cause: Cause,
): Promise<void> {
  const { state: draft } = await deps.drafts.load(draftId);
  if (draft.status !== "sending" || draft.attemptId !== replaces) return;
  const loader = freshStates(deps);
  const { no, filedUpTo } = await checkDraftSendableWith(loader, { moment: "queued again", draftId, draft }, cause);
  if (no) return recordSendRefusal(deps, { draftId, draft, no }, cause);
  const attempt = await claimSend(loader, { draftId, draft, replaces, filedUpTo }, cause);
  crashPoint("send:reclaimed");
  const command = { type: "RequeueDraft", attemptId: attempt.attemptId, replaces, tries } as const;
  await deps.drafts.handle(draftId, command, cause);
}
