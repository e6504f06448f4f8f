import type { EventStore } from "#src/eventStore/eventStore.ts";
import { appendContract } from "./contract/append.ts";
import { guardContract } from "./contract/guard.ts";
import { loadContract } from "./contract/load.ts";
import { payloadContract } from "./contract/payload.ts";
import { readContract } from "./contract/read.ts";
import { subscribeContract } from "./contract/subscribe.ts";

/** A log to try. It may hold events of others: the suite uses streams of its own and starts at the end. */
export type LogUnderTest = {
  store: EventStore;
  /** A second client of the same log, as another instance of the service would have; closed by the suite. */
  makeAnother?: () => Promise<EventStore>;
  /** Cuts every connection to the log once, as a restarting server does; it can be reached again afterwards. */
  interrupt?: () => Promise<void>;
  dispose(): Promise<void>;
};

/** What every adapter of the event store port does. One log serves the whole suite. */
export function eventStoreContract(name: string, makeLog: () => Promise<LogUnderTest>): void {
  describe(`${name}: the event store's contract`, () => {
    let log: LogUnderTest | undefined;
    const theLog = (): LogUnderTest => {
      if (!log) throw new Error("the log is not up");
      return log;
    };

    before(async () => {
      log = await makeLog();
    });
    after(async () => {
      await log?.dispose();
    });

    appendContract(theLog);
    guardContract(theLog);
    payloadContract(theLog);
    readContract(theLog);
    subscribeContract(theLog);
    loadContract(theLog);
  });
}
