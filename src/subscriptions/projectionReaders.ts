import type { EventStore } from "#src/eventStore/eventStore.ts";
import type { Database } from "#src/postgres/database.ts";
import { type Beside, besideFrontEvery, followBeside } from "./besideFront.ts";
import { CheckpointMoved, loadCheckpoints, type Place, ProjectorFailed, writeBatch } from "./checkpoints.ts";
import { createPace } from "./pace.ts";
import { createLateIndexes, liveSchema } from "./projectionTables.ts";
import { asError, type Backoff, isPassing, type Log, pause, pauseAfter } from "./retrying.ts";

/**
 * `preparing` its tables, by a rebuild where they are of another version; `standingBy` while another instance writes; `catchingUp`
 * with the log; `following` it with the others; `failing`: has reached events it cannot take and tries again; `outdated`: its tables
 * are of another version than this instance's, which leaves them alone.
 */
export type State = "preparing" | "standingBy" | "catchingUp" | "following" | "failing" | "outdated";

export type Member = Place & { state: State; error?: Error; failed?: { position: number; times: number } };

/** How often a projector may fail on the same events before the others go on without it. */
const mostFailures = 3;

export type Reading = {
  store: EventStore;
  database: Database;
  log: Log;
  batchSize: number;
  backoff: Backoff;
  signal: AbortSignal;
  /** Told after every commit, and when positions turn out to be others than believed. */
  onMoved: () => void;
  /** What the front does once it has written all there was, up to a position. */
  rest: (position: number, signal: AbortSignal) => Promise<void>;
};

/**
 * Some projections that read the log together and are written in one transaction. `reading` is the end of the batch they are at: who is not
 * behind it may join. `beside` follow what they read, each in transactions of its own. `doubt` is aborted while what is stored may be less than
 * they believe: they look at it before they read on.
 */
type Reader = { members: Set<Member>; beside: Map<Member, Beside>; reading: number; doubt: AbortController };

export type ProjectionReaders = {
  /** Those that are served together and furthest on read together from the start; the others catch up. `head` is where the log ends. */
  begin(members: readonly Member[], head: number): void;
  /** Lets one more catch up and join. */
  add(member: Member): void;
  /** Has everybody look at what is stored before they read on. */
  lookAgain(): void;
  /** Whether somebody has yet to look. */
  doubt(): boolean;
  /** Resolves after the signal, once nobody writes any more. */
  ended(): Promise<void>;
};

/**
 * One reader, the front, reads the log for all projections that are up to date with it. Those that are served together it writes in one
 * transaction; the others follow beside it. One that is behind, or whose projector fails again and again, reads by itself and joins
 * the front as soon as it is not behind any more.
 */
export function createProjectionReaders(reading: Reading): ProjectionReaders {
  const { store, log, batchSize, backoff, signal } = reading;
  const running = new Map<Reader, Promise<void>>();
  const finished = new Set<string>();
  let front: Reader | undefined;

  function open(members: readonly Member[]): Reader {
    const after = Math.min(...members.map((member) => member.position));
    const reader: Reader = {
      members: new Set(members),
      beside: new Map(),
      reading: after,
      doubt: new AbortController(),
    };
    running.set(
      reader,
      follow(reader).finally(() => running.delete(reader)),
    );
    return reader;
  }

  async function follow(reader: Reader): Promise<void> {
    for (let failures = 0; !signal.aborted && reader.members.size > 0; ) {
      try {
        if (reader.doubt.signal.aborted) {
          await lookAt(reader);
          continue;
        }
        await readOn(reader, () => {
          failures = 0;
        });
        // A store that was closed under it ends every subscription at once: asking again must leave others their turn.
        await pause(1, signal);
      } catch (error) {
        if (signal.aborted) break;
        // Where another has written, nothing failed: it is waited for a moment.
        if (!(error instanceof CheckpointMoved)) failures += 1;
        await recover(reader, error, failures);
      }
    }
    if (front === reader) front = undefined;
    await dismissBeside(reader);
  }

  /** Those beside a reader that ends, or no longer knows where it is, read by themselves, from what is stored. */
  async function dismissBeside(reader: Reader): Promise<void> {
    const beside = [...reader.beside];
    reader.beside.clear();
    for (const [member, follower] of beside) {
      await follower.leave();
      if (!signal.aborted) open([member]).doubt.abort();
    }
  }

  function putBeside(reader: Reader, member: Member): void {
    const onLost = (): void => {
      if (reader.beside.delete(member) && !signal.aborted) open([member]);
    };
    const { database, onMoved } = reading;
    const pace = createPace({ monotonic: () => performance.now() }, besideFrontEvery);
    reader.beside.set(member, followBeside({ database, place: member, pace, onMoved, onLost }));
  }

  /** Until it fails, or nobody is left who reads here. */
  async function readOn(reader: Reader, succeeded: () => void): Promise<void> {
    const after = Math.min(...[...reader.members].map((member) => member.position));
    reader.reading = after;
    const until = AbortSignal.any([signal, reader.doubt.signal]);
    for await (const batch of store.subscribe({ after, batchSize, signal: until })) {
      reader.reading = batch.position;
      const along = [...reader.beside].filter(([, follower]) => follower.mayMoveWith(batch)).map(([member]) => member);
      await writeBatch(reading.database, [...reader.members, ...along], batch);
      succeeded();
      for (const member of reader.members) settle(member, reader, batch.caughtUp);
      for (const follower of reader.beside.values()) follower.take(batch);
      reading.onMoved();
      if (batch.caughtUp) await finish(reader);
      if (batch.caughtUp && reader !== front) joinFront(reader);
      if (reader.members.size === 0) return;
      if (batch.caughtUp && reader === front) await reading.rest(batch.position, until);
    }
  }

  /** A read model that has caught up for the first time here gets the indexes that waited for it. */
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
    delete member.failed;
    const follows = reader === front && (caughtUp || member.state === "following");
    member.state = follows ? "following" : "catchingUp";
  }

  /** What is written apart never becomes the front: what joined it would be written with it. */
  function joinFront(reader: Reader): void {
    if ([...reader.members].every(({ projection }) => !projection.apart)) front ??= reader;
    for (const member of reader.members) {
      if (front && member.position < front.reading) continue;
      member.state = "following";
      if (!front || front === reader) continue;
      reader.members.delete(member);
      enter(front, member);
    }
  }

  function enter(reader: Reader, member: Member): void {
    if (member.projection.apart) putBeside(reader, member);
    else reader.members.add(member);
  }

  async function recover(reader: Reader, error: unknown, failures: number): Promise<void> {
    if (error instanceof CheckpointMoved) {
      reader.doubt.abort();
      return pause(50 + Math.random() * 200, signal);
    }
    const culprit = error instanceof ProjectorFailed ? error.projection : undefined;
    const concerned = [...reader.members].filter(({ projection }) => !culprit || projection.name === culprit);
    const details = { err: error, projections: concerned.map(({ projection }) => projection.name), failures };
    if (isPassing(error)) log.warn(details, "cannot write read models, retrying");
    else log.error(details, "a projection fails on these events, retrying");
    for (const member of concerned) {
      member.error = asError(error);
      if (!isPassing(error)) member.state = "failing";
    }
    if (culprit && reader.members.size > 1 && concerned.some(failsAgain)) return putOut(reader, concerned);
    await pause(pauseAfter(error, failures, backoff), signal);
  }

  /** True once it has failed often enough at the same position. */
  function failsAgain(member: Member): boolean {
    const times = member.failed?.position === member.position ? member.failed.times + 1 : 1;
    member.failed = { position: member.position, times };
    return times >= mostFailures;
  }

  function putOut(reader: Reader, members: readonly Member[]): void {
    for (const member of members) {
      reader.members.delete(member);
      log.error(
        { projection: member.projection.name, position: member.position },
        "a read model has left the others, which go on: only what is answered from it answers 503",
      );
      open([member]);
    }
  }

  /** Somebody else wrote, swapped the tables, or the database came back without its last moments: what is stored counts. */
  async function lookAt(reader: Reader): Promise<void> {
    // Others may join meanwhile: nothing was looked up for them.
    const asked = [...reader.members];
    await dismissBeside(reader);
    const stored = await loadCheckpoints(reading.database, names(asked));
    const moved = asked.filter(({ projection, position }) => stored.get(projection.name)?.position !== position);
    for (const member of asked) adopt(member, stored.get(member.projection.name), reader);
    reader.doubt = new AbortController();
    reading.onMoved();
    if (moved.length > 0)
      log.info({ projections: names(moved) }, "checkpoints have moved, continuing from their current positions");
  }

  function adopt(member: Member, stored: { version: number; position: number } | undefined, reader: Reader): void {
    if (stored?.version === member.projection.version) {
      member.position = stored.position;
      if (member.state !== "failing") delete member.error;
      return;
    }
    member.state = "outdated";
    reader.members.delete(member);
    const details = { projection: member.projection.name, version: member.projection.version, stored: stored?.version };
    log.warn(details, "the read model belongs to another version of the service, leaving it alone");
  }

  return {
    begin(members, head) {
      const together = members.filter(({ projection }) => !projection.apart);
      const furthest = Math.max(0, ...together.map((member) => member.position));
      const abreast = together.filter((member) => member.position === furthest);
      for (const member of members) member.state = member.position >= head ? "following" : "catchingUp";
      if (abreast.length > 0) front = open(abreast);
      for (const member of members) {
        if (abreast.includes(member)) continue;
        // One whose indexes wait until it has caught up comes to the front by itself: it may not have got them yet.
        const { apart, hasLateIndexes } = member.projection;
        if (front && apart && !hasLateIndexes && member.position >= furthest) putBeside(front, member);
        else open([member]);
      }
    },
    add(member) {
      const isBehind = front !== undefined && member.position < front.reading;
      member.state = isBehind ? "catchingUp" : "following";
      if (front && !isBehind) return enter(front, member);
      const reader = open([member]);
      if (!member.projection.apart) front ??= reader;
    },
    lookAgain() {
      for (const reader of running.keys()) reader.doubt.abort();
    },
    doubt: () => [...running.keys()].some((reader) => reader.doubt.signal.aborted),
    async ended() {
      while (running.size > 0) await Promise.all(running.values());
    },
  };
}

const names = (members: Iterable<Member>): string[] => [...members].map(({ projection }) => projection.name);
