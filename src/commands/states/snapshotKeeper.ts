import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";
import { noStream } from "#src/eventStore/eventStore.ts";
import type { Snapshot, Snapshots } from "#src/platform/snapshots/snapshots.ts";
import { categoryOf } from "#streams/event.ts";
import type { Folded } from "./folded.ts";

export type Log = { info(what: object, sentence: string): void; warn(what: object, sentence: string): void };

/** Where snapshots are, and by category a hash of the rules that make the states. */
export type SnapshotOptions = { kept: Snapshots; rules: ReadonlyMap<string, string>; log: Log };

/** What has to be folded since the last one: a stream with less is read in a moment. Few events are never worth one, however large. */
const due = { fewestEvents: 32, events: 500, bytes: 1_000_000 };

/** States that wait to be written. They are held in memory beside those that are kept. */
const mostWaiting = 16;

/** Longer than this nobody waits for a snapshot: folding from the start is certain to come to an end. */
const patienceMs = 1_000;

export type SnapshotKeeper = {
  /** Enough was folded since the last one, and more than writing it costs. */
  isDue(folded: Folded): boolean;
  /** Writes it in the background, the newest of each stream, one after the other; false if there is no room. Never fails: it is a cache. */
  offer(stream: string, folded: Folded): boolean;
  /** Writes it now. Throws Unavailable. */
  write(stream: string, folded: Folded): Promise<void>;
  /** The one that these rules made. Undefined too where it cannot be had. */
  find(stream: string): Promise<Snapshot | undefined>;
  /** One that is of no use, in the background. */
  drop(stream: string, snapshot: Snapshot): void;
  close(): Promise<void>;
};

export function createSnapshotKeeper({ kept, rules, log }: SnapshotOptions): SnapshotKeeper {
  const waiting = new Map<string, Folded>();
  let writing: Promise<void> | undefined;
  let closed = false;
  let failing = false;

  const rulesOf = (stream: string): string | undefined => rules.get(categoryOf(stream));

  async function write(stream: string, { state, revision, eventId }: Folded): Promise<void> {
    const madeBy = rulesOf(stream);
    if (madeBy === undefined) return;
    // Of a log that was restored from before the stream began.
    if (revision === noStream) await kept.drop(stream);
    else await kept.write(stream, madeBy, { state, revision, eventId });
  }

  /** Said once, until it works again. */
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
