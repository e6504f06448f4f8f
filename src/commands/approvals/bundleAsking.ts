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
import { channelOf, isFinal, linksEnd } from "./askApprovers.ts";
import { listAttempt, listedTokens, newListToken } from "./bundleTokens.ts";
import { requiresHuman } from "./humanApproval.ts";

/** So many drafts at most are asked about in one mail; further ones in a further mail. */
export const mostInOneMail = 500;
/** So many of them the mail itself names. */
const mostNamed = 10;
/** Streams that are read or written at once: the drafts of a mail are independent of each other. */
const atOnce = 20;

export type Bundle = {
  channels: Channels;
  workspaceId: string;
  /** The mailbox, in lower case. */
  address: string;
  /** The last one of the mail before; undefined for the first mail. */
  after: WaitingRequest | undefined;
  /** How long to wait, in milliseconds, after so many failed tries; undefined: that was the last. */
  pauseAfter(triesBefore: number): number | undefined;
};

/** A request that nobody waits with: it goes as ever. `causedBy`: the event that it answers. */
export type AskedAlone = Pick<WaitingRequest, "slot" | "since"> & { draftId: string; causedBy: string };

export type AskedTogether = {
  /** Those that are left to ordinary requests. */
  alone: AskedAlone[];
  /** Milliseconds until those that were not reached are to be tried again; undefined: none is. */
  againInMs: number | undefined;
  /** The last one looked at; undefined: no more are waiting. */
  next: WaitingRequest | undefined;
};

type Waiting = {
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
 * recorded before the mail leaves, and afterwards whether it was taken. The read models have to know every request made so far.
 * `isAlone`: which requests are to go by themselves whatever waits beside them.
 */
export async function askTogether(
  deps: Dependencies,
  { isAlone, ...bundle }: Bundle & { isAlone(request: WaitingRequest): boolean },
  cause: Cause,
): Promise<AskedTogether> {
  const { workspaceId, address, after } = bundle;
  const rows = await waitingRequests(deps.reads, workspaceId, { address, after, most: mostInOneMail });
  const next = rows.length === mostInOneMail ? rows.at(-1) : undefined;
  const found = await inParts(rows, (row) => stillWaiting(deps, row));
  const waiting = found.filter((each) => each !== undefined);
  const isHosted = waiting.length > 0 && (await isHostedHere(deps, address));
  // A code may be asked for since it began to wait. Each code belongs to one mail and one draft.
  const together = waiting.filter(({ row, needsCode }) => !isHosted && !needsCode && !isAlone(row));
  if (together.length === 1 && after === undefined) together.length = 0;
  const alone = waiting.filter((each) => !together.includes(each)).map(aloneOf);
  const againInMs = together.length > 0 ? await askIn(deps, { ...bundle, together }, cause) : undefined;
  return { alone, againInMs, next };
}

const aloneOf = ({ row, asked }: Waiting): AskedAlone => ({
  draftId: row.draft_id,
  slot: row.slot,
  since: row.since,
  causedBy: asked.causedBy,
});

/** What the draft's own stream says: undefined where it was decided or edited meanwhile, or the mailbox approves no more. */
async function stillWaiting(deps: Dependencies, row: WaitingRequest): Promise<Waiting | undefined> {
  const { state: draft } = await deps.drafts.load(row.draft_id);
  const asked = draft.notified.open[row.notification_id];
  if (draft.status !== "pending" || draft.version !== row.version || asked === undefined) return undefined;
  // Another mail may have been taken since the read model was asked.
  if (draft.notified.answered.includes(answeredBy(asked.causedBy, row.slot))) return undefined;
  const { state: identity } = await deps.identities.load(draft.identityId);
  const channel = channelOf(identity, row.slot);
  const reaches = channel?.type === asked.channel.type && channel.config.to === asked.channel.address;
  if (!reaches || identity.deleted) return undefined;
  const humanRequired = await requiresHuman(deps, identity);
  return { row, draft, asked, identity, channel, humanRequired, needsCode: identity.confirmCode };
}

type Named = Waiting & { notificationId: string };

/**
 * Milliseconds until those that were not reached are to be tried again. A place in the measure of mail is taken before anything is recorded. Without
 * one, only what goes to the secondary channel instead is on record.
 */
async function askIn(
  deps: Dependencies,
  { channels, workspaceId, together, pauseAfter }: Bundle & { together: readonly Waiting[] },
  cause: Cause,
): Promise<number | undefined> {
  const listToken = newListToken(deps);
  const attemptId = listAttempt(hashToken(listToken));
  const { channel } = together[0] as Waiting;
  const by = channels[channel.type];
  const room = await by.takeRoom?.({ channel, workspaceId, attemptId });
  if (room && "reached" in room) {
    const goesElsewhere = ({ draft, identity, row }: Waiting): boolean =>
      isFinal(room, { draft, identity, slot: row.slot, lastTry: false });
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
    expiresAt: linksEnd(deps),
    workspaceId,
    origin: { identityId: first.draft.identityId, threadId: noThread, attemptId },
  });
  return record(deps, { named, answer: answer ?? cannot, pauseAfter }, cause);
}

/** Those of the drafts about which the request is on record now. */
async function recordAsked(
  deps: Dependencies,
  { together, listToken }: { together: readonly Waiting[]; listToken: string },
  cause: Cause,
): Promise<Named[]> {
  const expiresAt = linksEnd(deps);
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

/** One whose content is lost does not keep the others from being asked about. */
async function titleOf(deps: Dependencies, { draft }: Waiting): Promise<{ subject: string; to: string[] }> {
  const { subject, to } = await loadContent(deps.blobs, draft.stored).catch(() => ({ subject: "", to: [] }));
  return { subject, to };
}

/** Whether the mail was taken, on each of its drafts. */
async function record(
  deps: Dependencies,
  { named, answer, pauseAfter }: { named: readonly Named[]; answer: ChannelAnswer } & Pick<Bundle, "pauseAfter">,
  cause: Cause,
): Promise<number | undefined> {
  const pauses = await inParts(named, async ({ row, draft, identity, notificationId }) => {
    if (answer.reached) {
      await deps.drafts.handle(row.draft_id, { type: "RecordNotified", notificationId }, cause);
      return [];
    }
    const pause = pauseAfter(row.tries);
    const final = isFinal(answer, { draft, identity, slot: row.slot, lastTry: pause === undefined });
    const failed = { type: "RecordNotificationFailed", error: answer.error, final } as const;
    const waits = answer.inMs !== undefined;
    await deps.drafts.handle(row.draft_id, { ...failed, notificationId, waits }, cause);
    return final ? [] : [answer.inMs ?? pause ?? 0];
  });
  const left = pauses.flat();
  return left.length > 0 ? Math.min(...left) : undefined;
}

/** So that hundreds of drafts take neither hundreds of turns one after the other nor all connections at once. */
async function inParts<T, R>(all: readonly T[], work: (each: T) => Promise<R>): Promise<R[]> {
  const done: R[] = [];
  for (let from = 0; from < all.length; from += atOnce) {
    done.push(...(await Promise.all(all.slice(from, from + atOnce).map(work))));
  }
  return done;
}
