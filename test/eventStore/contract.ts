import { appendContract } from "./contract/append.ts";
import { guardContract } from "./contract/guard.ts";
import { loadContract } from "./contract/load.ts";
import { payloadContract } from "./contract/payload.ts";
import { readContract } from "./contract/read.ts";
import { subscribeContract } from "./contract/subscribe.ts";
import type { LogUnderTest } from "./contract/underTest.ts";

/** Requirements for every adapter of the event store port. One log serves the whole suite. */
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
