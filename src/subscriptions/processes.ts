import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";
import type { Clock } from "#src/clock.ts";
import type { EventStore } from "#src/eventStore/eventStore.ts";
import type { Database } from "#src/postgres/database.ts";
import type { Process } from "#src/processes/process.ts";
import { createLease, type Lease } from "./lease.ts";
import { createPartition, type Partition } from "./partition.ts";

export type ProcessRunner = {
  start(): void;
  stop(): Promise<void>;
  /** Resolves when every process has handled the log up to its end and has no timer due: for tests. */
  idle(): Promise<void>;
};

export type ProcessRunnerOptions = {
  store: EventStore;
  database: Database;
  clock: Clock;
  logger: Logger;
  instanceId: string;
  processes: readonly Process[];
};

/** Runs each process while this instance holds its lease. */
export function createProcessRunner(options: ProcessRunnerOptions): ProcessRunner {
  const { store, database, logger, instanceId, processes } = options;
  const stopping = new AbortController();
  const partitions = new Map<string, Partition>();
  const leases: Lease[] = [];
  let running: Promise<unknown> = Promise.resolve();

  function runProcess(process: Process): Promise<void> {
    const name = `process:${process.name}`;
    const onError = (error: unknown) =>
      logger.error({ err: error, process: process.name }, "a process was interrupted");
    const lease = createLease({ database, name, holder: instanceId, onError });
    leases.push(lease);
    return lease.hold(async (signal) => {
      const partition = createPartition({ ...options, process, checkpointName: name, signal });
      partitions.set(process.name, partition);
      try {
        await partition.run();
      } finally {
        partitions.delete(process.name);
      }
    }, stopping.signal);
  }

  return {
    start() {
      running = Promise.all(processes.map(runProcess));
    },
    async stop() {
      stopping.abort();
      await running;
    },
    async idle() {
      for (;;) {
        const head = await store.head();
        const all = processes.map((process) => partitions.get(process.name));
        const settled = await Promise.all(all.map((partition) => partition?.idle(head) ?? false));
        if (settled.every(Boolean) && (await store.head()) === head) return;
        await sleep(20);
      }
    },
  };
}
