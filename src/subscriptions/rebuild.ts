import type { Projection } from "#projections/projection.ts";
import type { Batch, EventStore } from "#src/eventStore/eventStore.ts";
import type { Database, Sql } from "#src/postgres/database.ts";
import { loadCheckpoints, type Place, projectOn } from "./checkpoints.ts";
import { createLateIndexes, createTables, enter, quoted, serviceRoleOf, type TablesSql } from "./projectionTables.ts";
import { isPassing, pause } from "./retrying.ts";
import { swapTables } from "./swap.ts";

export type Replay = {
  store: EventStore;
  database: Database;
  tablesSql: TablesSql;
  signal: AbortSignal;
  /** Told after each batch how far the replay is. */
  onProgress?: (position: number, events: number) => void;
};

const batchSize = 1000;
const swapTries = 60;

/**
 * Fills a projection's tables again in a schema of their own and puts them in the place of the live ones, which serve until then and
 * go on being written. One rebuild of a projection at a time; one that was interrupted left a schema that the next one removes.
 */
export async function rebuild(replay: Replay, projection: Projection): Promise<void> {
  const { database } = replay;
  await database.owner.transaction(async (lock) => {
    await lock.query("select pg_advisory_xact_lock(727276, hashtext($1))", [projection.name]);
    const schema = `rebuild_${projection.name}`;
    await makeSchema(replay, schema, projection);
    const place = { projection, position: 0 };
    await catchUp(replay, schema, place);
    await createLateIndexes(database.owner, schema, projection);
    await swapWhenPossible(replay, schema, place);
  });
}

async function makeSchema({ database, tablesSql }: Replay, schema: string, projection: Projection): Promise<void> {
  const ddl = await tablesSql(projection);
  const serviceRole = await serviceRoleOf(database);
  await database.owner.transaction(async (tx) => {
    await tx.query(`drop schema if exists ${quoted(schema)} cascade; create schema ${quoted(schema)}`);
    await createTables(tx, schema, { projection, ddl, serviceRole });
  });
}

/** Up to the end of the log as it is. */
async function catchUp(replay: Replay, schema: string, place: Place): Promise<void> {
  const head = await replay.store.head();
  await replayUpTo(replay, { place, end: head }, async (batch) => {
    await replay.database.owner.transaction(async (tx) => {
      await tx.query("set local synchronous_commit = off");
      await enter(tx, schema);
      await projectOn(tx, place, batch);
    });
  });
}

/** Hands on every batch after the place up to a position of the log, cut off exactly there, and moves the place. */
export async function replayUpTo(
  replay: Replay,
  { place, end }: { place: Place; end: number },
  write: (batch: Batch) => Promise<void>,
): Promise<void> {
  if (place.position >= end) return;
  if ((await replay.store.head()) < end)
    throw new Error(`the log ends before position ${end}: it is not the log of these tables`);
  for await (const batch of replay.store.subscribe({ after: place.position, batchSize, signal: replay.signal })) {
    const position = Math.min(batch.position, end);
    const events = batch.events.filter((event) => event.position <= end);
    await write({ events, position, caughtUp: batch.caughtUp });
    place.position = position;
    replay.onProgress?.(position, events.length);
    if (position === end) return;
  }
  replay.signal.throwIfAborted();
}

/** Readers that are in the way are waited for briefly, time and again, rather than made to queue behind the swap. */
async function swapWhenPossible(replay: Replay, schema: string, place: Place): Promise<void> {
  for (let tries = 1; ; tries++) {
    replay.signal.throwIfAborted();
    try {
      return await swap(replay, schema, place);
    } catch (error) {
      if (!isPassing(error) || tries === swapTries) throw error;
      await pause(250, replay.signal);
      await catchUp(replay, schema, place);
    }
  }
}

/** Holds the live checkpoint, so that nobody writes; brings the new tables to the same position; exchanges them. */
async function swap(replay: Replay, schema: string, place: Place): Promise<void> {
  const { projection } = place;
  const arrived = { ...place };
  await replay.database.owner.transaction(async (tx) => {
    await tx.query("set local lock_timeout = '300ms'");
    await tx.query("select 1 from work.checkpoints where name = $1 for update", [projection.name]);
    const live = (await loadCheckpoints(tx, [projection.name])).get(projection.name);
    await enter(tx, schema);
    await replayUpTo(replay, { place: arrived, end: live?.position ?? 0 }, (batch) => projectOn(tx, arrived, batch));
    await swapTables(tx, schema, { oldTables: live?.tables ?? [], newTables: projection.tables });
    await storeCheckpoint(tx, arrived);
  });
}

async function storeCheckpoint(tx: Sql, { projection, position }: Place): Promise<void> {
  await tx.query(
    `insert into work.checkpoints (name, version, position, tables) values ($1, $2, $3, $4)
     on conflict (name) do update set version = $2, position = $3, tables = $4, updated_at = clock_timestamp()`,
    [projection.name, projection.version, position, projection.tables],
  );
}
