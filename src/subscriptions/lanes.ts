/** The right to run, one of a bounded number. */
export type Slot = {
  /** Gives the slot to others while something is waited for. */
  without(waiting: () => Promise<void>): Promise<void>;
};

export type Lanes = {
  /** Runs `work` after everything that was added before under the same key, beside what is added under others. It must not throw. */
  add(key: string, work: (slot: Slot) => Promise<void>): void;
  /** What is waiting or running under one key, and under all. */
  waiting(key: string): number;
  size(): number;
  /** Resolves when less than this many are waiting or running. */
  below(limit: number): Promise<void>;
};

/** One lane per key; of all lanes together at most `concurrency` run at once. */
export function createLanes(concurrency: number): Lanes {
  const lanes = new Map<string, { tail: Promise<void>; length: number }>();
  const slots = createSlots(concurrency);
  const watchers = new Set<() => void>();
  let size = 0;

  function finished(key: string): void {
    size -= 1;
    const lane = lanes.get(key)!;
    lane.length -= 1;
    if (lane.length === 0) lanes.delete(key);
    for (const watch of watchers) watch();
  }

  async function run(before: Promise<void> | undefined, work: (slot: Slot) => Promise<void>): Promise<void> {
    await before;
    await slots.take();
    try {
      await work({
        async without(waiting) {
          slots.give();
          await waiting();
          await slots.take();
        },
      });
    } finally {
      slots.give();
    }
  }

  return {
    add(key, work) {
      size += 1;
      const lane = lanes.get(key);
      const tail = run(lane?.tail, work).then(() => finished(key));
      lanes.set(key, { tail, length: (lane?.length ?? 0) + 1 });
    },
    waiting: (key) => lanes.get(key)?.length ?? 0,
    size: () => size,
    below: (limit) =>
      new Promise((resolve) => {
        const watch = (): void => {
          if (size >= limit) return;
          watchers.delete(watch);
          resolve();
        };
        watchers.add(watch);
        watch();
      }),
  };
}

function createSlots(free: number) {
  const queue: (() => void)[] = [];
  return {
    async take(): Promise<void> {
      if (free > 0) free -= 1;
      else await new Promise<void>((resolve) => queue.push(resolve));
    },
    give(): void {
      const next = queue.shift();
      if (next) next();
      else free += 1;
    },
  };
}
