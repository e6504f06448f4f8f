/** State of a stream at one of its events. */
export type Snapshot = { state: unknown; revision: number; eventId: string };

/**
 * Stored states of long streams, so that these are not read from their start: one for each stream, made by the rules of one version. Only a
 * cache: one may be missing, or belong to another log, which its event id shows. All methods throw Unavailable
 * (src/eventStore/eventStore.ts) during an outage.
 */
export type Snapshots = {
  /** Returns the stream's snapshot; undefined if there is none made by these rules. */
  read(stream: string, rules: string): Promise<Snapshot | undefined>;
  /** Replaces an earlier one and one made by other rules. The state is JSON. */
  write(stream: string, rules: string, snapshot: Snapshot): Promise<void>;
  /** Removes the stream's snapshot, if it is of this event; any if no event is given. */
  drop(stream: string, eventId?: string): Promise<void>;
  /** Returns streams whose snapshot was made by other rules than these, by category; the longest first. */
  outdated(rules: ReadonlyMap<string, string>, most: number): Promise<string[]>;
};
