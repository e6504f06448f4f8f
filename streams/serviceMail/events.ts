import type { Event } from "../event.ts";

/**
 * Notification mail from one workspace to one mailbox. The link in each such mail unsubscribes the mailbox, or subscribes it again.
 * `address`: as the mail was sent to it. The event's metadata says who pressed, as far as it is known.
 */
export type ServiceMailEvent =
  | Event<"ServiceMailStopped", { workspaceId: string; address: string }>
  | Event<"ServiceMailResumed", { workspaceId: string; address: string }>
  /** A link was found in a mail to an identity, so all links issued so far are closed. The next mail has a link of the next series. */
  | Event<"StopLinksClosed", { workspaceId: string; address: string; because: "link_leaked" }>
  /** A visitor of a closed or expired link requested a new one, which is mailed to the mailbox itself. `at`: ISO time. */
  | Event<"StopLinkRequested", { workspaceId: string; address: string; at: string }>;

/** One stream for each workspace and mailbox; the name carries a hash of both, so that no address is in a stream id. */
export const serviceMailStream = (mailboxSha256: string): string => `serviceMail-${mailboxSha256}`;
