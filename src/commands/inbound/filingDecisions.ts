import { chainsOf, type KnownMessage, messagesWithIds, survivorsOf } from "#projections/chains/queries.ts";
import { readEvents } from "#src/eventStore/eventStore.ts";
import type { FilingDecision, FilingEvent } from "#streams/filing/events.ts";
import { filingStream } from "#streams/filing/events.ts";
import type { MailHeaders } from "#streams/inbox/events.ts";
import type { Dependencies } from "../dependencies.ts";

/** A received mail that waits for its decision. `unreadable`: why it has to be filed by its raw headers alone. */
export type Unfiled = {
  deliveryId: string;
  inboxRevision: number;
  inboxPosition: number;
  headers: MailHeaders;
  unreadable: string | null;
};

/** What an identity's filing knows of Message-IDs and threads; it grows with each decision of a page. */
type Chains = {
  threadOf: Map<string, string>;
  openedNumber: Map<string, number>;
  mergedInto: Map<string, string>;
  messages: KnownMessage[];
};

/**
 * Decides where each mail of a page belongs, in order. The chain index may lag behind; the decisions it has not seen yet are read
 * from the filing stream itself, so that two mails in a row find each other.
 */
export async function decideFilings(
  deps: Dependencies,
  { identityId, lastNumber, page }: { identityId: string; lastNumber: number; page: readonly Unfiled[] },
): Promise<FilingDecision[]> {
  const ids = [...new Set(page.flatMap(({ headers }) => [headers.messageId, ...namedIds(deps, identityId, headers)]))];
  const known = await chainsOf(deps.reads, identityId, ids);
  const chains: Chains = {
    threadOf: known.threadOf,
    openedNumber: known.openedNumber,
    mergedInto: new Map(),
    messages: await messagesWithIds(deps.reads, identityId, ids),
  };
  // Our own Message-IDs name a thread without a look-up; whether it still stands on its own has to be looked up.
  const own = ids.map((id) => ownMail(deps, identityId, [id])?.threadId).filter((id) => id !== undefined);
  for (const { threadId, survivorId, openedNumber } of await survivorsOf(deps.reads, [...new Set(own)])) {
    chains.openedNumber.set(survivorId, openedNumber);
    if (survivorId !== threadId) chains.mergedInto.set(threadId, survivorId);
  }
  for (const event of await newerDecisions(deps, identityId, known.revision)) learn(chains, event);
  let number = lastNumber;
  return page.map((mail) => {
    const decision = decideFiling(deps, { identityId, number: ++number, mail }, chains);
    learn(chains, decision);
    return decision;
  });
}

/**
 * The ids by which a mail belongs to a thread. A bounce belongs where the mail of ours is that it reports, else where its References say. An id
 * that it reports and that is not ours counts only where it names nothing else, and then the first alone: several could join threads that
 * have nothing to do with each other. The headers alone decide, never what is known so far: else the order of arrival would count.
 */
function namedIds(deps: Dependencies, identityId: string, headers: MailHeaders): string[] {
  const { classification, reportedMessageIds, threadIds } = headers;
  if (classification !== "bounce") return threadIds;
  const own = reportedMessageIds.filter((id) => ownMail(deps, identityId, [id]) !== undefined);
  if (own.length > 0) return own;
  return threadIds.length > 0 ? threadIds : reportedMessageIds.slice(0, 1);
}

async function newerDecisions(deps: Dependencies, identityId: string, revision: number): Promise<FilingDecision[]> {
  const events = await readEvents<FilingEvent>(deps.store, filingStream(identityId), { from: revision + 1 });
  return events.flatMap((event) => (event.type === "FilingDecided" ? [event.data] : []));
}

function learn(chains: Chains, decision: FilingDecision): void {
  const { threadId, opensThread, number, absorbs, chainIds, disposition } = decision;
  if (opensThread) chains.openedNumber.set(threadId, number);
  for (const absorbed of absorbs) chains.mergedInto.set(absorbed, threadId);
  for (const id of chainIds) if (!chains.threadOf.has(id)) chains.threadOf.set(id, threadId);
  if (disposition === "duplicate") return;
  const { rfcMessageId, contentDigest, messageId } = decision;
  chains.messages.push({ rfcMessageId, contentDigest, messageId });
}

function survivor(chains: Chains, threadId: string): string {
  let id = threadId;
  for (let next = chains.mergedInto.get(id); next !== undefined; next = chains.mergedInto.get(id)) id = next;
  return id;
}

function decideFiling(
  deps: Dependencies,
  { identityId, number, mail }: { identityId: string; number: number; mail: Unfiled },
  chains: Chains,
): FilingDecision {
  const { headers, deliveryId, inboxRevision, inboxPosition, unreadable } = mail;
  const { messageId: rfcMessageId, contentDigest } = headers;
  const sameId = chains.messages.filter((known) => known.rfcMessageId === rfcMessageId);
  const again = sameId.find((known) => known.contentDigest === contentDigest);
  const own = headers.messageIdDerived ? [] : [rfcMessageId];
  const named = namedIds(deps, identityId, headers);
  const chainIds = [...new Set([rfcMessageId, ...named])];
  const threads = threadsOf(deps, { identityId, ids: [...own, ...named] }, chains);
  const [oldest, ...absorbs] = threads;
  const common = { number, deliveryId, inboxRevision, inboxPosition, rfcMessageId, contentDigest };
  if (again) {
    return {
      ...common,
      disposition: "duplicate",
      reason: "this message was already received",
      messageId: again.messageId,
      threadId: oldest ?? survivor(chains, chains.threadOf.get(rfcMessageId) ?? ""),
      opensThread: false,
      absorbs: [],
      chainIds: [],
      reviewReason: null,
      bouncedAttemptId: null,
    };
  }
  const isBounce = headers.classification === "bounce";
  return {
    ...common,
    disposition: unreadable === null ? "threaded" : "quarantined",
    reason: unreadable,
    messageId: deps.ids.uuid(),
    threadId: oldest ?? deps.ids.uuid(),
    opensThread: oldest === undefined,
    absorbs,
    chainIds,
    reviewReason: reviewReason(headers, {
      sameIdOtherContent: sameId.length > 0,
      absorbed: absorbs.length,
      unreadable,
    }),
    bouncedAttemptId: isBounce ? (ownMail(deps, identityId, headers.reportedMessageIds)?.attemptId ?? null) : null,
  };
}

/** The threads these ids lead to today, the one opened first at the front. */
function threadsOf(
  deps: Dependencies,
  { identityId, ids }: { identityId: string; ids: readonly string[] },
  chains: Chains,
): string[] {
  const found = new Set<string>();
  for (const id of ids) {
    const known = chains.threadOf.get(id);
    const origin = known === undefined ? ownMail(deps, identityId, [id]) : undefined;
    const threadId = known ?? origin?.threadId;
    if (threadId !== undefined) found.add(survivor(chains, threadId));
  }
  const opened = (threadId: string) => chains.openedNumber.get(threadId) ?? 0;
  return [...found].sort((a, b) => opened(a) - opened(b) || (a < b ? -1 : 1));
}

/** Our own Message-IDs carry where they come from; another identity's means nothing here. */
function ownMail(deps: Dependencies, identityId: string, ids: readonly string[]) {
  for (const id of ids) {
    const origin = deps.messageIds.open(id);
    if (origin?.identityId === identityId) return origin;
  }
  return undefined;
}

function reviewReason(
  headers: MailHeaders,
  found: { sameIdOtherContent: boolean; absorbed: number; unreadable: string | null },
): string | null {
  if (found.unreadable !== null) return "a mail that could not be read";
  if (found.sameIdOtherContent) return "another message with the same Message-ID";
  if (found.absorbed > 1) return "one mail joined more than two threads";
  if (headers.fromCount > 1) return "a mail with more than one sender";
  return null;
}
