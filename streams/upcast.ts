/** An event as stored: its data in the shape of its version. */
export type StoredEvent = { type: string; schemaVersion: number; data: Record<string, unknown> };

/** Turns an event of one version into the next one: its data, and its type if that changed too. Pure. */
export type Upcaster = (data: Record<string, unknown>) => { type?: string; data: Record<string, unknown> };

/** Upcasters by type, then by the version they start from. */
export type Upcasters = { readonly [type: string]: { readonly [fromVersion: number]: Upcaster } };

/** Upcasters for all replaced shapes of events: none yet. test/streams/upcast.test.ts has a worked example. */
export const upcasters: Upcasters = {};

/** Brings an event to its newest version, step by step, and keeps its stored form beside it. Returns a newest one as it is. */
export function upcast<E extends StoredEvent & { stored?: StoredEvent }>(event: E, known: Upcasters = upcasters): E {
  let current = event;
  for (;;) {
    const step = known[current.type]?.[current.schemaVersion];
    if (!step) return current === event ? event : { ...current, stored: storedForm(event) };
    const { type = current.type, data } = step(current.data);
    current = { ...current, type, data, schemaVersion: current.schemaVersion + 1 };
  }
}

/** Returns the version in which a type is written now. */
export const newestVersion = (type: string, known: Upcasters = upcasters): number =>
  1 + Math.max(0, ...Object.keys(known[type] ?? {}).map(Number));

/** Returns the part of an event that an upcaster changes. */
export const storedForm = ({ type, schemaVersion, data }: StoredEvent): StoredEvent => ({ type, schemaVersion, data });
