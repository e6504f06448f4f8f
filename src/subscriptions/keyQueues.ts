export type KeyQueues = {
  /** Runs `work` after everything added before under the same key, with others at the same time. Never rejects. */
  add(key: string, work: () => Promise<void>): Promise<void>;
  /** Resolves when nothing is queued or running. */
  settled(): Promise<void>;
};

/** One queue per key, a bounded number of them at work at once. */
export function createKeyQueues(concurrency: number): KeyQueues {
  const tails = new Map<string, Promise<void>>();
  const waiting: (() => void)[] = [];
  let free = concurrency;

  async function slot(work: () => Promise<void>): Promise<void> {
    if (free === 0) await new Promise<void>((resolve) => waiting.push(resolve));
    else free--;
    try {
      await work();
    } finally {
      const next = waiting.shift();
      if (next) next();
      else free++;
    }
  }

  return {
    add(key, work) {
      const tail = (tails.get(key) ?? Promise.resolve()).then(() => slot(work)).catch(() => undefined);
      tails.set(key, tail);
      return tail.then(() => {
        if (tails.get(key) === tail) tails.delete(key);
      });
    },
    async settled() {
      while (tails.size > 0) await Promise.all(tails.values());
    },
  };
}
