import type { EventStore } from "#src/eventStore/eventStore.ts";

/** A log to try. It may hold events of others: the suite uses streams of its own and starts at the end. */
export type LogUnderTest = {
  store: EventStore;
  /** A second client of the same log, as another instance of the service would have; closed by the suite. */
  makeAnother?: () => Promise<EventStore>;
  /** Cuts every connection to the log once, as a restarting server does; it can be reached again afterwards. */
  interrupt?: () => Promise<void>;
  dispose(): Promise<void>;
};
