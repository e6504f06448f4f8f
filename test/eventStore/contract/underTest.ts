import type { EventStore } from "#src/eventStore/eventStore.ts";

/** An event log to test. It may contain other events: the suite uses new streams and starts at the end. */
export type LogUnderTest = {
  store: EventStore;
  /** Makes a second client of the same log, as another instance of the service would have; closed by the suite. */
  makeAnother?: () => Promise<EventStore>;
  /** Closes every connection to the log once, as a restarting server does. New connections are accepted afterwards. */
  interrupt?: () => Promise<void>;
  dispose(): Promise<void>;
};
