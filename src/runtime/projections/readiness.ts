import type { Projection } from "#projections/projection.ts";
import type { EventStore } from "#src/eventStore/eventStore.ts";
import type { Sql } from "#src/platform/postgres/database.ts";
import { loadReadModels, mainGroup, type StoredReadModel } from "./checkpoints.ts";
import { asError, pause, type RunnerLog } from "./retrying.ts";

/** Reason why requests cannot be answered from some read models now. */
export type UnreadableReason = {
  /** Plain English, for a caller. */
  sentence: string;
  /** The read model that is furthest behind. */
  name: string;
};

/** Knows from which read models requests can be answered, by their stored checkpoints, whichever instance writes them. */
export type ReadModelReadiness = {
  /**
   * Begins to read the checkpoints; resolves when all read models have caught up, or after a second. Never rejects: a model that cannot be
   * judged is not ready.
   */
  start(): Promise<void>;
  /** Returns why requests cannot be answered from these read models; undefined if they can. */
  obstacle(of: readonly string[]): UnreadableReason | undefined;
  /**
   * Returns the progress of the main group, until it has reached the log's end as it was at the start. A read model that is stuck behind
   * the others is not counted: it is among `left`.
   */
  catchingUp(): string | undefined;
  /** Returns the names of the read models that are stuck or ejected. */
  left(): string[];
  /** Returns the projections of the main group, except those that are stuck or ejected. */
  together(): readonly Projection[];
  stop(): Promise<void>;
};

type ReadinessOptions = {
  database: Sql;
  store: Pick<EventStore, "head">;
  projections: readonly Projection[];
  log: RunnerLog;
  /** Names of read models that this instance fails to write or rebuild; none by default. */
  failing?: () => readonly string[];
  /** Milliseconds between two reads of the checkpoints while the read models catch up, and afterwards (default 250 and 1,000). */
  catchingUpEveryMs?: number;
  everyMs?: number;
  /** Milliseconds for which a start waits for read models that are only a moment behind (default 1,000). */
  momentMs?: number;
};

/**
 * Consecutive reads at which a read model outside the main group may not move before it counts as stuck: longer than a lease needs to find
 * its next holder.
 */
const patience = 12;

const sayEveryMs = 5_000;
/** Milliseconds between two reads during the start. */
const momentEveryMs = 25;

/** State of a read model at the last read. `stalled`: consecutive reads at which it was behind the main group and had not moved. */
type SeenReadModel = { position: number; isEjected: boolean; stalled: number };

/**
 * Judges read models by their checkpoints. One that has not reached the log's end as it was at the start would answer that existing things
 * do not exist: it is not ready. Once it is, later lag is handled by waiting for one's own writes. A read model that is ejected or stuck is
 * not ready until it is back; requests are answered from the others meanwhile.
 */
export function createReadiness(options: ReadinessOptions): ReadModelReadiness {
  const { database, store, projections, log, failing = () => [] } = options;
  const { catchingUpEveryMs = 250, everyMs = 1_000, momentMs = 1_000 } = options;
  const stopping = new AbortController();
  const startedAt = performance.now();
  const seen = new Map<string, SeenReadModel>();
  /** Names of the read models that have caught up once. */
  const ready = new Set<string>();
  /** Names of the read models that are stuck, until they have caught up: moving again is not enough. */
  const stuck = new Set<string>();
  /** The log's end at the start; undefined until it is known. */
  let head: number | undefined;
  /** Position of the main group at the last read. */
  let mainPosition = 0;
  /** True during the first reads, which follow each other too fast to judge that a read model is stuck. */
  let isStarting = true;
  let saidCatchingUp = false;
  let saidAt = -Infinity;
  let watching = Promise.resolve();

  /** True if every read model has caught up or is stuck. */
  const isReady = (): boolean => projections.every(({ name }) => ready.has(name) || stuck.has(name));

  async function readCheckpoints(): Promise<void> {
    // The head is read first: a read model that is at it afterwards has caught up with all events there were.
    head ??= await store.head();
    const stored = await loadReadModels(
      database,
      projections.map(({ name }) => name),
    );
    const wasReady = isReady();
    for (const projection of projections) note(projection, stored.get(projection.name), head);
    const main = [...stored.values()].find(({ checkpoint }) => checkpoint === mainGroup);
    mainPosition = main?.position ?? mainPosition;
    say(wasReady);
  }

  function note({ name, version, independent }: Projection, stored: StoredReadModel | undefined, end: number): void {
    // Tables of an older version are about to be rebuilt; those of a newer one are written by a newer instance.
    const isFilled = stored !== undefined && stored.version >= version;
    const position = (isFilled ? stored.position : stored?.rebuilt_to) ?? 0;
    const before = seen.get(name);
    if (isFilled && position >= end) ready.add(name);
    if (isFilled && position >= end && position >= mainPosition) stuck.delete(name);
    // Only the rebuilding instance knows whether a rebuild fails.
    const isRebuilding = !isFilled && !failing().includes(name);
    const isBehind = position < mainPosition && position <= (before?.position ?? -1) && !isRebuilding;
    const stalled = isBehind && !isStarting && isMainReady() ? (before?.stalled ?? 0) + 1 : 0;
    if (stalled > patience) stuck.add(name);
    seen.set(name, { position, isEjected: !independent && stored?.checkpoint !== mainGroup, stalled });
  }

  const isMainReady = (): boolean => projections.some(({ name, independent }) => !independent && ready.has(name));

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

  const isLeft = ({ name }: Projection): boolean =>
    stuck.has(name) || (ready.has(name) && seen.get(name)?.isEjected === true);

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      await pause(isReady() ? everyMs : catchingUpEveryMs, stopping.signal);
      if (!stopping.signal.aborted) await tryToRead();
    }
  }

  const tryToRead = (): Promise<void> =>
    readCheckpoints().catch((error) => {
      if (stopping.signal.aborted || performance.now() - saidAt < sayEveryMs) return;
      saidAt = performance.now();
      log.warn({ reason: asError(error).message }, "cannot find out how far the read models are, retrying");
    });

  return {
    async start() {
      const until = performance.now() + momentMs;
      await tryToRead();
      while (!isReady() && performance.now() < until) {
        await pause(momentEveryMs, stopping.signal);
        await tryToRead();
      }
      isStarting = false;
      watching = run();
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
      const behind = projections
        .filter(({ name, independent }) => !independent && isCatchingUp(name))
        .map(({ name }) => name);
      if (behind.length === 0) return undefined;
      const { name, position } = furthestBehind(behind);
      return `catching up with the event log: ${name} at ${progress(position, head)}`;
    },
    together: () => projections.filter((projection) => !projection.independent && !isLeft(projection)),
    left: () => projections.filter(isLeft).map(({ name }) => name),
    async stop() {
      stopping.abort();
      await watching;
    },
  };
}

/** Progress as shown to a caller. Never 100 %: then it would have caught up. */
const progress = (position: number, head: number | undefined): string =>
  head === undefined || head === 0
    ? "how far it is cannot be found out yet"
    : `${Math.min(99, Math.floor((100 * position) / head))} % (position ${position} of ${head})`;
