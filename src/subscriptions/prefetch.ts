import type { Batch, EventStore, SubscribeOptions } from "#src/eventStore/eventStore.ts";

/**
 * A subscription that reads the next batch while the consumer writes the current one, one ahead at most. Not at the end of the log:
 * there the next batch would be whatever comes first, and all that comes during the write would have to wait for the one after.
 */
export async function* prefetch(store: EventStore, options: SubscribeOptions): AsyncGenerator<Batch> {
  const ended = new AbortController();
  const signal = AbortSignal.any([options.signal, ended.signal]);
  const source = store.subscribe({ ...options, signal })[Symbol.asyncIterator]();
  let ahead: Promise<IteratorResult<Batch>> | undefined;
  try {
    for (;;) {
      const { done, value } = await (ahead ?? source.next());
      if (done || signal.aborted) return;
      ahead = value.caughtUp ? undefined : source.next();
      ahead?.catch(() => undefined);
      yield value;
    }
  } finally {
    ended.abort();
    await ahead?.catch(() => undefined);
    await source.return?.();
  }
}
