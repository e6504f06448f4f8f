import { setTimeout as sleep } from "node:timers/promises";
import { type Batch, type SubscribeOptions, Unavailable } from "../eventStore.ts";
import type { OwnCommits } from "./ownCommits.ts";
import type { Page, Reader } from "./reader.ts";
import { type Log, pauses } from "./recovery.ts";
import type { Tail } from "./tail.ts";

export type Source = {
  pages: Pick<Reader, "page">;
  own: Pick<OwnCommits, "page">;
  tail: Tail;
  log: Log;
  /** Aborted when the store closes. */
  closing: AbortSignal;
};

const defaultBatchSize = 500;
/** Positions looked through in one query, so that a rare category does not keep a query busy for minutes. */
const widestPage = 100_000;

/**
 * Reads the log page by page up to where it is known to end, then waits for more. Positions become visible in their order, so what
 * was read is never looked at again. While a page is consumed the next one is on its way, unless the end is reached.
 */
export async function* subscription(source: Source, options: SubscribeOptions): AsyncGenerator<Batch, void> {
  const { signal, categories, batchSize = defaultBatchSize } = options;
  const life = new AbortController();
  const end = (): void => life.abort();
  for (const reason of [signal, source.closing]) {
    reason.addEventListener("abort", end);
    if (reason.aborted) end();
  }

  async function next(after: number): Promise<Batch | undefined> {
    await source.tail.beyond(after, life.signal);
    if (life.signal.aborted) return;
    const head = source.tail.head();
    const upTo = Math.min(head, after + widestPage);
    const request = { after, upTo, categories, limit: batchSize };
    const page = source.own.page(request) ?? (await patiently(source, life.signal, () => source.pages.page(request)));
    return page && { ...page, caughtUp: page.position >= head };
  }

  try {
    let batch = await unlessAborted(next(options.after), life.signal);
    while (batch && !life.signal.aborted) {
      const ahead = batch.caughtUp ? undefined : next(batch.position);
      ahead?.catch(() => {}); // thrown below, when its turn has come
      yield batch;
      batch = await unlessAborted(ahead ?? next(batch.position), life.signal);
    }
  } finally {
    end();
    for (const reason of [signal, source.closing]) reason.removeEventListener("abort", end);
  }
}

/** Tries until the database answers, or until nobody waits for it any more. */
async function patiently(source: Source, signal: AbortSignal, read: () => Promise<Page>): Promise<Page | undefined> {
  const pause = pauses();
  while (!signal.aborted) {
    try {
      return await read();
    } catch (error) {
      if (signal.aborted) return undefined;
      if (!(error instanceof Unavailable)) throw error;
      source.log.warn({ err: error }, "cannot read the event log, retrying");
      await sleep(pause.next());
    }
  }
  return undefined;
}

/** What the promise gives, or undefined as soon as the signal is aborted. */
function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    const leave = (): void => resolve(undefined);
    signal.addEventListener("abort", leave);
    if (signal.aborted) leave();
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", leave));
  });
}
