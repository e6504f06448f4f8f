import type { Event } from "../event.ts";

/** One name, over all workspaces: any of them may try for it, one has proven it. */
export type DomainNameEvent =
  | Event<"NameRegistered", { name: string; domainId: string; workspaceId: string }>
  /** `receives`: this is the domain part of that domain's identities' addresses. */
  | Event<"NameVerified", { domainId: string; workspaceId: string; receives: boolean }>
  | Event<"NameLost", { domainId: string }>
  | Event<"NameReleased", { domainId: string }>;

/** The name carries a hash: a domain name may be as long as a stream id. */
export const domainNameStream = (nameSha256: string): string => `domainName-${nameSha256}`;
