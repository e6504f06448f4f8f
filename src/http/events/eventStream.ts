import { Readable } from "node:stream";
import { eventsAfter, type FeedPlace, type FeedRow, payloadOf } from "#projections/feed/queries.ts";
import type { HttpDependencies } from "../dependencies.ts";
import { cursorOf } from "./feedCursor.ts";

/** Milliseconds without an event after which a comment is sent, so that proxies keep the connection. */
export const heartbeatMs = 15_000;
/** Milliseconds a client waits before it reconnects. */
export const retryMs = 2_000;
const pageSize = 100;
/** Milliseconds from the end of a stream until its connection is closed, even if the client has not read everything by then. */
const closingGraceMs = 1_000;
/** Milliseconds for which a client may leave sent data unread. */
const usualPatienceMs = 60_000;

export type Following = {
  workspaceId: string;
  after: FeedPlace;
  types: readonly string[] | undefined;
  /** Aborted when the request's key is revoked. */
  signal: AbortSignal;
  /** Aborted when another stream takes this stream's place. */
  replaced: AbortSignal;
};

/**
 * Streams the event feed as server-sent events from a position on, without end. Reads a page only after the client has taken the previous
 * one, so that slow clients use no memory. Ends when the service closes; a client that reconnects with Last-Event-ID misses nothing.
 */
export const eventStream = (deps: HttpDependencies, following: Following): Readable =>
  endlessStream([deps.closing, following.replaced], (over) => frames(deps, following, over));

/**
 * Makes an endless stream of frames, each produced after the previous one was taken. `over` is aborted when the client disconnects or the
 * stream must end: when one of `ends` is aborted, or data stays unread for `patienceMs`.
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
    // Readable.from would wait for the frame being produced, which may take until the next heartbeat.
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
  // Send the initial cursor: a client that disconnects before the first event continues from there.
  yield `retry: ${retryMs}\nid: ${cursorOf(seen)}\n\n`;
  while (!over.aborted) {
    const end = await deps.feedTail.next(workspaceId, seen, { timeoutMs: heartbeatMs, signal: over });
    if (over.aborted) return;
    if (!end) yield ": still here\n\n";
    while (end && !over.aborted) {
      const page = await eventsAfter(reads, workspaceId, { after: seen, types, limit: pageSize });
      // If this instance was suspended, it must first read which keys were revoked meanwhile.
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
