import type { Projection } from "#projections/projection.ts";
import type { EventStore } from "#src/eventStore/eventStore.ts";
import type { Database } from "#src/platform/postgres/database.ts";
import {
  type Checkpoint,
  CheckpointMoved,
  loadReadModels,
  mainGroup,
  ProjectorFailed,
  type StoredReadModel,
  writeBatch,
} from "./checkpoints.ts";
import { otherHolders } from "./leases.ts";
import { eject, rejoin } from "./membership.ts";
import { createLateIndexes, liveSchema } from "./projectionTables.ts";
import { asError, type Backoff, isPassing, type Log, pause, pauseAfter } from "./retrying.ts";
import type { WaitFor } from "./waitFor.ts";

/**
 * `preparing`: its tables are made, or rebuilt if they have another version; `standingBy`: another instance writes it; `catchingUp` with the log;
 * `following` it; `failing`: its projector cannot take the next events and tries again; `outdated`: its tables belong to another version of the
 * service, which this instance leaves alone.
 */
export type State = "preparing" | "standingBy" | "catchingUp" | "following" | "failing" | "outdated";

/** A read model as this instance knows it. `failed`: the position before the events that its projector failed on, and how often. */
export type Member = {
  projection: Projection;
  position: number;
  state: State;
  error?: Error;
  failed?: { position: number; times: number };
};

/** How often a projector may fail on the same events before the main group goes on without it. */
const mostFailures = 3;
/** Milliseconds between two attempts to rejoin the main group, and between two reads of a main group that another version writes. */
const retryEveryMs = 250;

export type LoopOptions = {
  store: EventStore;
  database: Database;
  log: Log;
  batchSize: number;
  backoff: Backoff;
  signal: AbortSignal;
  /** Name of the lease under which this instance writes. */
  lease: string;
  /** Called after every commit, and when positions turn out to be others than believed. */
  onMoved: () => void;
  /** Called by a loop that has written all there was, once there is more. */
  pauseUnlessAwaited: WaitFor["pauseUnlessAwaited"];
};

/**
 * A loop that writes the read models at one checkpoint. `isCertain`: what the loop believes is what is stored. `mustReload` is aborted to make it
 * read that again.
 */
type Loop = {
  name: string;
  checkpoint?: Checkpoint;
  members: Member[];
  isCertain: boolean;
  mustReload: AbortController;
};

export type GroupLoops = {
  /** Opens a loop for each checkpoint that has read models of this instance's versions and no loop. */
  open(): Promise<void>;
  /** Makes every loop read its checkpoint again before it goes on. */
  reload(): void;
  /** Read models that this instance writes and whose positions it is certain of. */
  written(): Member[];
  /** Resolves after the signal, once nothing is being written. */
  ended(): Promise<void>;
};

/**
 * A loop for each group: the read models that are served together are one, with one checkpoint, and each independent one has its own. One whose
 * projector fails again and again leaves the main group, which goes on; it has a checkpoint and a loop of its own until it has rejoined. So has
 * one that is new, or of another version.
 */
export function createGroupLoops(members: readonly Member[], options: LoopOptions): GroupLoops {
  const { store, database, log, batchSize, backoff, signal, lease, onMoved, pauseUnlessAwaited } = options;
  const running = new Map<string, { loop: Loop; done: Promise<void> }>();
  const indexed = new Set<string>();

  function openFor(stored: ReadonlyMap<string, StoredReadModel>): void {
    for (const member of members) {
      const found = stored.get(member.projection.name);
      if (found?.version !== member.projection.version || running.has(found.checkpoint) || signal.aborted) continue;
      const mustReload = new AbortController();
      const loop: Loop = { name: found.checkpoint, members: [], isCertain: false, mustReload };
      running.set(loop.name, { loop, done: follow(loop).finally(() => running.delete(loop.name)) });
    }
  }

  async function follow(loop: Loop): Promise<void> {
    for (let failures = 0; !signal.aborted; ) {
      try {
        loop.mustReload = new AbortController();
        const [head, stored] = [await store.head(), await loadReadModels(database)];
        openFor(stored);
        if (!adopt(loop, { stored, head })) return;
        if (loop.name === mainGroup && (await leaveOut(loop, foreignTo(loop, stored)))) continue;
        if (isEjected(loop) && (await tryToRejoin(loop, head))) continue;
        await readOn(loop, () => {
          failures = 0;
        });
        // A store that is closed ends every subscription at once: the loop must not take the thread for itself.
        await pause(1, signal);
      } catch (error) {
        if (signal.aborted) return;
        if (!(error instanceof ProjectorFailed)) loop.isCertain = false;
        // Another writer moved the checkpoint: that is no failure.
        if (!(error instanceof CheckpointMoved)) failures += 1;
        await recover(loop, error, failures);
      }
    }
  }

  /** Goes by what is stored. False if no read model of this instance's versions is at this checkpoint any more. */
  function adopt(
    loop: Loop,
    { stored, head }: { stored: ReadonlyMap<string, StoredReadModel>; head: number },
  ): boolean {
    for (const member of members) noteVersion(member, stored.get(member.projection.name));
    const here = members.filter(({ projection: { name, version } }) => {
      const found = stored.get(name);
      return found?.checkpoint === loop.name && found.version === version;
    });
    loop.members = here;
    if (here.length === 0) return false;
    const { position, generation } = stored.get(here[0]!.projection.name)!;
    if (loop.checkpoint && loop.checkpoint.position !== position)
      log.info({ projections: names(here) }, "checkpoints have moved, continuing from their current positions");
    loop.checkpoint = { name: loop.name, position, generation };
    for (const member of here) {
      member.position = position;
      if (member.state === "failing") continue;
      recovered(member);
      member.state = position >= head && !isEjected(loop) ? "following" : "catchingUp";
    }
    loop.isCertain = !loop.mustReload.signal.aborted;
    onMoved();
    return true;
  }

  function noteVersion(member: Member, stored: StoredReadModel | undefined): void {
    const { name, version } = member.projection;
    if (stored?.version === version || member.state === "outdated" || member.state === "preparing") return;
    member.state = "outdated";
    const details = { projection: name, version, stored: stored?.version };
    log.warn(details, "the read model belongs to another version of the service, leaving it alone");
  }

  /** Names of the read models at a checkpoint that this instance cannot write: it does not know them, or has another version. */
  const foreignTo = (loop: Loop, stored: ReadonlyMap<string, StoredReadModel>): string[] =>
    [...stored.values()]
      .filter(({ name, checkpoint }) => checkpoint === loop.name && !names(loop.members).includes(name))
      .map(({ name }) => name);

  /**
   * True if the main group has to be read again, because of read models in it that this instance cannot write. They are ejected if this instance
   * is about to rebuild them, or if no instance of another version writes read models.
   */
  async function leaveOut(loop: Loop, foreign: readonly string[]): Promise<boolean> {
    if (foreign.length === 0) return false;
    const isRebuilt = members.some(
      ({ projection, state }) => state === "preparing" && foreign.includes(projection.name),
    );
    if (isRebuilt || (await otherHolders(database, lease)) === 0) {
      await eject(database, loop.checkpoint!, foreign);
      return true;
    }
    loop.isCertain = false;
    for (const member of loop.members) member.state = "standingBy";
    await pause(retryEveryMs, signal);
    return true;
  }

  const isEjected = ({ name, members: [only] }: Loop): boolean => name !== mainGroup && !only!.projection.independent;

  /** Rejoins the main group once the read model is not far behind, because the group waits while it writes what is missing. */
  async function tryToRejoin({ members: [member], checkpoint }: Loop, head: number): Promise<boolean> {
    if (head - checkpoint!.position > batchSize) return false;
    if (!(await rejoin({ database, store, signal }, member!.projection, checkpoint!))) return false;
    recovered(member!);
    member!.state = "following";
    const main = running.get(mainGroup);
    if (main) mustReload(main.loop);
    return true;
  }

  async function readOn(loop: Loop, succeeded: () => void): Promise<void> {
    const checkpoint = loop.checkpoint!;
    const ejected = isEjected(loop);
    const until = AbortSignal.any([
      signal,
      loop.mustReload.signal,
      ...(ejected ? [AbortSignal.timeout(retryEveryMs)] : []),
    ]);
    const gather = (position: number): Promise<void> => pauseUnlessAwaited(names(loop.members), position, until);
    for await (const batch of store.subscribe({ after: checkpoint.position, batchSize, gather, signal: until })) {
      await writeBatch(database, { checkpoint, projections: loop.members.map(({ projection }) => projection) }, batch);
      succeeded();
      for (const member of loop.members) settle(member, checkpoint.position, batch.caughtUp && !ejected);
      onMoved();
      if (!batch.caughtUp) continue;
      await makeLateIndexes(loop);
      if (ejected) return;
    }
  }

  /** A read model that has caught up for the first time here gets the indexes that waited for it. */
  async function makeLateIndexes(loop: Loop): Promise<void> {
    for (const { projection } of loop.members) {
      if (indexed.has(projection.name)) continue;
      await createLateIndexes(database.owner, liveSchema, projection);
      indexed.add(projection.name);
    }
  }

  function settle(member: Member, position: number, follows: boolean): void {
    member.position = position;
    recovered(member);
    if (follows || member.state !== "following") member.state = follows ? "following" : "catchingUp";
  }

  function recovered(member: Member): void {
    if (member.error) log.info({ projection: member.projection.name }, "projection has recovered");
    delete member.error;
    delete member.failed;
  }

  async function recover(loop: Loop, error: unknown, failures: number): Promise<void> {
    onMoved();
    if (error instanceof CheckpointMoved) return pause(50 + Math.random() * 200, signal);
    const culprit = error instanceof ProjectorFailed ? error.projection : undefined;
    const concerned = loop.members.filter(({ projection }) => !culprit || projection.name === culprit);
    const details = { err: error, projections: names(concerned), failures };
    if (isPassing(error)) log.warn(details, "cannot write read models, retrying");
    else log.error(details, "a projection fails on these events, retrying");
    for (const member of concerned) {
      member.error = asError(error);
      if (!isPassing(error)) member.state = "failing";
    }
    if (culprit && loop.members.length > 1 && concerned.some(failsAgain)) return ejectFailing(loop, concerned);
    await pause(pauseAfter(error, failures, backoff), signal);
  }

  /** True once it has failed often enough at the same position. */
  function failsAgain(member: Member): boolean {
    const times = member.failed?.position === member.position ? member.failed.times + 1 : 1;
    member.failed = { position: member.position, times };
    return times >= mostFailures;
  }

  async function ejectFailing({ checkpoint }: Loop, failing: readonly Member[]): Promise<void> {
    try {
      await eject(database, checkpoint!, names(failing));
    } catch (error) {
      // The group meets the same failure again, and tries this again.
      return log.warn({ err: error }, "cannot write read models, retrying");
    }
    for (const { projection, position } of failing)
      log.error(
        { projection: projection.name, position },
        "a read model has left the others, which go on: only what is answered from it answers 503",
      );
  }

  function mustReload(loop: Loop): void {
    loop.isCertain = false;
    loop.mustReload.abort();
  }

  return {
    async open() {
      openFor(await loadReadModels(database));
    },
    reload() {
      for (const { loop } of running.values()) mustReload(loop);
    },
    written: () => [...running.values()].flatMap(({ loop }) => (loop.isCertain ? loop.members : [])),
    async ended() {
      while (running.size > 0) await Promise.all([...running.values()].map(({ done }) => done));
    },
  };
}

const names = (members: readonly Member[]): string[] => members.map(({ projection }) => projection.name);
