import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";
import { noStream } from "#src/eventStore/eventStore.ts";
import type { Snapshot, Snapshots } from "#src/platform/snapshots/snapshots.ts";
import { categoryOf } from "#streams/event.ts";
import type { FoldedState } from "./foldState.ts";

export type SnapshotLog = { info(what: object, sentence: string): void; warn(what: object, sentence: string): void };

/** `kept`: the store of snapshots. `rules`: by stream category, a hash of the rules that fold its states. */
export type SnapshotOptions = { kept: Snapshots; rules: ReadonlyMap<string, string>; log: SnapshotLog };

/**
 * Minimum that must have been folded since the last snapshot before the next one is written: `fewestEvents` events, and either `events`
 * events or `bytes` bytes. A shorter stream is read quickly without a snapshot.
 */
const due = { fewestEvents: 32, events: 500, bytes: 1_000_000 };

/** Maximum number of states that wait to be written. They use memory in addition to the cache. */
const mostWaiting = 16;

/** Maximum wait in milliseconds for reading a snapshot. After it the stream is folded from its start. */
const patienceMs = 1_000;

export type SnapshotKeeper = {
  /** Returns true if so much was folded since the last snapshot that writing a new one is worth its cost. */
  isDue(folded: FoldedState): boolean;
  /**
   * Writes the newest state of a stream in the background; streams are written one after the other. Returns false if too many wait. Never
   * throws, because snapshots are only a cache.
   */
  offer(stream: string, folded: FoldedState): boolean;
  /** Writes a snapshot now. Throws Unavailable. */
  write(stream: string, folded: FoldedState): Promise<void>;
  /** Returns the stream's snapshot made by the present rules; undefined if there is none or it cannot be read. */
  find(stream: string): Promise<Snapshot | undefined>;
  /** Deletes a useless snapshot in the background. */
  drop(stream: string, snapshot: Snapshot): void;
  close(): Promise<void>;
};

export function createSnapshotKeeper({ kept, rules, log }: SnapshotOptions): SnapshotKeeper {
  const waiting = new Map<string, FoldedState>();
  let writing: Promise<void> | undefined;
  let closed = false;
  let failing = false;

  const rulesOf = (stream: string): string | undefined => rules.get(categoryOf(stream));

  async function write(stream: string, { state, revision, eventId }: FoldedState): Promise<void> {
    const madeBy = rulesOf(stream);
    if (madeBy === undefined) return;
    // The log was restored to a time before the stream began.
    if (revision === noStream) await kept.drop(stream);
    else await kept.write(stream, madeBy, { state, revision, eventId });
  }

  /** Logs the first failure; further ones are not logged until writing works again. */
  function failed(error: unknown): void {
    if (!failing) log.warn({ err: error }, "cannot write snapshots of long streams");
    failing = true;
  }

  async function writeWaiting(): Promise<void> {
    await nextTurn();
    for (const [stream, folded] of waiting) {
      waiting.delete(stream);
      if (closed) continue;
      await write(stream, folded).then(() => {
        failing = false;
      }, failed);
    }
    writing = undefined;
  }

  return {
    isDue: ({ events, bytes, measured }) =>
      events >= due.fewestEvents && (events >= due.events || bytes >= due.bytes) && bytes >= measured,
    offer(stream, folded) {
      if (closed || (!waiting.has(stream) && waiting.size >= mostWaiting)) return false;
      waiting.set(stream, folded);
      writing ??= writeWaiting();
      return true;
    },
    write,
    async find(stream) {
      const madeBy = rulesOf(stream);
      if (madeBy === undefined) return undefined;
      const read = kept.read(stream, madeBy).catch(() => undefined);
      return Promise.race([read, sleep(patienceMs, undefined, { ref: false })]);
    },
    drop: (stream, { eventId }) => void kept.drop(stream, eventId).catch(() => undefined),
    async close() {
      closed = true;
      await writing;
    },
  };
}
