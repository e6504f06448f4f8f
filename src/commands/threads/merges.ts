import { LRUCache } from "lru-cache";
import { hasEntry } from "#streams/idMap.ts";
import type { Thread } from "#streams/thread/thread.ts";
import type { Dependencies } from "../dependencies.ts";
import type { Loaded } from "../states/folded.ts";

/** A thread that stands on its own. `via`: the thread merged into it that led here; null if it is the one that was asked for. */
export type Survivor = Loaded<Thread> & { threadId: string; via: string | null };

/** Where a merged thread was last found to lead. `isTold`: that thread knows all that `via` knew. */
type Shortcut = { threadId: string; via: string; isTold: boolean };
type Shortcuts = LRUCache<string, Shortcut>;

/** Merged threads whose end is remembered, those asked for last. */
const maxShortcuts = 20_000;

/** Of one instance. A frozen thread stays frozen, so a shortcut is right for ever; it may only be that its end was merged further since. */
const remembered = new WeakMap<object, Shortcuts>();

function shortcutsOf({ store }: Pick<Dependencies, "store">): Shortcuts {
  const known = remembered.get(store) ?? new LRUCache({ max: maxShortcuts });
  remembered.set(store, known);
  return known;
}

/**
 * The thread an id means today: itself, or what it was merged into, however many merges there were. The way is walked once: every thread on
 * it is remembered with its end.
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
    // The caller may have waited for mail that joined it.
    const loaded = await deps.threads.fresh(id);
    if (loaded.state.mergedInto === null) {
      if (via !== null) {
        const shortcut = { threadId: id, via, isTold: knowsOf(loaded.state, via) };
        for (const merged of walked) shortcuts.set(merged, shortcut);
      }
      return { ...loaded, threadId: id, via };
    }
    walked.add(id);
    via = id;
    id = loaded.state.mergedInto;
  }
}

/** The end of a merged thread's way, where it is remembered and was told all; else the thread itself. It may have been merged further. */
export function knownSurvivor(deps: Pick<Dependencies, "store">, threadId: string): string {
  const shortcut = shortcutsOf(deps).get(threadId);
  return shortcut?.isTold ? shortcut.threadId : threadId;
}

/** Whether a thread has been told everything of one that was merged into it. */
export const knowsOf = ({ absorbed }: Thread, absorbedId: string): boolean => hasEntry(absorbed, absorbedId);
