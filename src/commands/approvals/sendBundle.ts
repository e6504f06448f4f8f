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

/** Largest number of drafts in one mail; further ones are asked about in another mail. */
export const maxDraftsPerMail = 500;
/** Largest number of drafts that the mail lists by subject. */
const mostNamed = 10;
/** Drafts read or written at once: the drafts of a mail are independent of each other. */
const atOnce = 20;

export type BundleQuery = {
  channels: Channels;
  workspaceId: string;
  /** The mailbox, in lower case. */
  address: string;
  /** The last request of the previous mail; undefined for the first mail. */
  after: WaitingRequest | undefined;
  /** Returns the milliseconds to wait after so many failed tries; undefined: that was the last. */
  pauseAfter(triesBefore: number): number | undefined;
};

/** A request sent on its own instead of bundled. `causedBy`: id of the event that it answers. */
export type AskedAlone = Pick<WaitingRequest, "slot" | "since"> & { draftId: string; causedBy: string };

export type BundleResult = {
  /** Requests to be sent as ordinary ones. */
  alone: AskedAlone[];
  /** Milliseconds until the requests that were not delivered are tried again; undefined: none is. */
  againInMs: number | undefined;
  /** The last request read; undefined: no more are waiting. */
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
 * Asks in one mail about the drafts that wait for it at a mailbox, at most 500. As with a single draft, the requests and their tokens are
 * recorded before the mail is sent, and afterwards its acceptance. The read models must have reached every request made so far. `isAlone`:
 * selects requests to be sent on their own regardless of others.
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
  // A code may have been required since the request began to wait; each code belongs to one mail and one draft.
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
 * Reads a waiting request from its draft's stream: undefined if the draft was decided or edited
 * meanwhile, or the mailbox is no approver any more.
 */
async function stillWaiting(deps: Dependencies, row: WaitingRequest): Promise<BundledDraft | undefined> {
  const { state: draft } = await deps.drafts.load(row.draft_id);
  const asked = draft.notified.open[row.notification_id];
  if (draft.status !== "pending" || draft.version !== row.version || asked === undefined) return undefined;
  // Another mail may have been accepted since the read model was read.
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
 * Returns the milliseconds until the requests that were not delivered are tried again. Notification quota is taken before anything is
 * recorded. Without quota, only requests that move to the secondary channel are recorded.
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

/** Returns subject and recipients for the mail; empty ones if the content is lost, so that the other drafts are still asked about. */
async function titleOf(deps: Dependencies, { draft }: BundledDraft): Promise<{ subject: string; to: string[] }> {
  const { subject, to } = await loadContent(deps.blobs, draft.stored).catch(() => ({ subject: "", to: [] }));
  return { subject, to };
}

/** Records on each draft if the mail was accepted. */
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

/** Processes items in groups of `atOnce`: neither one by one nor with all connections at once. */
async function inParts<T, R>(all: readonly T[], work: (each: T) => Promise<R>): Promise<R[]> {
  const done: R[] = [];
  for (let from = 0; from < all.length; from += atOnce) {
    done.push(...(await Promise.all(all.slice(from, from + atOnce).map(work))));
  }
  return done;
}
