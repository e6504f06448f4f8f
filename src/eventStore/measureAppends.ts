import type { Metrics } from "#src/platform/metrics/metrics.ts";
import { type EventStore, StreamMoved } from "./eventStore.ts";

/** Wraps an event store to count and time its appends. */
export function measureAppends(
  store: EventStore,
  { metrics, clock }: { metrics: Pick<Metrics, "appended">; clock: { monotonic(): number } },
): EventStore {
  return {
    ...store,
    async append(stream, expected, events) {
      const begun = clock.monotonic();
      const types = events.map(({ type }) => type);
      const ended = (outcome: "done" | "moved" | "failed") =>
        metrics.appended({ outcome, types }, (clock.monotonic() - begun) / 1000);
      try {
        const appended = await store.append(stream, expected, events);
        ended("done");
        return appended;
      } catch (error) {
        ended(error instanceof StreamMoved ? "moved" : "failed");
        throw error;
      }
    },
  };
}
