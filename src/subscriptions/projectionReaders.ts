import type { EventStore } from "#src/eventStore/eventStore.ts";
import type { Database } from "#src/postgres/database.ts";
import { CheckpointMoved, loadCheckpoints, type Place, ProjectorFailed, writeBatch } from "./checkpoints.ts";
import { createLateIndexes, liveSchema } from "./projectionTables.ts";
import { asError, backoffMs, isPassing, type Log, pause } from "./retrying.ts";

/**
 * `preparing` its tables, by a rebuild where they are of another version; `standingBy` while another instance writes; `catchingUp`
 * with the log; `following` it with the others; `failing`: stands before events it cannot take and tries again; `outdated`: its tables
 * are of another version than this instance's, which leaves them alone.
 */
export type State = "preparing" | "standingBy" | "catchingUp" | "following" | "failing" | "outdated";

export type Member = Place & { state: State; error?: Error };

export type Reading = {
  store: EventStore;
  database: Database;
  log: Log;
  batchSize: number;
  signal: AbortSignal;
  /** Told after every commit, and when positions turn out to be others than believed. */
  onMoved: () => void;
};

/** Some projections that read the log together. `reading` is the end of the batch they are at: who is not behind it may join. */
type Reader = { members: Set<Member>; reading: number };

export type ProjectionReaders = {
  /** Those furthest on read together from the start; the others catch up. `head` is where the log ends. */
  begin(members: readonly Member[], head: number): void;
  /** Lets one more catch up and join. */
  add(member: Member): void;
  /** Resolves after the signal, once nobody writes any more. */
  ended(): Promise<void>;
};

/**
 * One reader, the front, reads the log for all projections that are up to date with it. One that is behind, or whose projector
 * fails, reads by itself and joins the front as soon as it is not behind any more.
 */
export function createProjectionReaders(reading: Reading): ProjectionReaders {
  const { store, log, batchSize, signal } = reading;
  const running = new Set<Promise<void>>();
  const finished = new Set<string>();
  let front: Reader | undefined;

  function open(members: readonly Member[]): Reader {
    const after = Math.min(...members.map((member) => member.position));
    const reader: Reader = { members: new Set(members), reading: after };
    const done = follow(reader).finally(() => running.delete(done));
    running.add(done);
    return reader;
  }

  async function follow(reader: Reader): Promise<void> {
    for (let failures = 0; !signal.aborted && reader.members.size > 0; ) {
      try {
        await readOn(reader, () => {
          failures = 0;
        });
        // A store that was closed under it ends every subscription at once: asking again must leave others their turn.
        await pause(1, signal);
      } catch (error) {
        if (signal.aborted) break;
        failures += 1;
        await recover(reader, error, failures);
      }
    }
    if (front === reader) front = undefined;
  }

  /** Until it fails, or nobody is left who reads here. */
  async function readOn(reader: Reader, succeeded: () => void): Promise<void> {
    const after = Math.min(...[...reader.members].map((member) => member.position));
    reader.reading = after;
    for await (const batch of store.subscribe({ after, batchSize, signal })) {
      reader.reading = batch.position;
      await writeBatch(reading.database, [...reader.members], batch);
      succeeded();
      for (const member of reader.members) settle(member, reader, batch.caughtUp);
      reading.onMoved();
      if (batch.caughtUp) await finish(reader);
      if (batch.caughtUp && reader !== front) joinFront(reader);
      if (reader.members.size === 0) return;
    }
  }

  /** Whoever has caught up for the first time here gets the indexes that waited for it. */
  async function finish(reader: Reader): Promise<void> {
    for (const { projection } of reader.members) {
      if (finished.has(projection.name)) continue;
      await createLateIndexes(reading.database.owner, liveSchema, projection);
      finished.add(projection.name);
    }
  }

  function settle(member: Member, reader: Reader, caughtUp: boolean): void {
    if (member.error) log.info({ projection: member.projection.name }, "projection has recovered");
    delete member.error;
    const follows = reader === front && (caughtUp || member.state === "following");
    member.state = follows ? "following" : "catchingUp";
  }

  function joinFront(reader: Reader): void {
    front ??= reader;
    for (const member of reader.members) {
      if (member.position < front.reading) continue;
      member.state = "following";
      if (front === reader) continue;
      reader.members.delete(member);
      front.members.add(member);
    }
  }

  async function recover(reader: Reader, error: unknown, failures: number): Promise<void> {
    if (error instanceof CheckpointMoved) return lookAgain(reader);
    const culprit = error instanceof ProjectorFailed ? error.projection : undefined;
    const concerned = [...reader.members].filter(({ projection }) => !culprit || projection.name === culprit);
    const details = { err: error, projections: concerned.map(({ projection }) => projection.name), failures };
    if (isPassing(error)) log.warn(details, "cannot write read models, retrying");
    else log.error(details, "a projection fails on these events, retrying");
    for (const member of concerned) {
      member.error = asError(error);
      if (!isPassing(error)) member.state = "failing";
    }
    if (concerned.length < reader.members.size) return putOut(reader, concerned);
    await pause(backoffMs(failures), signal);
  }

  function putOut(reader: Reader, members: readonly Member[]): void {
    for (const member of members) {
      reader.members.delete(member);
      open([member]);
    }
  }

  /** Somebody else wrote, swapped the tables, or the database came back without its last moments: what is stored counts. */
  async function lookAgain(reader: Reader): Promise<void> {
    // Others may join meanwhile: nothing was looked up for them.
    const asked = [...reader.members];
    const stored = await loadCheckpoints(reading.database, names(asked)).catch(() => undefined);
    for (const member of stored ? asked : []) adopt(member, stored?.get(member.projection.name), reader);
    reading.onMoved();
    log.info({ projections: names(asked) }, "checkpoints have moved, continuing from their current positions");
    await pause(50 + Math.random() * 200, signal);
  }

  function adopt(member: Member, stored: { version: number; position: number } | undefined, reader: Reader): void {
    if (stored?.version === member.projection.version) {
      member.position = stored.position;
      return;
    }
    member.state = "outdated";
    reader.members.delete(member);
    const details = { projection: member.projection.name, version: member.projection.version, stored: stored?.version };
    log.warn(details, "the read model belongs to another version of the service, leaving it alone");
  }

  return {
    begin(members, head) {
      const furthest = Math.max(0, ...members.map((member) => member.position));
      const abreast = members.filter((member) => member.position === furthest);
      for (const member of members) member.state = member.position >= head ? "following" : "catchingUp";
      if (abreast.length > 0) front = open(abreast);
      for (const member of members) if (member.position < furthest) open([member]);
    },
    add(member) {
      if (front && member.position < front.reading) {
        member.state = "catchingUp";
        open([member]);
        return;
      }
      member.state = "following";
      if (front) front.members.add(member);
      else front = open([member]);
    },
    async ended() {
      while (running.size > 0) await Promise.all(running);
    },
  };
}

const names = (members: Iterable<Member>): string[] => [...members].map(({ projection }) => projection.name);
