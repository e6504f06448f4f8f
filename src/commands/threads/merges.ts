import { LRUCache } from "lru-cache";
import { hasEntry } from "#streams/idMap.ts";
import type { Thread } from "#streams/thread/thread.ts";
import type { Dependencies } from "../dependencies.ts";
import type { Loaded } from "../states/foldState.ts";

/** A thread that was not merged into another. `via`: the merged thread that led to it; null if the caller named it directly. */
export type Survivor = Loaded<Thread> & { threadId: string; via: string | null };

/** The thread into which a merged thread leads. `isTold`: true if that thread has absorbed all data of `via`. */
type Shortcut = { threadId: string; via: string; isTold: boolean };
type Shortcuts = LRUCache<string, Shortcut>;

/** Maximum number of merged threads in the cache; the least recently used are dropped. */
const maxShortcuts = 20_000;

/**
 * Caches, one per event store. A merged thread stays merged, so a cached entry stays valid, although its target may have been merged
 * further.
 */
const remembered = new WeakMap<object, Shortcuts>();

function shortcutsOf({ store }: Pick<Dependencies, "store">): Shortcuts {
  const known = remembered.get(store) ?? new LRUCache({ max: maxShortcuts });
  remembered.set(store, known);
  return known;
}

/**
 * Returns the present thread of a thread id: the thread itself, or the thread into which it was merged, through any number of merges.
 * Caches the result for every thread on the way.
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
    // Read a fresh state, because the caller may have waited for mail that merged the thread.
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
 * Returns the cached target of a merged thread if that target has absorbed everything; otherwise the given thread. The target may have been
 * merged further.
 */
export function knownSurvivor(deps: Pick<Dependencies, "store">, threadId: string): string {
  const shortcut = shortcutsOf(deps).get(threadId);
  return shortcut?.isTold ? shortcut.threadId : threadId;
}

/** Returns true if a thread has absorbed all data of the given thread, which was merged into it. */
export const hasAbsorbed = ({ absorbed }: Thread, absorbedId: string): boolean => hasEntry(absorbed, absorbedId);
