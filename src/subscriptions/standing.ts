import type { Projection } from "#projections/projection.ts";
import type { EventStore } from "#src/eventStore/eventStore.ts";
import type { Sql } from "#src/postgres/database.ts";
import { type Checkpoint, loadCheckpoints } from "./checkpoints.ts";
import { asError, type Log, pause } from "./retrying.ts";

/** Why nothing can be answered from some read models now. */
export type NotReadable = {
  /** In plain English, for a caller. */
  sentence: string;
  /** The read model that is furthest behind. */
  name: string;
};

/** Which read models can be answered from, as their checkpoints tell, whichever instance writes them. */
export type Standing = {
  /** Begins to look; resolves when all have caught up, or after a second. Never fails: what cannot be found out is not ready. */
  start(): Promise<void>;
  /** Undefined if these can be answered from. */
  obstacle(of: readonly string[]): NotReadable | undefined;
  /**
   * Until the log's end as it was at the start is in all read models that are served together: how far they are. One that stands still before
   * the end that others have reached is not among them: it is left.
   */
  catchingUp(): string | undefined;
  /** Those that the others go on without. */
  left(): string[];
  /** Those that are served together, without those that were left behind. */
  together(): readonly Projection[];
  stop(): Promise<void>;
};

type Options = {
  database: Sql;
  store: Pick<EventStore, "head">;
  projections: readonly Projection[];
  log: Log;
  /** Names of those that this instance writes, or makes again, and cannot; none by default. */
  failing?: () => readonly string[];
  /** Milliseconds between two looks while the read models catch up, and afterwards (default 250 and 1,000). */
  catchingUpEveryMs?: number;
  everyMs?: number;
  /** How long a start waits for what is only a moment behind (default 1,000). */
  momentMs?: number;
};

/**
 * Looks in a row at which one that is served with others may be behind them, at which one that is written apart may stand still, and at which
 * one may that has not caught up since the start. The last is longer than a lease takes to find its next holder.
 */
const patience = { together: 1, apart: 10, start: 12 };

const sayEveryMs = 5_000;
/** How often a start looks. */
const momentEveryMs = 25;

/**
 * What a look has found of a read model. `behind`: at so many looks in a row it was not where the others had been at the look before. `still`:
 * at so many looks in a row it had come no further, while others were done.
 */
type Seen = { position: number; behind: number; still: number };

/**
 * Looks at the checkpoints. A read model that has not reached the log's end as it was at the start would answer that what exists does not:
 * it is not ready. Once it is, later lag is what those who write wait for. One that the others have left behind is not ready until it is back,
 * whether they did so before this instance started or since: the others are answered from meanwhile.
 */
export function createStanding(options: Options): Standing {
  const { database, store, projections, log, failing = () => [] } = options;
  const { catchingUpEveryMs = 250, everyMs = 1_000, momentMs = 1_000 } = options;
  const stopping = new AbortController();
  const startedAt = performance.now();
  const seen = new Map<string, Seen>();
  /** Those that had caught up once. */
  const ready = new Set<string>();
  /** Those that stood still since the start, until they have caught up: to move again is not to be there. */
  const stuck = new Set<string>();
  /** The log's end at the start; undefined until it is known. */
  let head: number | undefined;
  /** Where those that are served together were at the last look. */
  let front = 0;
  /** The first looks follow each other too fast to say that something stands still. */
  let isStarting = true;
  let saidCatchingUp = false;
  let saidAt = -Infinity;
  let looking = Promise.resolve();

  /** All have caught up, or are waited for no longer. */
  const isReady = (): boolean => projections.every(({ name }) => ready.has(name) || stuck.has(name));

  async function look(): Promise<void> {
    // The head first: a read model that is seen at it has caught up with all that there was.
    head ??= await store.head();
    const names = projections.map(({ name }) => name);
    const stored = await loadCheckpoints(database, names);
    const wasReady = isReady();
    for (const projection of projections) note(projection, stored.get(projection.name), head);
    front = Math.max(...projections.filter(({ apart }) => !apart).map(({ name }) => seen.get(name)?.position ?? 0));
    say(wasReady);
  }

  function note({ name, version, apart }: Projection, stored: Checkpoint | undefined, end: number): void {
    // Tables of an older version are about to be made again; those of a newer one are written by a newer instance.
    const position = stored && stored.version >= version ? stored.position : 0;
    const before = seen.get(name);
    if (position >= end && stored) {
      ready.add(name);
      stuck.delete(name);
    }
    // Tables that are made again beside the live ones do not show how far they are: only who makes them knows that they get no further.
    const isMadeAnew = stored === undefined || stored.version < version;
    const isStill = position <= (before?.position ?? -1) && (!isMadeAnew || failing().includes(name));
    const still = isStill && !isStarting && othersAreDone() ? (before?.still ?? 0) + 1 : 0;
    if (!ready.has(name) && still > patience.start) stuck.add(name);
    const keepsUp = position >= front || (apart && position > (before?.position ?? 0));
    seen.set(name, { position, behind: keepsUp ? 0 : (before?.behind ?? 0) + 1, still });
  }

  const othersAreDone = (): boolean => projections.some(({ name, apart }) => !apart && ready.has(name));

  function say(wasReady: boolean): void {
    if (isReady()) {
      if (!wasReady && saidCatchingUp) log.info({ head, left: [...stuck] }, "the read models have caught up");
      return;
    }
    if (performance.now() - startedAt < momentMs || performance.now() - saidAt < sayEveryMs) return;
    saidCatchingUp = true;
    saidAt = performance.now();
    log.info({ ...furthestBehind(missing()), head }, "the read models are catching up with the log");
  }

  const missing = (): string[] => projections.map(({ name }) => name).filter(isCatchingUp);
  const isCatchingUp = (name: string): boolean => !ready.has(name) && !stuck.has(name);

  const furthestBehind = (names: readonly string[]) =>
    names
      .map((name) => ({ name, position: seen.get(name)?.position ?? 0 }))
      .reduce((one, other) => (other.position < one.position ? other : one));

  const isLeft = ({ name, apart }: Projection): boolean =>
    stuck.has(name) ||
    (ready.has(name) && (seen.get(name)?.behind ?? 0) > (apart ? patience.apart : patience.together));

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      await pause(isReady() ? everyMs : catchingUpEveryMs, stopping.signal);
      if (!stopping.signal.aborted) await tryToLook();
    }
  }

  const tryToLook = (): Promise<void> =>
    look().catch((error) => {
      if (stopping.signal.aborted || performance.now() - saidAt < sayEveryMs) return;
      saidAt = performance.now();
      log.warn({ reason: asError(error).message }, "cannot find out how far the read models are, retrying");
    });

  return {
    async start() {
      const until = performance.now() + momentMs;
      await tryToLook();
      while (!isReady() && performance.now() < until) {
        await pause(momentEveryMs, stopping.signal);
        await tryToLook();
      }
      isStarting = false;
      looking = run();
    },
    obstacle(of) {
      const behind = of.filter(isCatchingUp);
      if (behind.length > 0) {
        const { name, position } = furthestBehind(behind);
        return { name, sentence: `the service is catching up with its event log: ${progress(position, head)}` };
      }
      const left = projections.find((projection) => of.includes(projection.name) && isLeft(projection));
      if (!left) return undefined;
      return { name: left.name, sentence: `${left.name} are not up to date; the rest of the service works` };
    },
    catchingUp() {
      const behind = projections.filter(({ name, apart }) => !apart && isCatchingUp(name)).map(({ name }) => name);
      if (behind.length === 0) return undefined;
      const { name, position } = furthestBehind(behind);
      return `catching up with the event log: ${name} at ${progress(position, head)}`;
    },
    together: () => projections.filter((projection) => !projection.apart && !isLeft(projection)),
    left: () => projections.filter(isLeft).map(({ name }) => name),
    async stop() {
      stopping.abort();
      await looking;
    },
  };
}

/** How far a position is, as a caller is told. Never 100 %: then there would be nothing to tell. */
const progress = (position: number, head: number | undefined): string =>
  head === undefined || head === 0
    ? "how far it is cannot be found out yet"
    : `${Math.min(99, Math.floor((100 * position) / head))} % (position ${position} of ${head})`;
