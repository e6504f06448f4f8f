import type { ContentPace } from "./pace.ts";

/** Limits of one address: an IPv4 address, or an IPv6 /64. Our own relays are exempt. */
export type PublicLimits = ContentPace & {
  /** Concurrent connections. */
  connections: number;
  /** Maximum length of a session in milliseconds; a mail that is being received then is still completed. */
  sessionMs: number;
  /** Bytes of mail being received or stored, over all its connections. */
  bytesInFlight: number;
  /** Maximum number of unknown recipients per session; the last of them ends the session. */
  unknownRecipients: number;
};

const minute = 60_000;

/** Far above the needs of any mail server, and still affordable for the machine. */
export const publicLimits: PublicLimits = {
  connections: 20,
  sessionMs: 10 * minute,
  dataMs: 10 * minute,
  leastBytesPerSecond: 500,
  windowMs: minute / 2,
  bytesInFlight: 64 * 1024 * 1024,
  unknownRecipients: 10,
};
