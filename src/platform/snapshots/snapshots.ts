/** What a stream came to at one of its events. */
export type Snapshot = { state: unknown; revision: number; eventId: string };

/**
 * States of long streams, so that these are not read from their start: one for each stream, made by the rules of one version. Only a cache:
 * one may be missing, and one may be of another log, which its event tells. All throw Unavailable (src/eventStore/eventStore.ts) when
 * storage is away.
 */
export type Snapshots = {
  /** Undefined if there is none, or none by these rules. */
  read(stream: string, rules: string): Promise<Snapshot | undefined>;
  /** Takes the place of an earlier one and of one by other rules. The state is JSON. */
  write(stream: string, rules: string, snapshot: Snapshot): Promise<void>;
  /** Removes the one that is of this event; without one, whichever there is. */
  drop(stream: string, eventId?: string): Promise<void>;
  /** Streams whose snapshot was made by other rules than these, by category; the longest first. */
  outdated(rules: ReadonlyMap<string, string>, most: number): Promise<string[]>;
};
