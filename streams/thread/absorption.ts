import { Rejected } from "../decider.ts";
import { entriesOf, hasEntry, withEntry } from "../idMap.ts";
import { withAnswers } from "./answers.ts";
import { withDraftsOf } from "./drafts.ts";
import type { NotedDraft, ThreadEvent } from "./events.ts";
import { joined } from "./participants.ts";
import type { Thread } from "./thread.ts";

/** What a survivor is told of a thread that was merged into it, whole or in part. */
export type Absorbed = Extract<ThreadEvent, { type: "ThreadAbsorbed" }>["data"];

export type ThreadAbsorption = { type: "AbsorbThread" } & Absorbed;

/** A part has at most so many bytes of JSON: two of them, and what else comes with one, fit into what a store takes at once. */
const maxPartBytes = 400_000;

/** One thing that is known of the absorbed thread: what it adds to a part, and how it is put there. */
type Piece = { bytes: number; tell(part: Absorbed): void };

/**
 * What a frozen thread's survivor has to know of it, in parts that each fit into one event. A frozen thread does not change, and what it knows
 * comes in one order: so every division gives the same parts. The newest word is in each.
 */
export function absorptionOf(absorbedId: string, frozen: Thread): Absorbed[] {
  const { mergeNumber: number, newestNumber, newestWord, needsReview } = frozen;
  const head = { absorbedId, number, newestNumber, newestWord };
  const blank = (): Absorbed => ({
    ...head,
    participants: [],
    drafts: {},
    claims: [],
    needsReview,
    unauthenticated: [],
    machineAnswers: {},
    answers: [],
    part: { n: 1, of: 1 },
  });
  const parts: Absorbed[] = [blank()];
  const headBytes = bytesOf(blank());
  let bytes = headBytes;
  for (const piece of piecesOf(frozen)) {
    if (bytes + piece.bytes > maxPartBytes && bytes > headBytes) {
      parts.push({ ...blank(), needsReview: false });
      bytes = headBytes;
    }
    piece.tell(parts.at(-1) as Absorbed);
    bytes += piece.bytes;
  }
  return parts.map((part, index) => ({ ...part, part: { n: index + 1, of: parts.length } }));
}

function* piecesOf(thread: Thread): Iterable<Piece> {
  for (const address of thread.participants) {
    yield { bytes: bytesOf(address), tell: ({ participants }) => participants.push(address) };
  }
  // Before the drafts: one with a claim is not pending.
  for (const [, claim] of entriesOf(thread.claims)) {
    yield { bytes: bytesOf(claim), tell: ({ claims }) => claims.push(claim) };
  }
  const closed = thread.closedDrafts.map(({ draftId, ...noted }) => [draftId, noted] as const);
  for (const [draftId, noted] of [...closed, ...entriesOf(thread.drafts)]) {
    yield {
      bytes: bytesOf([draftId, noted]),
      tell({ drafts }) {
        drafts[draftId] = noted;
      },
    };
  }
  const numbers = entriesOf(thread.unauthenticated).map(([number]) => Number(number));
  for (const number of numbers.sort((one, other) => one - other)) {
    yield { bytes: bytesOf(number), tell: ({ unauthenticated }) => unauthenticated.push(number) };
  }
  for (const [draftId, addresses] of entriesOf(thread.machineAnswers)) {
    yield {
      bytes: bytesOf([draftId, addresses]),
      tell({ machineAnswers }) {
        machineAnswers[draftId] = [...addresses];
      },
    };
  }
  for (const answer of thread.answers) {
    yield { bytes: bytesOf(answer), tell: ({ answers }) => answers.push(answer) };
  }
}

const utf8 = new TextEncoder();

/** In a list or an object of such: with the comma. */
const bytesOf = (value: unknown): number => utf8.encode(JSON.stringify(value)).length + 1;

/** Once for each thread, part by part. What was told before, or is not the next part, changes nothing. */
export function absorb({ type: _, ...absorbed }: ThreadAbsorption, thread: Thread): ThreadEvent[] {
  if (hasEntry(thread.absorbed, absorbed.absorbedId)) return [];
  if (absorbed.part.n !== nextPart(absorbed, thread)) return [];
  const events: ThreadEvent[] = [{ type: "ThreadAbsorbed", data: absorbed }];
  if (absorbed.needsReview && !thread.needsReview) {
    events.push({ type: "ThreadReviewSet", data: { needsReview: true, reason: "the merged thread needed review" } });
  }
  if (bringsPending(absorbed, thread) && thread.status !== "draft_pending") {
    events.push({ type: "ThreadStatusChanged", data: { status: "draft_pending", because: "merged" } });
  }
  return events;
}

/** Whether a draft comes with this that waits for a decision: one that is pending and not on its way out. */
function bringsPending({ drafts, claims }: Absorbed, thread: Thread): boolean {
  const sending = claims.map(({ draftId }) => draftId);
  const waits = ([draftId, { status }]: [string, NotedDraft]) =>
    status === "pending" && !sending.includes(draftId) && !hasEntry(thread.claims, draftId);
  return Object.entries(drafts).some(waits);
}

/** What another version of this service divided otherwise begins again: hearing something twice changes nothing. */
function nextPart({ absorbedId, part }: Absorbed, { absorbing }: Thread): number {
  const told = absorbing[absorbedId];
  return told !== undefined && told.of === part.of ? told.n + 1 : 1;
}

/** Throws Rejected merge_under_way, naming the absorbed thread, while parts of one are still to come. */
export function requireWhole({ absorbing }: Thread): void {
  const [absorbedId] = Object.keys(absorbing);
  if (absorbedId === undefined) return;
  throw new Rejected("merge_under_way", "another thread is being merged into this one: retry shortly", { absorbedId });
}

/** The thread once it has been told this of another. */
export function withAbsorbed(thread: Thread, data: Absorbed): Thread {
  const { absorbedId, part, claims, unauthenticated, machineAnswers, answers } = data;
  const words = [thread.newestWord, data.newestWord].filter((word) => word !== null);
  const { [absorbedId]: _, ...otherMerges } = thread.absorbing;
  const isLast = part.n === part.of;
  return {
    ...withDraftsOf(thread, data.drafts),
    absorbed: isLast ? withEntry(thread.absorbed, absorbedId, true) : thread.absorbed,
    absorbing: isLast ? otherMerges : { ...otherMerges, [absorbedId]: part },
    newestNumber: Math.max(thread.newestNumber, data.newestNumber),
    unauthenticated: unauthenticated.reduce(
      (all, number) => withEntry(all, String(number), true),
      thread.unauthenticated,
    ),
    newestWord: words.sort((a, b) => b.number - a.number)[0] ?? null,
    participants: joined(thread.participants, data.participants),
    claims: claims.reduce((all, claim) => withEntry(all, claim.draftId, claim), thread.claims),
    answers: withAnswers(thread.answers, answers),
    machineAnswers: Object.entries(machineAnswers).reduce(
      (all, [draftId, addresses]) => withEntry(all, draftId, addresses),
      thread.machineAnswers,
    ),
  };
}
