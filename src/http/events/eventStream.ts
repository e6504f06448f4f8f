import { Readable } from "node:stream";
import { eventsAfter, type FeedPlace, type FeedRow, payloadOf } from "#projections/feed/queries.ts";
import type { HttpDependencies } from "../dependencies.ts";
import { cursorOf } from "./feedCursor.ts";

/** A comment goes out after so long without an event, so that no proxy takes the connection for dead. */
export const heartbeatMs = 15_000;
/** Milliseconds a client waits before it connects again. */
export const retryMs = 2_000;
const pageSize = 100;
/** What a client that does not read gets to finish when its stream ends. */
const closingGraceMs = 1_000;
/** For so long a client need not take what is there for it. */
const usualPatienceMs = 60_000;

export type Following = {
  workspaceId: string;
  after: FeedPlace;
  types: readonly string[] | undefined;
  /** Of the request: aborted when its key is revoked. */
  signal: AbortSignal;
  /** Aborted when its place is another stream's. */
  replaced: AbortSignal;
};

/**
 * The feed as server-sent events, from a place on, without end. Reads a page when the one before has been taken, so that a slow client costs no
 * memory. Ends when the service closes; a client that reconnects with Last-Event-ID misses nothing.
 */
export const eventStream = (deps: HttpDependencies, following: Following): Readable =>
  endlessStream([deps.closing, following.replaced], (over) => frames(deps, following, over));

/**
 * Frames as they come, each asked for when the one before has been taken. `over` is aborted when nobody takes them any more, and when the stream
 * has to end: with the first of `ends` to be aborted, or when what is there is not taken
 * for `patienceMs`.
 */
export function endlessStream(
  ends: readonly AbortSignal[],
  framesOf: (over: AbortSignal) => AsyncGenerator<string>,
  patienceMs = usualPatienceMs,
): Readable {
  const over = new AbortController();
  const frame = framesOf(over.signal);
  let untaken: NodeJS.Timeout | undefined;
  const close = (): void => {
    over.abort();
    setTimeout(() => stream.destroy(), closingGraceMs).unref();
  };
  const stream = new Readable({
    read() {
      clearTimeout(untaken);
      frame.next().then(
        ({ done, value }) => {
          const isFull = !this.push(done ? null : value);
          if (isFull && !done) untaken = setTimeout(close, patienceMs).unref();
        },
        (error) => this.destroy(error),
      );
    },
    // Readable.from would wait for the frame under way, which may be a heartbeat away.
    destroy(error, done) {
      over.abort();
      clearTimeout(untaken);
      for (const end of ends) end.removeEventListener("abort", close);
      done(error);
    },
  });
  if (ends.some(({ aborted }) => aborted)) close();
  for (const end of ends) end.addEventListener("abort", close);
  return stream;
}

async function* frames(
  deps: HttpDependencies,
  { workspaceId, after, types, signal }: Following,
  over: AbortSignal,
): AsyncGenerator<string> {
  const reads = deps.reads;
  let seen = after;
  // The cursor it starts from: a client that is cut off before the first event continues from there.
  yield `retry: ${retryMs}\nid: ${cursorOf(seen)}\n\n`;
  while (!over.aborted) {
    const end = await deps.feedTail.next(workspaceId, seen, { timeoutMs: heartbeatMs, signal: over });
    if (over.aborted) return;
    if (!end) yield ": still here\n\n";
    while (end && !over.aborted) {
      const page = await eventsAfter(reads, workspaceId, { after: seen, types, limit: pageSize });
      // An instance that was suspended finds out first which keys were revoked meanwhile.
      await deps.revocation.upToDate();
      if (signal.aborted) return;
      if (page.length > 0) yield page.map(frameOf).join("");
      seen = page.at(-1) ?? seen;
      if (page.length < pageSize) {
        seen = later(seen, end);
        break;
      }
    }
  }
}

const frameOf = (row: FeedRow): string =>
  `id: ${cursorOf(row)}\nevent: ${row.type}\ndata: ${JSON.stringify({ ...payloadOf(row), cursor: cursorOf(row) })}\n\n`;

const later = (a: FeedPlace, b: FeedPlace): FeedPlace =>
  a.position > b.position || (a.position === b.position && a.part > b.part) ? a : b;
