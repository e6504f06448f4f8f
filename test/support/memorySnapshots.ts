import type { Snapshot, Snapshots } from "#src/platform/snapshots/snapshots.ts";
import { categoryOf } from "#streams/event.ts";

/** Keeps snapshots in memory as JSON text, so that only JSON values are read back. */
export function createMemorySnapshots(): Snapshots & { readonly rows: Map<string, Snapshot & { rules: string }> } {
  const kept = new Map<string, string>();
  const rowOf = (stream: string) => JSON.parse(kept.get(stream) ?? "null") as (Snapshot & { rules: string }) | null;
  return {
    get rows() {
      return new Map([...kept.keys()].map((stream) => [stream, rowOf(stream)!]));
    },
    async read(stream, rules) {
      const { rules: madeBy, ...snapshot } = rowOf(stream) ?? { rules: undefined };
      return madeBy === rules ? (snapshot as Snapshot) : undefined;
    },
    async write(stream, rules, snapshot) {
      const known = rowOf(stream);
      if (known && known.rules === rules && known.revision >= snapshot.revision) return;
      kept.set(stream, JSON.stringify({ rules, ...snapshot }));
    },
    async drop(stream, eventId) {
      if (eventId === undefined || rowOf(stream)?.eventId === eventId) kept.delete(stream);
    },
    async outdated(rules, most) {
      const changed = [...kept.keys()].filter((stream) => {
        const present = rules.get(categoryOf(stream));
        return present !== undefined && present !== rowOf(stream)!.rules;
      });
      return changed.sort((one, other) => rowOf(other)!.revision - rowOf(one)!.revision).slice(0, most);
    },
  };
}
