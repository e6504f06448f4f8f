import { randomBytes } from "node:crypto";
import { v7 } from "uuid";

/** Time, as a port: tests and a simulator drive it. */
export type Clock = {
  now(): Date;
  /** Milliseconds that never go backwards, for measuring how old something is within this process. */
  monotonic(): number;
};

export const systemClock: Clock = { now: () => new Date(), monotonic: () => performance.now() };

/** New ids and random bytes, as a port. */
export type Ids = {
  /** A fresh UUIDv7. */
  uuid(): string;
  random(bytes: number): Buffer;
};

export const systemIds: Ids = { uuid: () => v7(), random: (bytes) => randomBytes(bytes) };
