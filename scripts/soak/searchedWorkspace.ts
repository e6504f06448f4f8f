import { randomUUID } from "node:crypto";
import { setTimeout } from "node:timers/promises";
import { search } from "#projections/search/projector.ts";
import { threads as threadsModel } from "#projections/threads/projector.ts";
import { readWholeLog } from "#src/eventStore/eventStore.ts";
import { createPostgresEventStore } from "#src/eventStore/postgres/store.ts";
import { createLogger } from "#src/platform/logger.ts";
import { connectDatabase, inBackground } from "#src/platform/postgres/database.ts";
import { createProjectionRunner, type ProjectionRunner } from "#src/runtime/projections/projectionRunner.ts";
import { append } from "#test/support/events.ts";
import { createTestDatabase } from "#test/support/postgres.ts";
import type { Random } from "../support/random.ts";
import { makeScaleLog } from "../support/scaleLog.ts";
import type { Report } from "./proof.ts";
import { drawChanges, eventsOf, type SearchChange } from "./searchMail.ts";
import { createOracle } from "./searchOracle.ts";
import type { StoredRow } from "./searchQuestions.ts";

/** Part of the threads that changes concern before the first search. */
const changedShare = 0.5;

export type SearchedWorkspace = Awaited<ReturnType<typeof openSearchedWorkspace>>;

/**
 * Makes a workspace with made-up mail, changed in many ways, and the oracle for it; next to it another workspace with mail of the same
 * words.
 */
export async function openSearchedWorkspace({
  random,
  threads: count,
  report,
}: {
  random: Random;
  threads: number;
  report: Report;
}) {
  const testDatabase = await createTestDatabase();
  const database = connectDatabase(testDatabase);
  const store = createPostgresEventStore({ connectionString: testDatabase.serviceUrl });
  const runner = createProjectionRunner({
    ...{ store, database: inBackground(database), logger: createLogger("error"), instanceId: randomUUID() },
    projections: [threadsModel, search],
  });
  const [workspaceId, otherId] = [randomUUID(), randomUUID()];
  const identities = ["support", "sales", "billing"].map((name) => ({
    id: randomUUID(),
    email_address: `${name}@agents.example`,
  }));
  const onProgress = (messages: number): void => report.progress(messages, 5 * count, "messages");
  const log = { owner: database.owner, identities, onProgress };
  await makeScaleLog({ ...log, workspaceId, threads: count });
  await makeScaleLog({ ...log, workspaceId: otherId, threads: Math.ceil(count / 20) });

  const oracle = createOracle();
  const threads: string[] = [];
  for await (const { events } of readWholeLog(store)) {
    for (const event of events) {
      if (event.metadata.workspaceId !== workspaceId) continue;
      if (event.type === "ThreadOpened") threads.push(event.stream.slice("thread-".length));
      oracle.apply(event);
    }
  }
  const mail = { random, oracle, workspaceId, identities: identities.map(({ id }) => id), threads, absorbed: [] };
  const appendAll = async (changes: readonly SearchChange[]): Promise<void> => {
    for (const { stream, events } of changes) await append({ store }, { workspaceId, stream }, ...events);
  };
  for (let round = 0; round < 4; round++) {
    const changes = drawChanges(mail, { count: Math.ceil((count * changedShare) / 4), onlyKnown: false });
    await appendAll(changes);
    for (const event of eventsOf(changes)) oracle.apply(event);
  }
  const close = async (): Promise<void> => {
    await runner.stop();
    await store.close();
    await database.close();
    await testDatabase.drop();
  };
  try {
    await runner.start();
    await caughtUp(runner);
    await database.owner.query("analyze");
  } catch (error) {
    await close();
    throw error;
  }

  return {
    ...{ oracle, mail, workspaceId, reads: database.reads },
    /** Appends changes, and resolves when the read models have them. */
    async change(changes: readonly SearchChange[]): Promise<void> {
      await appendAll(changes);
      await caughtUp(runner);
    },
    /** Returns all rows of `threads`, listed or not. */
    async rows(): Promise<StoredRow[]> {
      const { rows } = await database.reads
        .of(workspaceId)
        .query<StoredRow>("select * from threads where workspace_id = $1 order by created_at, id", [workspaceId]);
      return rows;
    },
    close,
  };
}

/** Resolves when the read models have the whole log. Rejects if one of them cannot be written for 10 s. */
async function caughtUp(runner: ProjectionRunner): Promise<void> {
  let isReached = false;
  void runner.caughtUp().then(() => {
    isReached = true;
  });
  for (let failures = 0; !isReached; await setTimeout(10)) {
    failures = runner.failing().length > 0 ? failures + 1 : 0;
    if (failures > 1_000) throw new Error(`a read model cannot be written: ${runner.trouble()}`);
  }
}
