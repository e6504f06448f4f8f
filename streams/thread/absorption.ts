import { Rejected } from "../decider.ts";
import { entriesOf, hasEntry, withEntry } from "../idMap.ts";
import { withAnswers } from "./answers.ts";
import { withDraftsOf } from "./drafts.ts";
import type { NotedDraft, ThreadEvent } from "./events.ts";
import { addParticipants } from "./participants.ts";
import type { Thread } from "./thread.ts";

/** Data that a surviving thread takes over from a thread merged into it: all data, or one part. */
export type Absorbed = Extract<ThreadEvent, { type: "ThreadAbsorbed" }>["data"];

export type ThreadAbsorption = { type: "AbsorbThread" } & Absorbed;

/** Maximum number of bytes of a part as JSON. Two parts, with accompanying data, fit into one append. */
const maxPartBytes = 400_000;

/** A piece of the absorbed thread's data: its size in bytes, and a function that adds it to a part. */
type AbsorbedPiece = { bytes: number; tell(part: Absorbed): void };

/**
 * Returns the data that the survivor needs of a frozen thread, in parts that each fit into one event. A frozen thread does not change and
 * the pieces have one order, so every division gives the same parts. The newest word is in each.
 */
export function splitForAbsorption(absorbedId: string, frozen: Thread): Absorbed[] {
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

function* piecesOf(thread: Thread): Iterable<AbsorbedPiece> {
  for (const address of thread.participants) {
    yield { bytes: bytesOf(address), tell: ({ participants }) => participants.push(address) };
  }
  // Claims come before the drafts, because a draft with a claim is not pending.
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

/** Size within a list or an object, with the comma. */
const bytesOf = (value: unknown): number => utf8.encode(JSON.stringify(value)).length + 1;

/** Absorbs each thread once, part by part. A part that was absorbed before, or is not the next one, changes nothing. */
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

/** True if this part contains a draft that waits for a decision: pending and without a claim. */
function bringsPending({ drafts, claims }: Absorbed, thread: Thread): boolean {
  const sending = claims.map(({ draftId }) => draftId);
  const waits = ([draftId, { status }]: [string, NotedDraft]) =>
    status === "pending" && !sending.includes(draftId) && !hasEntry(thread.claims, draftId);
  return Object.entries(drafts).some(waits);
}

/** Returns the number of the next part. A division by another version of the service begins again: absorbing data twice changes nothing. */
function nextPart({ absorbedId, part }: Absorbed, { absorbing }: Thread): number {
  const told = absorbing[absorbedId];
  return told !== undefined && told.of === part.of ? told.n + 1 : 1;
}

/** Throws Rejected merge_under_way, naming the absorbed thread, while parts of it are outstanding. */
export function requireFullyAbsorbed({ absorbing }: Thread): void {
  const [absorbedId] = Object.keys(absorbing);
  if (absorbedId === undefined) return;
  throw new Rejected("merge_under_way", "another thread is being merged into this one: retry shortly", { absorbedId });
}

/** Returns the thread with this data of another one. */
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
    participants: addParticipants(thread.participants, data.participants),
    claims: claims.reduce((all, claim) => withEntry(all, claim.draftId, claim), thread.claims),
    answers: withAnswers(thread.answers, answers),
    machineAnswers: Object.entries(machineAnswers).reduce(
      (all, [draftId, addresses]) => withEntry(all, draftId, addresses),
      thread.machineAnswers,
    ),
  };
}
