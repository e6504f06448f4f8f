import type { Appended, Guard } from "../eventStore.ts";
import type { ValidEvent } from "../validate.ts";

/** An append waiting for its commit. */
export type AppendRequest = {
  stream: string;
  expectedRevision: number;
  events: readonly ValidEvent[];
  /** Bytes of data and metadata. */
  bytes: number;
  guards: readonly Guard[];
  /** Monotonic milliseconds after which it is given up. */
  deadline: number;
  /** Set after the database refused its batch: it is retried alone, so that only the request at fault is refused. */
  alone: boolean;
  resolve(appended: Appended): void;
  reject(error: Error): void;
};

const maxEvents = 512;
const maxBytes = 4_000_000;

/**
 * Takes the requests of one commit from the front of the queue. The database judges all of them by the streams' revisions before the
 * commit, so no request may depend on another one: each stream is written once, and a stream that is a guard is not written. Deferred
 * requests stay at the front.
 */
export function takeBatch(queue: AppendRequest[]): AppendRequest[] {
  const batch: AppendRequest[] = [];
  const deferred: AppendRequest[] = [];
  const written = new Set<string>();
  const guarding = new Set<string>();
  let events = 0;
  let bytes = 0;
  let looked = 0;
  for (const request of queue) {
    const { stream, guards } = request;
    events += request.events.length;
    bytes += request.bytes;
    const full = events > maxEvents || bytes > maxBytes || request.alone || batch[0]?.alone;
    if (full && batch.length > 0) break;
    looked += 1;
    if (written.has(stream) || guarding.has(stream) || guards.some((guard) => written.has(guard.stream))) {
      deferred.push(request);
      continue;
    }
    batch.push(request);
    written.add(stream);
    for (const guard of guards) guarding.add(guard.stream);
  }
  queue.splice(0, looked, ...deferred);
  return batch;
}
