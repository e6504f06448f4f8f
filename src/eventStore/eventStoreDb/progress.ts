import { LogRewound } from "../eventStore.ts";
import type { LogRecord } from "./events.ts";
import { passes } from "./feed.ts";
import type { Reads } from "./reads.ts";

/** A subscriber's position, and the last seen end of the log. Both only ever increase: LogRewound if they would not. */
export class Progress {
  position: number;
  /** The end of the log as it was a moment ago. */
  end = Number.POSITIVE_INFINITY;
  endSeenAt = Number.NEGATIVE_INFINITY;
  constructor(after: number) {
    this.position = after;
  }

  /** Onto a record that was consumed. */
  advance(position: number): void {
    if (position <= this.position) {
      throw new LogRewound(
        `an event arrived at position ${position}, but the log had already been read up to ${this.position}`,
      );
    }
    this.position = position;
  }

  endsAt(end: number): void {
    if (end < this.position)
      throw new LogRewound(`the log ends at ${end}, but it had already been read up to ${this.position}`);
    this.end = end;
    this.endSeenAt = performance.now();
  }
}

/** `waitingFor`: the next event for this subscriber, which its subscription has still to bring. */
export type Seen = { moved: boolean; atEnd: boolean; waitingFor?: number };

const lookAheadCount = 100;

/**
 * Moves over what is not for this subscriber: to the end of the log, or to the next event that its subscription will bring.
 * `searched` is how far the server says it looked. It is believed only if a record of somebody else's is there: positions
 * that are no record's cannot be resumed from.
 */
export async function lookAhead(
  reads: Reads,
  progress: Progress,
  { searched, categories }: { searched: number; categories: readonly string[] | undefined },
): Promise<Seen> {
  const foreign = (record: LogRecord): boolean => !passes(record.stream, categories);
  if (searched > progress.position) {
    const [at] = await reads.log(searched, 1).then(
      ({ records }) => records,
      () => [],
    );
    if (at?.position === searched && foreign(at)) {
      progress.advance(searched);
      return { moved: true, atEnd: false };
    }
  }
  const { position } = progress;
  const { records, atEnd } = await reads.log(position, lookAheadCount);
  if (position > 0 && records.length === 0)
    throw new LogRewound(`the log ends before ${position}, but it had already been read up to there`);
  const ahead = records.filter((record) => record.position > position);
  const next = ahead.find((record) => !foreign(record));
  const reached = ahead.findLast((record) => !next || record.position < next.position);
  if (reached) progress.advance(reached.position);
  if (atEnd && !next) progress.endsAt(progress.position);
  return { moved: reached !== undefined, atEnd: atEnd && !next, ...(next && { waitingFor: next.position }) };
}
