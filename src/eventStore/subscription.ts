import { setTimeout as sleep } from "node:timers/promises";
import { categoryOf } from "#streams/event.ts";
import { type Batch, type SubscribeOptions, Unavailable } from "./eventStore.ts";
import { type AdapterLog, retryPauses } from "./recovery.ts";

/** Access of subscriptions to an adapter's log. */
export type PagedLog = {
  /**
   * Reads a page of events of all categories after a position. `caughtUp`: no event followed. If there is nothing new, the page ends at the
   * same position. Throws Unavailable or LogRewound; does not retry.
   */
  page(after: number): Promise<Batch>;
  /** Resolves when the log has grown beyond `after`, or on abort. Throws LogRewound. */
  beyond(after: number, signal: AbortSignal): Promise<void>;
  log: AdapterLog;
  /** Aborted when the store closes. */
  closing: AbortSignal;
};

const defaultBatchSize = 500;

/** Reads the log page by page to its end, then waits for more. While a page is consumed the next one is read, unless the end is reached. */
export async function* subscribe(paged: PagedLog, options: SubscribeOptions): AsyncGenerator<Batch, void> {
  const { categories, batchSize = defaultBatchSize } = options;
  const signal = AbortSignal.any([options.signal, paged.closing]);
  let read = { position: options.after, caughtUp: true };
  // Events that existed before the subscription began are read without gathering.
  let gather: SubscribeOptions["gather"];
  for (;;) {
    const page = await unlessAborted(nextPage(paged, read, { gather, signal }), signal);
    gather = options.gather;
    if (!page) return;
    read = page;
    if (!page.caughtUp) paged.page(page.position).catch(() => {}); // the loop itself reads it again
    for (const batch of batchesOf(page, categories, batchSize)) {
      yield batch;
      if (signal.aborted) return;
    }
  }
}

/** Returns the next page, retrying until the log has more events or is known to have none; undefined on abort. */
async function nextPage(
  paged: PagedLog,
  { position, caughtUp }: Omit<Batch, "events">,
  { gather, signal }: Pick<SubscribeOptions, "gather" | "signal">,
): Promise<Batch | undefined> {
  if (caughtUp) await paged.beyond(position, signal);
  if (caughtUp && !signal.aborted) await gather?.(position);
  for (const pause = retryPauses(); ; await sleep(pause.next())) {
    if (caughtUp) await paged.beyond(position, signal);
    if (signal.aborted) return undefined;
    try {
      const page = await paged.page(position);
      if (page.position > position || !caughtUp) return page;
    } catch (error) {
      if (signal.aborted) return undefined;
      if (!(error instanceof Unavailable)) throw error;
      paged.log.warn({ err: error }, "cannot read the event log, retrying");
    }
  }
}

/** Splits a page into batches of the subscribed categories. The last batch moves to the page's end. */
function* batchesOf(
  { events: all, position, caughtUp }: Batch,
  categories: readonly string[] | undefined,
  size: number,
): Generator<Batch> {
  const events = categories ? all.filter(({ stream }) => categories.includes(categoryOf(stream))) : all;
  let begin = 0;
  for (; begin + size < events.length; begin += size) {
    const part = events.slice(begin, begin + size);
    yield { events: part, position: part.at(-1)!.position, caughtUp: false };
  }
  yield { events: events.slice(begin), position, caughtUp };
}

/** Resolves like the promise, or to undefined as soon as the signal is aborted. */
function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    const leave = (): void => resolve(undefined);
    signal.addEventListener("abort", leave);
    if (signal.aborted) leave();
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", leave));
  });
}
