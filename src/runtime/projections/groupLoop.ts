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
import {
  countFailure,
  type GroupMember,
  markFailed,
  markRecovered,
  markWritten,
  memberNames,
  noteVersion,
} from "./groupMember.ts";
import { otherHolders } from "./leases.ts";
import { eject, rejoin } from "./membership.ts";
import { type Backoff, isTransient, pause, pauseAfterFailures, type RunnerLog } from "./retrying.ts";
import type { WaitFor } from "./waitFor.ts";

/** Milliseconds between two attempts to rejoin the main group, and between two reads of a main group that another version writes. */
const retryEveryMs = 250;

export type LoopOptions = {
  store: EventStore;
  database: Database;
  log: RunnerLog;
  batchSize: number;
  backoff: Backoff;
  signal: AbortSignal;
  /** Name of the lease under which this instance writes. */
  lease: string;
  /** Called after every commit, and when stored positions turn out to differ from those in memory. */
  onMoved: () => void;
  /** Called by a loop that had caught up, once there are more events. */
  pauseUnlessAwaited: WaitFor["pauseUnlessAwaited"];
};

/** The other read models and loops, as a loop uses them. */
export type LoopContext = {
  /** Every read model of this instance, at any checkpoint. */
  members: readonly GroupMember[];
  /** Starts loops for checkpoints that have none. */
  openFor(stored: ReadonlyMap<string, StoredReadModel>): void;
  reloadMain(): void;
};

/** A loop that writes the read models at one checkpoint. */
export type GroupLoop = {
  members: readonly GroupMember[];
  /** True if the loop's positions in memory are known to equal the stored ones. */
  isCertain: boolean;
  /** Makes it reload its checkpoint before it continues. */
  reload(): void;
  /** Resolves when the loop has ended: after the signal, or once no read model of this instance's versions is at its checkpoint. */
  done: Promise<void>;
};

/** Starts the loop of the checkpoint `group`. */
export function startGroupLoop(
  group: string,
  { members, openFor, reloadMain }: LoopContext,
  options: LoopOptions,
): GroupLoop {
  const { store, database, log, batchSize, backoff, signal, lease, onMoved, pauseUnlessAwaited } = options;
  let checkpoint: Checkpoint | undefined;
  let mustReload = new AbortController();
  const loop: GroupLoop = {
    members: [],
    isCertain: false,
    reload() {
      loop.isCertain = false;
      mustReload.abort();
    },
    done: Promise.resolve(),
  };

  async function follow(): Promise<void> {
    for (let failures = 0; !signal.aborted; ) {
      try {
        mustReload = new AbortController();
        const [head, stored] = [await store.head(), await loadReadModels(database)];
        openFor(stored);
        if (!adopt(stored, head)) return;
        if (group === mainGroup && (await leaveOut(foreignTo(stored)))) continue;
        if (isEjected() && (await tryToRejoin(head))) continue;
        await readOn(() => {
          failures = 0;
        });
        // A closed store ends every subscription immediately: without a pause the loop would block the thread.
        await pause(1, signal);
      } catch (error) {
        if (signal.aborted) return;
        if (!(error instanceof ProjectorFailed)) loop.isCertain = false;
        // A checkpoint moved by another writer is not a failure.
        if (!(error instanceof CheckpointMoved)) failures += 1;
        await recover(error, failures);
      }
    }
  }

  /** Takes over the stored positions. False if no read model of this instance's versions is at this checkpoint. */
  function adopt(stored: ReadonlyMap<string, StoredReadModel>, head: number): boolean {
    for (const member of members) noteVersion(member, stored.get(member.projection.name)?.version, log);
    const here = members.filter(({ projection: { name, version } }) => {
      const found = stored.get(name);
      return found?.checkpoint === group && found.version === version;
    });
    loop.members = here;
    if (here.length === 0) return false;
    const { position, generation } = stored.get(here[0]!.projection.name)!;
    if (checkpoint && checkpoint.position !== position)
      log.info({ projections: memberNames(here) }, "checkpoints have moved, continuing from their current positions");
    checkpoint = { name: group, position, generation };
    for (const member of here) {
      member.position = position;
      if (member.state === "failing") continue;
      markRecovered(member, log);
      member.state = position >= head && !isEjected() ? "following" : "catchingUp";
    }
    loop.isCertain = !mustReload.signal.aborted;
    onMoved();
    return true;
  }

  /**
   * Returns the names of the read models at this checkpoint that this instance cannot write: unknown ones, and those of another version.
   */
  const foreignTo = (stored: ReadonlyMap<string, StoredReadModel>): string[] =>
    [...stored.values()]
      .filter(({ name, checkpoint }) => checkpoint === group && !memberNames(loop.members).includes(name))
      .map(({ name }) => name);

  /**
   * True if the main group must be reloaded, because it contains read models that this instance cannot write. They are ejected if this
   * instance is about to rebuild them, or if no instance of another version writes read models.
   */
  async function leaveOut(foreign: readonly string[]): Promise<boolean> {
    if (foreign.length === 0) return false;
    const isRebuilt = members.some(
      ({ projection, state }) => state === "preparing" && foreign.includes(projection.name),
    );
    if (isRebuilt || (await otherHolders(database, lease)) === 0) {
      await eject(database, checkpoint!, foreign);
      return true;
    }
    loop.isCertain = false;
    for (const member of loop.members) member.state = "standingBy";
    await pause(retryEveryMs, signal);
    return true;
  }

  const isEjected = (): boolean => group !== mainGroup && !loop.members[0]!.projection.independent;

  /**
   * Rejoins the main group once the read model is not far behind: the group waits while the missing events are written. A failing one first
   * writes its next batch at its own checkpoint: the group may not have those events yet, and would fail on them too.
   */
  async function tryToRejoin(head: number): Promise<boolean> {
    const [member] = loop.members;
    if (member!.state === "failing" || head - checkpoint!.position > batchSize) return false;
    if (!(await rejoin({ database, store, signal }, member!.projection, checkpoint!))) return false;
    markRecovered(member!, log);
    member!.state = "following";
    reloadMain();
    return true;
  }

  async function readOn(succeeded: () => void): Promise<void> {
    const at = checkpoint!;
    const ejected = isEjected();
    const until = AbortSignal.any([signal, mustReload.signal, ...(ejected ? [AbortSignal.timeout(retryEveryMs)] : [])]);
    const gather = (position: number): Promise<void> => pauseUnlessAwaited(memberNames(loop.members), position, until);
    for await (const batch of store.subscribe({ after: at.position, batchSize, gather, signal: until })) {
      await writeBatch(
        database,
        { checkpoint: at, projections: loop.members.map(({ projection }) => projection) },
        batch,
      );
      succeeded();
      for (const member of loop.members)
        markWritten(member, { position: at.position, follows: batch.caughtUp && !ejected }, log);
      onMoved();
      if (batch.caughtUp && ejected) return;
    }
  }

  async function recover(error: unknown, failures: number): Promise<void> {
    onMoved();
    if (error instanceof CheckpointMoved) return pause(50 + Math.random() * 200, signal);
    const culprit = error instanceof ProjectorFailed ? error.projection : undefined;
    const concerned = loop.members.filter(({ projection }) => !culprit || projection.name === culprit);
    const details = { err: error, projections: memberNames(concerned), failures };
    if (isTransient(error)) log.warn(details, "cannot write read models, retrying");
    else log.error(details, "a projection fails on these events, retrying");
    for (const member of concerned) markFailed(member, error);
    if (culprit && loop.members.length > 1 && concerned.some(countFailure)) return ejectFailing(concerned);
    await pause(pauseAfterFailures(error, failures, backoff), signal);
  }

  async function ejectFailing(failing: readonly GroupMember[]): Promise<void> {
    try {
      await eject(database, checkpoint!, memberNames(failing));
    } catch (error) {
      // The group will fail on the same events again, and retry this.
      return log.warn({ err: error }, "cannot write read models, retrying");
    }
    for (const { projection, position } of failing)
      log.error(
        { projection: projection.name, position },
        "a read model has left the others, which go on: only what is answered from it answers 503",
      );
  }

  loop.done = follow();
  return loop;
}
