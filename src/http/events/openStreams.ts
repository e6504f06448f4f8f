import type { Readable } from "node:stream";
import { Rejected } from "#streams/decider.ts";

/** Who holds a stream open, and how many they may. `name`: as the refusal says it. */
export type Holder = { name: string; id: string; most: number };

/** Counts the streams that are open on this instance. */
export type OpenStreams = {
  /** Throws Rejected rate_limited if one of the holders has all of theirs open. */
  requireRoom(holders: readonly Holder[]): void;
  /** Counts the stream until it is closed. */
  opened(holders: readonly Holder[], stream: Readable): Readable;
};

export function createOpenStreams(): OpenStreams {
  const open = new Map<string, number>();

  function count(id: string, by: number): void {
    const streams = (open.get(id) ?? 0) + by;
    if (streams === 0) open.delete(id);
    else open.set(id, streams);
  }

  return {
    requireRoom(holders) {
      for (const { name, id, most } of holders) if ((open.get(id) ?? 0) >= most) throw tooMany(name, most);
    },
    opened(holders, stream) {
      for (const { id } of holders) count(id, 1);
      return stream.once("close", () => {
        for (const { id } of holders) count(id, -1);
      });
    },
  };
}

const tooMany = (holder: string, most: number): Rejected =>
  new Rejected(
    "rate_limited",
    `${holder} already has ${most} event streams open, which is the limit: close one first`,
    { retryAfter: 30 },
  );
