import {
  chainsOf,
  type KnownMessage,
  messagesWithIds,
  openedNumbersOf,
  survivorsOf,
} from "#projections/chains/queries.ts";
import { Unavailable } from "#src/eventStore/eventStore.ts";
import type { FilingDecision } from "#streams/filing/events.ts";
import type { Dependencies } from "../../dependencies.ts";
import { filingEvents } from "../filingEvents.ts";

/**
 * Message-IDs and threads known during one filing run of an identity: index entries for the requested ids, and every decision that the
 * index does not contain yet. Each new decision is added.
 */
export type Chains = {
  /** Revision of the filing stream up to which decisions are included here or in the index. */
  learnedUpTo: number;
  threadOf: Map<string, string>;
  openedNumber: Map<string, number>;
  /** Thread of a mail of ours by the Message-ID that a relay gave it, if another mail named that id before the relay. */
  sentOn: Map<string, string>;
  /** Attempt by the Message-ID that a relay gave to a mail of ours. */
  attemptOf: Map<string, string>;
  mergedInto: Map<string, string>;
  /** Message id by Message-ID and content digest, because different mails may have the same Message-ID. */
  messages: Map<string, Map<string, string>>;
  /** Total length of the ids held. */
  characters: number;
};

export const createChains = (): Chains => ({
  learnedUpTo: -1,
  threadOf: new Map(),
  openedNumber: new Map(),
  attemptOf: new Map(),
  sentOn: new Map(),
  mergedInto: new Map(),
  messages: new Map(),
  characters: 0,
});

/**
 * Maximum total length of the ids in characters (some thirty thousand ids), because many identities are filed concurrently. If the index
 * lags so far behind that more are needed, filing waits.
 */
const maxCharacters = 4_000_000;

/**
 * Query for known messages. `ids`: all ids named by the mails of a page. `own`: threads named by Message-IDs of this service. `mails`:
 * mails that may have arrived before.
 */
export type ChainsQuery = {
  identityId: string;
  ids: readonly string[];
  own: readonly string[];
  mails: readonly Pick<KnownMessage, "rfcMessageId" | "contentDigest">[];
};

/**
 * Loads all decisions about these ids. Reads the filing stream from the position up to which the index, or the previous page, has read it.
 * Throws Unavailable while the index lags too far behind.
 */
export async function loadDecisions(deps: Dependencies, chains: Chains, asked: ChainsQuery): Promise<void> {
  const { identityId, ids, own, mails } = asked;
  const index = await chainsOf(deps.reads, identityId, ids);
  if (index.revision >= chains.learnedUpTo || chains.characters > maxCharacters) {
    Object.assign(chains, createChains(), { learnedUpTo: index.revision });
  }
  for (const [id, threadId] of index.threadOf) lead(chains, id, threadId);
  for (const [threadId, number] of index.openedNumber) chains.openedNumber.set(threadId, number);
  for (const [id, attemptId] of index.attemptOf) chains.attemptOf.set(id, attemptId);
  for (const [id, threadId] of index.sentOn) chains.sentOn.set(id, threadId);
  const unseen = filingEvents(deps, identityId, chains.learnedUpTo + 1);
  // The following reads of the index are at least as new as `index`; decisions missing from `index` are read from the stream.
  const [messages, survivors, first] = await Promise.all([
    messagesWithIds(deps.reads, identityId, mails),
    survivorsOf(deps.reads, own),
    unseen.next(),
  ]);
  for (const known of messages) remember(chains, known);
  // Our own Message-IDs name a thread without a look-up, but that thread may have been merged, so look it up.
  for (const { threadId, survivorId, openedNumber } of survivors) {
    // A lagging index returns 0 for a thread it has not seen yet.
    if (!chains.openedNumber.has(survivorId)) chains.openedNumber.set(survivorId, openedNumber);
    if (survivorId !== threadId) chains.mergedInto.set(threadId, survivorId);
  }
  for (let page = first; !page.done; page = await unseen.next()) {
    for (const event of page.value) {
      if (event.type === "FilingDecided") learnDecisions(chains, event.data);
      chains.learnedUpTo = event.revision;
    }
    if (chains.characters > maxCharacters) {
      throw new Unavailable("the index of Message-IDs is far behind: filing waits until it has caught up");
    }
  }
  await learnAges(deps, chains, asked);
}

/** Looks up the age of threads that decisions not yet in the index refer to and that were opened long ago. */
async function learnAges(deps: Dependencies, chains: Chains, { ids, own }: ChainsQuery): Promise<void> {
  const named = [...ids.map((id) => chains.threadOf.get(id)), ...own].filter((id) => id !== undefined);
  const ageless = [...new Set(named.map((id) => survivingThread(chains, id)))].filter(
    (id) => !chains.openedNumber.has(id),
  );
  for (const [threadId, number] of await openedNumbersOf(deps.reads, ageless))
    chains.openedNumber.set(threadId, number);
}

export function learnDecisions(chains: Chains, decision: FilingDecision): void {
  const { threadId, opensThread, number, absorbs, chainIds, disposition } = decision;
  if (opensThread) chains.openedNumber.set(threadId, number);
  for (const absorbed of absorbs) chains.mergedInto.set(absorbed, threadId);
  for (const id of chainIds) if (!chains.threadOf.has(id)) lead(chains, id, threadId);
  if (disposition !== "duplicate") remember(chains, decision);
}

function lead(chains: Chains, id: string, threadId: string): void {
  if (!chains.threadOf.has(id)) chains.characters += id.length + threadId.length;
  chains.threadOf.set(id, threadId);
}

function remember(chains: Chains, { rfcMessageId, contentDigest, messageId }: KnownMessage): void {
  const known = chains.messages.get(rfcMessageId) ?? new Map<string, string>();
  chains.messages.set(rfcMessageId, known);
  if (messageId === null) return;
  if (!known.has(contentDigest)) chains.characters += contentDigest.length + messageId.length;
  known.set(contentDigest, messageId);
}

/** Returns the thread into which this one was merged, through any number of merges. Shortens the path for later calls. */
export function survivingThread(chains: Chains, threadId: string): string {
  const { mergedInto } = chains;
  let end = threadId;
  for (let next = mergedInto.get(end); next !== undefined; next = mergedInto.get(end)) end = next;
  for (let id = threadId; id !== end; ) {
    const next = mergedInto.get(id) as string;
    mergedInto.set(id, end);
    id = next;
  }
  return end;
}
