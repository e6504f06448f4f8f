import { type WaitingRequest, waitingRequests } from "#projections/drafts/queries.ts";
import type { ChannelAnswer, Channels } from "#src/channels/channel.ts";
import { noThread } from "#src/mail/out/messageIds.ts";
import type { Draft } from "#streams/draft/draft.ts";
import type { ApprovalRequest } from "#streams/draft/events.ts";
import { answeredBy } from "#streams/draft/notification.ts";
import type { Identity } from "#streams/identity/decider.ts";
import type { ApprovalChannel } from "#streams/identity/events.ts";
import type { Dependencies } from "../dependencies.ts";
import { loadContent } from "../drafts/draftContents.ts";
import type { Cause } from "../handle.ts";
import { isHostedHere } from "./approvalChannels.ts";
import { hashToken } from "./approvalTokens.ts";
import { channelOf, isUnreachedForGood, linkExpiry } from "./askApprovers.ts";
import { listAttempt, listedTokens, newListToken } from "./bundleTokens.ts";
import { requiresHuman } from "./humanApproval.ts";

/** Maximum number of drafts in one mail. Further drafts are asked about in another mail. */
export const maxDraftsPerMail = 500;
/** Maximum number of drafts that a mail lists by subject. */
const mostNamed = 10;
/** Number of drafts that are read or written concurrently. */
const atOnce = 20;

export type BundleQuery = {
  channels: Channels;
  workspaceId: string;
  /** Mailbox in lower case. */
  address: string;
  /** The last request of the previous mail; undefined for the first mail. */
  after: WaitingRequest | undefined;
  /** Returns the milliseconds to wait before the next try, given the number of failed tries; undefined if there is no further try. */
  pauseAfter(triesBefore: number): number | undefined;
};

/** A request that is sent as a separate mail instead of in a bundle. `causedBy`: id of the event that caused the request. */
export type AskedAlone = Pick<WaitingRequest, "slot" | "since"> & { draftId: string; causedBy: string };

export type BundleResult = {
  /** Requests to be sent as separate mails. */
  alone: AskedAlone[];
  /** Milliseconds until the undelivered requests are tried again; undefined if none is tried again. */
  againInMs: number | undefined;
  /** Last request that was read, to continue from; undefined if no more requests are waiting. */
  next: WaitingRequest | undefined;
};

type BundledDraft = {
  row: WaitingRequest;
  draft: Draft;
  asked: ApprovalRequest;
  identity: Identity;
  channel: ApprovalChannel;
  humanRequired: boolean;
  needsCode: boolean;
};

/**
 * Asks a mailbox in one mail about its waiting drafts, at most 500. As for a single draft, the requests and their tokens are recorded
 * before the mail is sent, and the provider's acceptance afterwards. The read models must have reached every request made so far.
 * `isAlone`: selects requests that are sent as separate mails even if others are waiting.
 */
export async function sendBundle(
  deps: Dependencies,
  { isAlone, ...bundle }: BundleQuery & { isAlone(request: WaitingRequest): boolean },
  cause: Cause,
): Promise<BundleResult> {
  const { workspaceId, address, after } = bundle;
  const rows = await waitingRequests(deps.reads, workspaceId, { address, after, most: maxDraftsPerMail });
  const next = rows.length === maxDraftsPerMail ? rows.at(-1) : undefined;
  const found = await inParts(rows, (row) => stillWaiting(deps, row));
  const waiting = found.filter((each) => each !== undefined);
  const isHosted = waiting.length > 0 && (await isHostedHere(deps, address));
  // A code may have become required while the request waited. Each code belongs to one mail and one draft, so such a request is not
  // bundled.
  const together = waiting.filter(({ row, needsCode }) => !isHosted && !needsCode && !isAlone(row));
  if (together.length === 1 && after === undefined) together.length = 0;
  const alone = waiting.filter((each) => !together.includes(each)).map(aloneOf);
  const againInMs = together.length > 0 ? await askIn(deps, { ...bundle, together }, cause) : undefined;
  return { alone, againInMs, next };
}

const aloneOf = ({ row, asked }: BundledDraft): AskedAlone => ({
  draftId: row.draft_id,
  slot: row.slot,
  since: row.since,
  causedBy: asked.causedBy,
});

/**
 * Returns a waiting request with its draft's present state; undefined if the draft was decided or edited meanwhile, or the mailbox no
 * longer belongs to an approver.
 */
async function stillWaiting(deps: Dependencies, row: WaitingRequest): Promise<BundledDraft | undefined> {
  const { state: draft } = await deps.drafts.load(row.draft_id);
  const asked = draft.notified.open[row.notification_id];
  if (draft.status !== "pending" || draft.version !== row.version || asked === undefined) return undefined;
  // Another mail with this request may have been accepted after the read model was read.
  if (draft.notified.answered.includes(answeredBy(asked.causedBy, row.slot))) return undefined;
  const { state: identity } = await deps.identities.load(draft.identityId);
  const channel = channelOf(identity, row.slot);
  const reaches = channel?.type === asked.channel.type && channel.config.to === asked.channel.address;
  if (!reaches || identity.deleted) return undefined;
  const humanRequired = await requiresHuman(deps, identity);
  return { row, draft, asked, identity, channel, humanRequired, needsCode: identity.confirmCode };
}

type RecordedRequest = BundledDraft & { notificationId: string };

/**
 * Asks about these drafts in one mail. Returns the milliseconds until undelivered requests are tried again. Notification quota is taken
 * before anything is recorded. If there is no quota, only requests that escalate to the secondary channel are recorded.
 */
async function askIn(
  deps: Dependencies,
  { channels, workspaceId, together, pauseAfter }: BundleQuery & { together: readonly BundledDraft[] },
  cause: Cause,
): Promise<number | undefined> {
  const listToken = newListToken(deps);
  const attemptId = listAttempt(hashToken(listToken));
  const { channel } = together[0] as BundledDraft;
  const by = channels[channel.type];
  const room = await by.takeRoom?.({ channel, workspaceId, attemptId });
  if (room && "reached" in room) {
    const goesElsewhere = ({ draft, identity, row }: BundledDraft): boolean =>
      isUnreachedForGood(room, { draft, identity, slot: row.slot, lastTry: false });
    const elsewhere = together.filter(goesElsewhere);
    const named = await recordAsked(deps, { together: elsewhere, listToken }, cause);
    await record(deps, { named, answer: room, pauseAfter }, cause);
    return elsewhere.length < together.length ? room.inMs : undefined;
  }
  const named = await recordAsked(deps, { together, listToken }, cause);
  const [first] = named;
  if (first === undefined) {
    await room?.giveBack();
    return undefined;
  }
  const answer = await by.askTogether?.({
    channel,
    count: named.length,
    drafts: await Promise.all(named.slice(0, mostNamed).map((each) => titleOf(deps, each))),
    link: `${deps.settings.publicUrl}/l/${listToken}`,
    humanRequired: named.every(({ humanRequired }) => humanRequired),
    namedOnly: (await deps.workspaces.load(workspaceId)).state.requireNamedApprovers,
    expiresAt: linkExpiry(deps),
    workspaceId,
    origin: { identityId: first.draft.identityId, threadId: noThread, attemptId },
  });
  return record(deps, { named, answer: answer ?? cannot, pauseAfter }, cause);
}

/** Records the requests and returns those whose drafts accepted them. */
async function recordAsked(
  deps: Dependencies,
  { together, listToken }: { together: readonly BundledDraft[]; listToken: string },
  cause: Cause,
): Promise<RecordedRequest[]> {
  const expiresAt = linkExpiry(deps);
  const recorded = await inParts(together, async (waiting) => {
    const { asked: before, draft, row } = waiting;
    const notificationId = deps.ids.uuid();
    const asked: ApprovalRequest = {
      ...before,
      notificationId,
      contentSha256: draft.contentSha256,
      bundled: true,
      ...listedTokens(listToken, notificationId),
      expiresAt,
    };
    const { changed } = await deps.drafts.handle(row.draft_id, { type: "AskApprovers", asked }, cause);
    return changed ? { ...waiting, notificationId } : undefined;
  });
  return recorded.filter((each) => each !== undefined);
}

const cannot: ChannelAnswer = { reached: false, again: false, error: "this channel takes one request at a time" };

/**
 * Returns the subject and recipients of a draft for the mail. If the draft's content is lost, both are empty, so that the mail still asks
 * about the other drafts.
 */
async function titleOf(deps: Dependencies, { draft }: BundledDraft): Promise<{ subject: string; to: string[] }> {
  const { subject, to } = await loadContent(deps.blobs, draft.stored).catch(() => ({ subject: "", to: [] }));
  return { subject, to };
}

/** Records on each draft if the provider accepted the mail. */
async function record(
  deps: Dependencies,
  {
    named,
    answer,
    pauseAfter,
  }: { named: readonly RecordedRequest[]; answer: ChannelAnswer } & Pick<BundleQuery, "pauseAfter">,
  cause: Cause,
): Promise<number | undefined> {
  const pauses = await inParts(named, async ({ row, draft, identity, notificationId }) => {
    if (answer.reached) {
      await deps.drafts.handle(row.draft_id, { type: "RecordNotified", notificationId }, cause);
      return [];
    }
    const pause = pauseAfter(row.tries);
    const final = isUnreachedForGood(answer, { draft, identity, slot: row.slot, lastTry: pause === undefined });
    const failed = { type: "RecordNotificationFailed", error: answer.error, final } as const;
    const waits = answer.inMs !== undefined;
    await deps.drafts.handle(row.draft_id, { ...failed, notificationId, waits }, cause);
    return final ? [] : [answer.inMs ?? pause ?? 0];
  });
  const left = pauses.flat();
  return left.length > 0 ? Math.min(...left) : undefined;
}

/** Processes items in groups of `atOnce`, to be faster than one by one without using all connections. */
async function inParts<T, R>(all: readonly T[], work: (each: T) => Promise<R>): Promise<R[]> {
  const done: R[] = [];
  for (let from = 0; from < all.length; from += atOnce) {
    done.push(...(await Promise.all(all.slice(from, from + atOnce).map(work))));
  }
  return done;
}
