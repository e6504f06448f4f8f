import type { Pace } from "./pace.ts";

/** What one address may do: an IPv4 address, or the /64 of an IPv6 address. None of it holds for relays of ours. */
export type StrangerLimits = Pace & {
  /** Connections at once. */
  connections: number;
  /** Milliseconds a session may last; a mail that is under way then is still finished. */
  sessionMs: number;
  /** Bytes of mail being received or stored, over all its connections. */
  bytesInFlight: number;
  /** Recipients that there are not, in one session; with the last of them it is over. */
  unknownRecipients: number;
};

const minute = 60_000;

/** Far from what any mail server needs, near enough to what a machine can stand. */
export const strangerLimits: StrangerLimits = {
  connections: 20,
  sessionMs: 10 * minute,
  dataMs: 10 * minute,
  leastBytesPerSecond: 500,
  windowMs: minute / 2,
  bytesInFlight: 64 * 1024 * 1024,
  unknownRecipients: 10,
};
