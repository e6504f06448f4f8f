import type { Event } from "../event.ts";

/** A domain name over all workspaces: any workspace may register it, one has proven it. */
export type DomainNameEvent =
  | Event<"NameRegistered", { name: string; domainId: string; workspaceId: string }>
  /** `receives`: the name is the domain part of that domain's identities' addresses. */
  | Event<"NameVerified", { domainId: string; workspaceId: string; receives: boolean }>
  | Event<"NameLost", { domainId: string }>
  | Event<"NameReleased", { domainId: string }>;

/** The name carries a hash: a domain name may be as long as a stream id. */
export const domainNameStream = (nameSha256: string): string => `domainName-${nameSha256}`;
