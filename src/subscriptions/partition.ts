import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";
import type { Clock } from "#src/clock.ts";
import type { EventStore } from "#src/eventStore/eventStore.ts";
import type { Database } from "#src/postgres/database.ts";
import type { Process, ProcessContext } from "#src/processes/process.ts";
import type { Recorded } from "#streams/event.ts";
import { createKeyQueues } from "./keyQueues.ts";
import { createParking } from "./parking.ts";
import { createTimers } from "./timers.ts";
import { withRetries } from "./withRetries.ts";

export type Partition = {
  /** Until the signal fires or the log cannot be read any more. */
  run(): Promise<void>;
  /** True where everything up to this position is handled and no timer is due. */
  idle(head: number): Promise<boolean>;
};

export type PartitionOptions = {
  store: EventStore;
  database: Database;
  clock: Clock;
  logger: Logger;
  process: Process;
  checkpointName: string;
  signal: AbortSignal;
};

/** Handlers running at once; each key has at most one. */
const concurrency = 32;
/** Events taken from the log and not handled yet: beyond this, reading waits. */
const maxPending = 1_000;
const saveEveryMs = 250;
const pollEveryMs = 250;

/**
 * One process at work: events in order per key, several keys at once, timers and replayed parked events in the same order. The
 * checkpoint is the lowest position up to which everything is handled, so after a crash some events come again and none is missed.
 */
export function createPartition(options: PartitionOptions): Partition {
  const { store, database, clock, logger, process, checkpointName, signal } = options;
  const queues = createKeyQueues(concurrency);
  const timers = createTimers(database, process.name);
  const parking = createParking(database, process.name);
  const pending = new Set<number>();
  let read = 0;
  let saved = 0;

  /** Everything up to here is handled. */
  const handledUpTo = (): number => (pending.size === 0 ? read : Math.min(...pending) - 1);

  const context = (attempt: number): ProcessContext => ({ timers, attempt, signal });

  async function handle(event: Recorded): Promise<void> {
    const handler = process.on[event.type];
    if (!handler) return;
    await withRetries(
      { process, subject: event, key: process.keyOf(event), position: event.position, parking, logger, signal },
      (n) => handler(event as Recorded<any>, context(n)),
    );
  }

  async function follow(): Promise<void> {
    for await (const batch of store.subscribe({ after: read, categories: process.categories, signal })) {
      for (const event of batch.events) {
        if (!process.on[event.type]) continue;
        while (pending.size >= maxPending && !signal.aborted) await sleep(5);
        if (signal.aborted) return;
        pending.add(event.position);
        void queues.add(process.keyOf(event), async () => {
          if (signal.aborted) return;
          await handle(event);
          // Aborted in the middle: it stays pending, and whoever comes next handles it again.
          if (!signal.aborted) pending.delete(event.position);
        });
      }
      read = Math.max(read, batch.position);
    }
  }

  async function runTimers(): Promise<void> {
    const { onTimer } = process;
    const running = new Set<string>();
    while (!signal.aborted) {
      if (onTimer) {
        for (const due of await timers.due(clock.now())) {
          const id = `${due.key}\u0000${due.name}`;
          if (running.has(id)) continue;
          running.add(id);
          void queues.add(due.key, async () => {
            try {
              if (signal.aborted) return;
              await withRetries({ process, subject: due, key: due.key, position: null, parking, logger, signal }, (n) =>
                onTimer(due, context(n)),
              );
              if (!signal.aborted) await timers.done(due);
            } catch (error) {
              logger.error({ err: error, process: process.name }, "a timer could not be finished: it comes again");
            } finally {
              running.delete(id);
            }
          });
        }
      }
      await replayParked(running);
      await sleep(pollEveryMs, undefined, { signal }).catch(() => {});
    }
  }

  async function replayParked(running: Set<string>): Promise<void> {
    for (const parked of await parking.requested()) {
      const id = `parked ${parked.id}`;
      if (running.has(id)) continue;
      running.add(id);
      void queues.add(parked.key, async () => {
        try {
          const { subject } = parked;
          if ("stream" in subject) await process.on[subject.type]?.(subject as Recorded<any>, context(1));
          else await process.onTimer?.(subject, context(1));
          await parking.done(parked.id);
        } catch (error) {
          await parking.failedAgain(parked.id, error as Error);
        } finally {
          running.delete(id);
        }
      });
    }
  }

  async function saveCheckpoint(): Promise<void> {
    const position = handledUpTo();
    if (position <= saved) return;
    // Never backwards: a holder that slept says nothing new.
    await database.query(
      "update work.checkpoints set position = $2, updated_at = now() where name = $1 and position < $2",
      [checkpointName, position],
    );
    saved = position;
  }

  async function saveCheckpoints(): Promise<void> {
    while (!signal.aborted) {
      await sleep(saveEveryMs, undefined, { signal }).catch(() => {});
      await saveCheckpoint();
    }
  }

  return {
    async run() {
      const { rows } = await database.query<{ position: number }>(
        `insert into work.checkpoints as c (name, version, position, tables) values ($1, 1, 0, '{}')
         on conflict (name) do update set version = c.version returning c.position`,
        [checkpointName],
      );
      read = saved = rows[0]!.position;
      try {
        // Whichever ends first, by a fault or by the signal, ends the turn: the lease's holder starts anew from the checkpoint.
        await Promise.race([follow(), keepTrying(runTimers), keepTrying(saveCheckpoints), aborted(signal)]);
      } finally {
        await Promise.race([queues.settled(), sleep(5_000)]);
        await saveCheckpoint().catch(() => {});
      }
    },
    async idle(head) {
      return read >= head && pending.size === 0 && (await timers.due(clock.now())).length === 0;
    },
  };

  /** The database may be away for a while. */
  async function keepTrying(loop: () => Promise<void>): Promise<void> {
    while (!signal.aborted) {
      await loop().catch((error) => logger.warn({ err: error, process: process.name }, "will be tried again"));
      await sleep(500, undefined, { signal }).catch(() => {});
    }
  }
}

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
