import { setTimeout as sleep } from "node:timers/promises";
import { Unavailable } from "#src/eventStore/eventStore.ts";
import { type Clock, type ClockReading, longestSince, readClock } from "#src/platform/clock.ts";
import type { Database } from "#src/platform/postgres/database.ts";
import { createSingleFlight } from "#src/platform/singleFlight.ts";
import type { RequestsInFlight } from "./requestsInFlight.ts";

/**
 * Revokes keys across instances: once `drain` resolves with true, every instance answers only 401 under the key (streams/README.md,
 * invariant 7). Each instance sends heartbeats and acknowledges each revocation when no request of the key runs there any more. A suspended
 * instance is not waited for: it recognises by its own clocks that it was suspended, and answers nothing before it has caught up.
 */
export type Revocation = {
  /** Registers this instance as one that others wait for. To be called before it accepts requests. */
  start(): Promise<void>;
  /** To be called after its last request. */
  stop(): Promise<void>;
  /** For createApp: resolves when this instance has read every revocation that another instance has confirmed; throws Unavailable. */
  upToDate(): void | Promise<void>;
  /**
   * Waits until no request of the key is in progress on any instance, except `exclude` (the callId of the DELETE itself). False after
   * `timeoutMs`: the key is revoked, but requests may still be ending. Throws Unavailable.
   */
  drain(keyId: string, options: { exclude?: string; timeoutMs?: number }): Promise<boolean>;
};

const heartbeatMs = 1_000;
const pollMs = 200;
const drainPollMs = 25;
/** Milliseconds after a heartbeat, by its own clock, during which an instance may answer. */
const freshMs = 2_500;
/** Milliseconds after a heartbeat, by the database's clock, during which others wait for an instance. Must be longer than `freshMs`. */
const waitedForMs = 3_500;
const maxCatchUps = 3;

export function createRevocation(deps: {
  database: Pick<Database, "query">;
  /** UUID of this run of this instance. */
  instanceId: string;
  inFlight: RequestsInFlight;
  clock: Clock;
  /** Called when the database could not be queried; the next beat tries again. */
  onError?: (error: unknown) => void;
}): Revocation {
  const { database, instanceId, inFlight, clock, onError = () => {} } = deps;
  const stopping = new AbortController();
  const acknowledging = new Set<number>();
  let upToDateAt: ClockReading | undefined;
  const beats = createSingleFlight<void>();
  let loop: Promise<void> | undefined;

  const age = (): number => (upToDateAt ? longestSince(clock, upToDateAt) : Number.POSITIVE_INFINITY);

  /**
   * Sends a heartbeat, then reads new revocations. In this order: a revocation that did not wait for this instance is read before it
   * answers.
   */
  const beat = (): Promise<void> => beats.run("beat", showLifeAndLearn);

  async function showLifeAndLearn(): Promise<void> {
    if (stopping.signal.aborted) throw new Unavailable("this instance is shutting down");
    const startedAt = readClock(clock);
    await database.query(showLife, [instanceId]);
    await learn();
    upToDateAt = startedAt;
  }

  async function learn(): Promise<void> {
    const { rows } = await database.query<{ id: number; key_id: string }>(unacknowledged, [instanceId]);
    for (const { id, key_id: keyId } of rows) {
      if (acknowledging.has(id)) continue;
      acknowledging.add(id);
      inFlight.revoke(keyId);
      void inFlight
        .ended(keyId)
        .then(() => database.query(acknowledge, [id, instanceId]))
        .catch(onError)
        .finally(() => acknowledging.delete(id));
    }
  }

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      await (age() >= heartbeatMs ? beat() : learn()).catch(onError);
      await sleep(pollMs, undefined, { signal: stopping.signal }).catch(() => {});
    }
  }

  async function catchUp(): Promise<void> {
    for (let tries = 0; age() >= freshMs; tries++) {
      if (tries === maxCatchUps) throw new Unavailable("this instance cannot look up revoked API keys");
      await beat();
    }
  }

  return {
    async start() {
      await beat();
      loop = run();
    },
    async stop() {
      stopping.abort();
      await loop;
      await database.query("delete from work.instances where id = $1", [instanceId]).catch(onError);
    },
    upToDate: () => (age() < freshMs ? undefined : catchUp()),
    async drain(keyId, { exclude, timeoutMs = 5_000 }) {
      const deadline = clock.monotonic() + timeoutMs;
      inFlight.revoke(keyId, exclude);
      const { rows } = await database.query<{ id: number }>(record, [keyId]);
      await beat();
      for (;;) {
        const waiting = await database.query<{ any: boolean }>(anyoneMissing, [rows[0]!.id, waitedForMs]);
        if (!waiting.rows[0]!.any) return true;
        if (clock.monotonic() >= deadline) return false;
        await sleep(drainPollMs);
      }
    },
  };
}

const showLife = `
  insert into work.instances (id, seen_at) values ($1, clock_timestamp())
  on conflict (id) do update set seen_at = clock_timestamp()`;

const unacknowledged = `
  select id, key_id from work.revocations r
  where not exists (select from work.revocation_acks a where a.revocation_id = r.id and a.instance_id = $1)
  order by id`;

const acknowledge = `
  insert into work.revocation_acks (revocation_id, instance_id)
  select id, $2 from work.revocations where id = $1
  on conflict do nothing`;

/**
 * Deletes revocations and instances older than a day when a new revocation is recorded: every instance has read them, or finds the key
 * revoked at its look-up.
 */
const record = `
  with old as (delete from work.revocations where revoked_at < now() - interval '1 day'),
       gone as (delete from work.instances where seen_at < now() - interval '1 day')
  insert into work.revocations (key_id) values ($1) returning id`;

const anyoneMissing = `
  select exists (
    select from work.instances i
    where i.seen_at > clock_timestamp() - make_interval(secs => $2 / 1000.0)
      and not exists (select from work.revocation_acks a where a.revocation_id = $1 and a.instance_id = i.id)
  ) as any`;
