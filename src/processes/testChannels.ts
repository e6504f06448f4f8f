import { tryChannelTest } from "#src/commands/approvals/channelTests.ts";
import type { Dependencies } from "#src/commands/dependencies.ts";
import type { Outlets } from "#src/commands/rules/ruleNotices.ts";
import { idOf } from "#streams/event.ts";
import { retryAfterMs } from "./notificationRetries.ts";
import type { Process, ProcessContext } from "./process.ts";

/** Sends a requested test notification, with the same retries as an approval request. */
export function testChannels(deps: Dependencies, outlets: Outlets): Process {
  async function send(testId: string, tries: number, { timers, cause }: ProcessContext): Promise<void> {
    const inMs = retryAfterMs(tries);
    const { again } = await tryChannelTest(deps, { outlets, testId, lastTry: inMs === undefined }, cause);
    if (again && inMs !== undefined)
      await timers.set({ key: testId, name: "retry", inMs, payload: { tries: tries + 1 } });
  }

  return {
    name: "testChannels",
    begins: "now",
    onlyNews: true,
    categories: ["channelTest"],
    keyOf: (event) => idOf(event.stream),
    on: { ChannelTestRequested: (event, context) => send(idOf(event.stream), 0, context) },
    onTimer: ({ key, payload }, context) => send(key, payload.tries as number, context),
  };
}
