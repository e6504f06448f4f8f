/** An event as it was stored: its data in the shape that its version had. */
export type Stored = { type: string; schemaVersion: number; data: Record<string, unknown> };

/** Turns an event of one version into the next one: its data, and its type if that changed too. Pure. */
export type Upcaster = (data: Record<string, unknown>) => { type?: string; data: Record<string, unknown> };

/** By type, then by the version it comes from. */
export type Upcasters = { readonly [type: string]: { readonly [fromVersion: number]: Upcaster } };

/** Every shape of an event that was ever replaced: none yet. test/streams/upcast.test.ts has a worked example. */
export const upcasters: Upcasters = {};

/** The event in the newest version there is, step by step. One that is newest already comes back as it is. */
export function upcast<E extends Stored>(event: E, known: Upcasters = upcasters): E {
  let current = event;
  for (;;) {
    const step = known[current.type]?.[current.schemaVersion];
    if (!step) return current;
    const { type = current.type, data } = step(current.data);
    current = { ...current, type, data, schemaVersion: current.schemaVersion + 1 };
  }
}

/** The version in which a type is written today. */
export const newestVersion = (type: string, known: Upcasters = upcasters): number =>
  1 + Math.max(0, ...Object.keys(known[type] ?? {}).map(Number));
