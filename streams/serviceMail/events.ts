import type { Event } from "../event.ts";

/**
 * The service's own mail from one workspace to one mailbox: the link under each such mail stops it, and lets it come again. `address`: as the mail
 * was sent to it. Who pressed, as far as it is known, is in the event's metadata.
 */
export type ServiceMailEvent =
  | Event<"ServiceMailStopped", { workspaceId: string; address: string }>
  | Event<"ServiceMailResumed", { workspaceId: string; address: string }>;

/** One stream for each workspace and mailbox; the name carries a hash of both, so that no address is in a stream id. */
export const serviceMailStream = (mailboxSha256: string): string => `serviceMail-${mailboxSha256}`;
