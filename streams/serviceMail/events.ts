import type { Event } from "../event.ts";

/**
 * The service's own mail from one workspace to one mailbox: the link under each such mail stops it, and lets it come again. `address`: as the mail
 * was sent to it. Who pressed, as far as it is known, is in the event's metadata.
 */
export type ServiceMailEvent =
  | Event<"ServiceMailStopped", { workspaceId: string; address: string }>
  | Event<"ServiceMailResumed", { workspaceId: string; address: string }>
  /** A link was in a mail that an identity got, so all links given out until then are closed. The next mail has a link of the next series. */
  | Event<"StopLinksClosed", { workspaceId: string; address: string; because: "link_leaked" }>
  /** Somebody followed a link that is closed or too old, and asked for a new one: it goes to the mailbox itself. `at`: ISO time. */
  | Event<"StopLinkRequested", { workspaceId: string; address: string; at: string }>;

/** One stream for each workspace and mailbox; the name carries a hash of both, so that no address is in a stream id. */
export const serviceMailStream = (mailboxSha256: string): string => `serviceMail-${mailboxSha256}`;
