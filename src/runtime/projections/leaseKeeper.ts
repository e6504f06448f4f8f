import { setMaxListeners } from "node:events";
import type { Clock } from "#src/platform/clock.ts";
import type { Database } from "#src/platform/postgres/database.ts";
import { type Lease, leaseMs, releaseLeases, renewEveryMs, renewLeases, takeLeases } from "./leases.ts";
import { asError, pause, type RunnerLog } from "./retrying.ts";

/** A lease held by this instance. */
export type HeldLease = Lease & {
  /** Aborted when the lease is lost or this instance stops. */
  readonly signal: AbortSignal;
  /** False while the lease may have expired unnoticed, for example because this instance was suspended. */
  fresh(): boolean;
  /** True once another instance has taken the lease. */
  lost(): boolean;
};

export type LeaseKeeper = { stop(): Promise<void> };

type LeaseKeeperOptions = {
  database: Database;
  clock: Clock;
  log: RunnerLog;
  /** Unique id of this instance. */
  holder: string;
  names: readonly string[];
  /** Milliseconds after which another instance may take a lease that was not renewed (default `leaseMs`). */
  lastsMs?: number;
  /** The work done under a lease. Must end after the lease's signal; the lease is released then. */
  work: (held: HeldLease) => Promise<void>;
};

type LeaseEntry = {
  held: HeldLease;
  renewedAt: number;
  lost: boolean;
  controller: AbortController;
  done: Promise<void>;
};

const takeEveryMs = 250;

/** Takes the named leases that are free, keeps trying to take the others, and runs `work` under each held lease. */
export function keepLeases({
  database,
  clock,
  log,
  holder,
  names,
  lastsMs = leaseMs,
  work,
}: LeaseKeeperOptions): LeaseKeeper {
  const hands = new Map<string, LeaseEntry>();
  const stopping = new AbortController();

  function begin(lease: Lease, takenAt: number): void {
    const controller = new AbortController();
    // Every handler at work listens to it.
    setMaxListeners(0, controller.signal);
    const held: HeldLease = {
      ...lease,
      signal: controller.signal,
      fresh: () => !hand.lost && clock.monotonic() - hand.renewedAt < lastsMs,
      lost: () => hand.lost,
    };
    const hand: LeaseEntry = { held, renewedAt: takenAt, lost: false, controller, done: Promise.resolve() };
    hands.set(lease.name, hand);
    log.debug?.({ lease: lease.name, epoch: lease.epoch }, "lease taken");
    hand.done = work(held).catch((error) => log.error({ err: error, lease: lease.name }, "work under a lease failed"));
  }

  async function take(): Promise<void> {
    const free = names.filter((name) => !hands.has(name));
    if (free.length === 0) return;
    const askedAt = clock.monotonic();
    for (const lease of await takeLeases(database, free, { holder, lastsMs })) begin(lease, askedAt);
  }

  async function renew(): Promise<void> {
    if (hands.size === 0) return;
    const askedAt = clock.monotonic();
    const asked = [...hands.values()];
    const kept = await renewLeases(
      database,
      asked.map(({ held }) => held),
      { holder, lastsMs },
    );
    for (const hand of asked) {
      if (kept.has(hand.held.name)) hand.renewedAt = askedAt;
      else lose(hand);
    }
  }

  function lose(hand: LeaseEntry): void {
    hand.lost = true;
    hand.controller.abort(new Error("another instance has taken over this lease"));
    log.warn({ lease: hand.held.name, epoch: hand.held.epoch }, "lease lost");
    void hand.done.then(() => hands.delete(hand.held.name));
  }

  async function run(): Promise<void> {
    let renewedAt = clock.monotonic();
    while (!stopping.signal.aborted) {
      try {
        if (clock.monotonic() - renewedAt >= renewEveryMs) {
          renewedAt = clock.monotonic();
          await renew();
        }
        await take();
      } catch (error) {
        log.warn({ reason: asError(error).message }, "cannot renew or acquire leases, retrying");
      }
      await pause(takeEveryMs, stopping.signal);
    }
  }

  const running = run();
  return {
    async stop() {
      stopping.abort();
      await running;
      const all = [...hands.values()];
      for (const hand of all) hand.controller.abort(new Error("shutting down"));
      await Promise.all(all.map((hand) => hand.done));
      const mine = all.filter((hand) => !hand.lost).map((hand) => hand.held);
      await releaseLeases(database, mine, holder).catch((error) =>
        log.warn({ reason: asError(error).message }, "cannot release leases; they will expire on their own"),
      );
    },
  };
}
