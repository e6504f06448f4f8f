import { setTimeout as sleep } from "node:timers/promises";
import type { Recorded } from "#streams/event.ts";
import { type Batch, type EventStore, type SubscribeOptions, Unavailable } from "./eventStore.ts";
import { createRing, type Ring } from "./ring.ts";

/** How long one who reads alone lets the shared reader come up to it before it reads on. */
const joinMs = 1_000;
const retryMs = 100;
/** Who asks for more wants to know where a stream ends, which only the store can tell. */
const mostFromRing = 50;

/**
 * An event store whose subscriptions are fed by one: the log is read and decoded once for all who follow it. The newest stretch is kept in
 * a ring. A reader that begins behind it, or falls out of it, reads alone until it has caught up. Nobody waits for a slower one. What the
 * one subscription fails with, all who follow it fail with; the next that subscribes begins it again. It ends when nobody reads.
 * Events are the same objects for all readers: nobody may change them.
 */
export function sharingLog(store: EventStore): EventStore {
  let current: Shared | undefined;
  let readers = 0;

  function share(): Shared {
    if (current) return current;
    const shared = openShared(store, () => {
      if (current === shared) current = undefined;
    });
    current = shared;
    return shared;
  }

  function enter(signal: AbortSignal): () => void {
    readers += 1;
    let inside = true;
    const leave = (): void => {
      signal.removeEventListener("abort", leave);
      if (!inside) return;
      inside = false;
      if (--readers > 0) return;
      current?.end();
      current = undefined;
    };
    signal.addEventListener("abort", leave);
    return leave;
  }

  async function* subscribe(options: SubscribeOptions): AsyncGenerator<Batch, void> {
    const { signal } = options;
    if (signal.aborted) return;
    const leave = enter(signal);
    const reader: Reader = { position: options.after, saidCaughtUp: false };
    // A position that somebody stored may be of another log: only the store can tell.
    let isOfThisLog = false;
    try {
      while (!signal.aborted) {
        const shared = share();
        if (!(await shared.opened(signal))) return;
        if (shared.feeds(reader) && (isOfThisLog || shared.knows(reader))) yield* shared.follow(reader, options);
        else if (!(yield* alone(store, { reader, options, share }))) return;
        isOfThisLog = true;
        if (shared.closed()) return;
      }
    } finally {
      leave();
    }
  }

  return {
    ...store,
    subscribe,
    /** Events never change: so many from a revision on are known without the store where all of them are kept. */
    async read(stream, fromRevision = 0, maxCount = Number.MAX_SAFE_INTEGER) {
      return current?.read(stream, fromRevision, maxCount) ?? store.read(stream, fromRevision, maxCount);
    },
  };
}

/** How far somebody has read. */
type Reader = { position: number; saidCaughtUp: boolean };

/** Until the shared reader can go on from there; false if the subscription ended. */
async function* alone(
  store: EventStore,
  { reader, options, share }: { reader: Reader; options: SubscribeOptions; share: () => Shared },
): AsyncGenerator<Batch, boolean> {
  for await (const batch of store.subscribe({ ...options, after: reader.position })) {
    yield batch;
    reader.position = batch.position;
    reader.saidCaughtUp = batch.caughtUp;
    if (options.signal.aborted) return false;
    if (await share().takesOver(reader, options.signal)) return true;
  }
  return false;
}

type Shared = {
  /** False when the signal came first, or the store is closed. Throws what it failed with. */
  opened(signal: AbortSignal): Promise<boolean>;
  /** Everything after the reader's position is kept. */
  feeds(reader: Reader): boolean;
  knows(reader: Reader): boolean;
  /** Whether a reader that is not far from the end can join; waits a moment if it is ahead. */
  takesOver(reader: Reader, signal: AbortSignal): Promise<boolean>;
  /** Batches until the signal comes, the store is closed, or the reader has fallen out. */
  follow(reader: Reader, options: SubscribeOptions): AsyncGenerator<Batch, void>;
  /** Of the events that are kept, if these are. */
  read(stream: string, fromRevision: number, count: number): Recorded[] | undefined;
  closed(): boolean;
  end(): void;
};

function openShared(store: EventStore, onEnd: () => void): Shared {
  const ending = new AbortController();
  const { signal: life } = ending;
  const following = new Set<Reader>();
  const sleepers = new Set<() => void>();
  let ring: Ring | undefined;
  let failure: { error: unknown } | undefined;
  /** Nothing more is taken in until somebody has read on. */
  let full = false;
  let over = false;

  function wakeAll(): void {
    for (const wake of sleepers) wake();
  }

  /** Resolves at the next change, when a signal comes, or after `ms`. */
  function change(signal: AbortSignal, ms?: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = ms === undefined ? undefined : setTimeout(() => wake(), ms);
      const wake = (): void => {
        clearTimeout(timer);
        sleepers.delete(wake);
        signal.removeEventListener("abort", wake);
        resolve();
      };
      sleepers.add(wake);
      signal.addEventListener("abort", wake);
      if (signal.aborted || over) wake();
    });
  }

  async function read(): Promise<void> {
    try {
      const begun = await beginning();
      if (begun === undefined) return;
      ring = createRing(begun);
      wakeAll();
      for await (const batch of store.subscribe({ after: begun, signal: life })) {
        ring.push(batch);
        wakeAll();
        for (full = isFarAhead(); full && !life.aborted; full = isFarAhead()) await change(life);
      }
    } catch (error) {
      if (!life.aborted) failure = { error };
    } finally {
      over = true;
      onEnd();
      wakeAll();
    }
  }

  async function beginning(): Promise<number | undefined> {
    while (!life.aborted) {
      try {
        return await store.head();
      } catch (error) {
        if (!(error instanceof Unavailable)) throw error;
        await sleep(retryMs, undefined, { signal: life }).catch(() => undefined);
      }
    }
    return undefined;
  }

  /** Even the fastest would fall out of the ring if it took in more now. */
  const isFarAhead = (): boolean => following.size > 0 && [...following].every(({ position }) => ring!.isOld(position));

  function rethrow(): void {
    if (failure) throw failure.error;
  }

  const feeds = ({ position }: Reader): boolean => position >= ring!.from() && position <= ring!.to();

  void read();

  return {
    async opened(signal) {
      while (!ring && !over && !signal.aborted) await change(signal);
      rethrow();
      return ring !== undefined && !over && !signal.aborted;
    },
    feeds,
    knows: ({ position }) => ring!.knows(position),
    async takesOver(reader, signal) {
      if (!ring || over || ring.isOld(reader.position)) return false;
      const end = performance.now() + joinMs;
      following.add(reader);
      if (full) wakeAll();
      while (reader.position > ring.to() && !over && !signal.aborted && performance.now() < end)
        await change(signal, end - performance.now());
      following.delete(reader);
      return !over && feeds(reader);
    },
    async *follow(reader, { signal, categories, batchSize }) {
      following.add(reader);
      try {
        while (!signal.aborted && feeds(reader)) {
          const batch = ring!.after({ after: reader.position, categories, batchSize });
          if (batch.position > reader.position || (batch.caughtUp && !reader.saidCaughtUp)) {
            yield batch;
            reader.position = batch.position;
            reader.saidCaughtUp = batch.caughtUp;
            if (full) wakeAll();
            continue;
          }
          rethrow();
          if (over) return;
          await change(signal);
        }
      } finally {
        following.delete(reader);
        wakeAll();
      }
    },
    read: (stream, fromRevision, count) =>
      count > 0 && count <= mostFromRing ? ring?.of(stream, fromRevision, count) : undefined,
    closed: () => over && !failure,
    end: () => ending.abort(),
  };
}
