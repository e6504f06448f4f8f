import { LRUCache } from "lru-cache";
import { hasEntry } from "#streams/idMap.ts";
import type { Thread } from "#streams/thread/thread.ts";
import type { Dependencies } from "../dependencies.ts";
import type { Loaded } from "../states/foldState.ts";

/** A thread that was not merged. `via`: the merged thread that led here; null if it is the requested one. */
export type Survivor = Loaded<Thread> & { threadId: string; via: string | null };

/** The known end of a merged thread. `isTold`: that thread has absorbed everything that `via` knew. */
type Shortcut = { threadId: string; via: string; isTold: boolean };
type Shortcuts = LRUCache<string, Shortcut>;

/** Merged threads whose end is cached, the most recently used ones. */
const maxShortcuts = 20_000;

/** Caches, one per event store. A frozen thread stays frozen, so a shortcut stays valid; its end may have been merged further. */
const remembered = new WeakMap<object, Shortcuts>();

function shortcutsOf({ store }: Pick<Dependencies, "store">): Shortcuts {
  const known = remembered.get(store) ?? new LRUCache({ max: maxShortcuts });
  remembered.set(store, known);
  return known;
}

/**
 * Returns the thread that an id means now: itself, or the one it was merged into, through any number of merges. Every
 * thread on the way is cached with its end.
 */
export async function survivorOf(deps: Pick<Dependencies, "threads" | "store">, threadId: string): Promise<Survivor> {
  const shortcuts = shortcutsOf(deps);
  const walked = new Set<string>();
  let id = threadId;
  let via: string | null = null;
  for (;;) {
    if (walked.has(id)) throw new Error(`thread ${threadId} was merged in a circle`);
    const shortcut = shortcuts.get(id);
    if (shortcut) {
      walked.add(id);
      ({ threadId: id, via } = shortcut);
      continue;
    }
    // A fresh state, because the caller may have waited for mail that merged the thread.
    const loaded = await deps.threads.fresh(id);
    if (loaded.state.mergedInto === null) {
      if (via !== null) {
        const shortcut = { threadId: id, via, isTold: hasAbsorbed(loaded.state, via) };
        for (const merged of walked) shortcuts.set(merged, shortcut);
      }
      return { ...loaded, threadId: id, via };
    }
    walked.add(id);
    via = id;
    id = loaded.state.mergedInto;
  }
}

/**
 * Returns the cached end of a merged thread if that has absorbed everything, otherwise the thread
 * itself. The end may have been merged further.
 */
export function knownSurvivor(deps: Pick<Dependencies, "store">, threadId: string): string {
  const shortcut = shortcutsOf(deps).get(threadId);
  return shortcut?.isTold ? shortcut.threadId : threadId;
}

/** True if a thread has absorbed everything of one that was merged into it. */
export const hasAbsorbed = ({ absorbed }: Thread, absorbedId: string): boolean => hasEntry(absorbed, absorbedId);
