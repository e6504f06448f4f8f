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
 * What an identity's filing knows of Message-IDs and threads, over the pages of one run: what the index said of those that were asked for, and
 * every decision that the index has not seen yet. It grows with each decision.
 */
export type Chains = {
  /** Decisions up to this revision of the filing stream are in here or in the index. */
  learnedUpTo: number;
  threadOf: Map<string, string>;
  openedNumber: Map<string, number>;
  mergedInto: Map<string, string>;
  /** Messages by Message-ID, then by what tells "the same again": many mails may carry one id. */
  messages: Map<string, Map<string, string>>;
  /** Of the ids it holds. */
  characters: number;
};

export const createChains = (): Chains => ({
  learnedUpTo: -1,
  threadOf: new Map(),
  openedNumber: new Map(),
  mergedInto: new Map(),
  messages: new Map(),
  characters: 0,
});

/** Some thirty thousand ids of usual length; many identities are filed at once. Filing waits for an index that lags behind by more. */
const maxCharacters = 4_000_000;

/** `ids`: whatever the mails of a page name; `own`: the threads that ids of ours carry; `mails`: what may have come before. */
export type Asked = {
  identityId: string;
  ids: readonly string[];
  own: readonly string[];
  mails: readonly Pick<KnownMessage, "rfcMessageId" | "contentDigest">[];
};

/**
 * Learns all that is decided so far about these. The filing stream is read from where the index, or the page before, has come to. Throws
 * Unavailable while the index is too far behind.
 */
export async function bringUpToDate(deps: Dependencies, chains: Chains, asked: Asked): Promise<void> {
  const { identityId, ids, own, mails } = asked;
  const index = await chainsOf(deps.reads, identityId, ids);
  if (index.revision >= chains.learnedUpTo || chains.characters > maxCharacters) {
    Object.assign(chains, createChains(), { learnedUpTo: index.revision });
  }
  for (const [id, threadId] of index.threadOf) lead(chains, id, threadId);
  for (const [threadId, number] of index.openedNumber) chains.openedNumber.set(threadId, number);
  const unseen = filingEvents(deps, identityId, chains.learnedUpTo + 1);
  // What the index says from here on is no older than `index`; what it had not seen by then is in the stream.
  const [messages, survivors, first] = await Promise.all([
    messagesWithIds(deps.reads, identityId, mails),
    survivorsOf(deps.reads, own),
    unseen.next(),
  ]);
  for (const known of messages) remember(chains, known);
  // Our own Message-IDs name a thread without a look-up; whether it still stands on its own has to be looked up.
  for (const { threadId, survivorId, openedNumber } of survivors) {
    // An index that lags behind says 0 of a thread that it has not seen yet.
    if (!chains.openedNumber.has(survivorId)) chains.openedNumber.set(survivorId, openedNumber);
    if (survivorId !== threadId) chains.mergedInto.set(threadId, survivorId);
  }
  for (let page = first; !page.done; page = await unseen.next()) {
    for (const event of page.value) {
      if (event.type === "FilingDecided") learn(chains, event.data);
      chains.learnedUpTo = event.revision;
    }
    if (chains.characters > maxCharacters) {
      throw new Unavailable("the index of Message-IDs is far behind: mail is filed once it has caught up");
    }
  }
  await learnAges(deps, chains, asked);
}

/** A decision that the index has not seen may lead to a thread that was opened long ago. */
async function learnAges(deps: Dependencies, chains: Chains, { ids, own }: Asked): Promise<void> {
  const named = [...ids.map((id) => chains.threadOf.get(id)), ...own].filter((id) => id !== undefined);
  const ageless = [...new Set(named.map((id) => survivor(chains, id)))].filter((id) => !chains.openedNumber.has(id));
  for (const [threadId, number] of await openedNumbersOf(deps.reads, ageless))
    chains.openedNumber.set(threadId, number);
}

export function learn(chains: Chains, decision: FilingDecision): void {
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

/** What became of a thread, through any number of merges. Each thread on the way leads straight to the end from then on. */
export function survivor(chains: Chains, threadId: string): string {
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
