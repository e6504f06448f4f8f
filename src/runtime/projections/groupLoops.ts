import { loadReadModels, mainGroup, type StoredReadModel } from "./checkpoints.ts";
import { type GroupLoop, type LoopOptions, startGroupLoop } from "./groupLoop.ts";
import type { GroupMember } from "./groupMember.ts";

export type GroupLoops = {
  /** Starts a loop for each checkpoint that has read models of this instance's versions and no loop. */
  open(): Promise<void>;
  /** Makes every loop reload its checkpoint before it continues. */
  reload(): void;
  /** Returns the read models that this instance writes and whose positions it is certain of. */
  written(): GroupMember[];
  /** Resolves once all loops have ended, after the signal. */
  ended(): Promise<void>;
};

/**
 * Runs one loop for each checkpoint: one for the main group, whose read models share it, and one for each independent read model. A read
 * model whose projector fails repeatedly is ejected, so that the main group continues; it has its own checkpoint and loop until it has
 * rejoined, as has one that is new or of another version.
 */
export function createGroupLoops(members: readonly GroupMember[], options: LoopOptions): GroupLoops {
  const running = new Map<string, GroupLoop>();
  const others = { members, openFor, reloadMain: () => running.get(mainGroup)?.reload() };

  function openFor(stored: ReadonlyMap<string, StoredReadModel>): void {
    for (const { projection } of members) {
      const found = stored.get(projection.name);
      if (found?.version !== projection.version || running.has(found.checkpoint) || options.signal.aborted) continue;
      const name = found.checkpoint;
      const loop = startGroupLoop(name, others, options);
      running.set(name, loop);
      loop.done = loop.done.finally(() => running.delete(name));
    }
  }

  return {
    async open() {
      openFor(await loadReadModels(options.database));
    },
    reload() {
      for (const loop of running.values()) loop.reload();
    },
    written: () => [...running.values()].flatMap((loop) => (loop.isCertain ? loop.members : [])),
    async ended() {
      while (running.size > 0) await Promise.all([...running.values()].map(({ done }) => done));
    },
  };
}
