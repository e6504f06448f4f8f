import { defaultSettings } from "#streams/identity/defaults.ts";
import type { IdentityEvent } from "#streams/identity/events.ts";
import type { InboxEvent, MailHeaders } from "#streams/inbox/events.ts";
import type { Authentication, InboundMessage, ThreadEvent } from "#streams/thread/events.ts";
import type { WorkspaceEvent } from "#streams/workspace/events.ts";

/** Named examples of stored values, with the given fields replaced. */

type DataOf<E extends { type: string; data: unknown }, Type extends E["type"]> = Extract<E, { type: Type }>["data"];

export const workspaceCreated = (
  different: Partial<DataOf<WorkspaceEvent, "WorkspaceCreated">> = {},
): DataOf<WorkspaceEvent, "WorkspaceCreated"> => ({
  name: "Acme",
  slug: "acme",
  plan: "builder_pack",
  planStatus: "active",
  betaOverride: false,
  createdAt: "2026-01-01T00:00:00.000Z",
  ...different,
});

export const identityCreated = (
  different: Partial<DataOf<IdentityEvent, "IdentityCreated">> = {},
): DataOf<IdentityEvent, "IdentityCreated"> => ({
  workspaceId: "workspace",
  domainId: "domain",
  localPart: "support",
  emailAddress: "support@agents.localhost",
  ...defaultSettings,
  displayName: "Support",
  ...different,
});

export const mailHeaders = (different: Partial<MailHeaders> = {}): MailHeaders => ({
  messageId: "<question@customer.example>",
  messageIdDerived: false,
  threadIds: [],
  inReplyTo: null,
  references: [],
  from: { name: "Ann", address: "ann@customer.example" },
  fromCount: 1,
  replyTo: [],
  to: ["support@agents.localhost"],
  cc: [],
  subject: "My order",
  date: null,
  classification: "person",
  contentDigest: "digest",
  reportedMessageIds: [],
  ...different,
});

/** Makes the n-th mail of a customer: `<n@customer.example>`, with these References. */
export const mailReceived = ({
  number,
  references,
  identityId,
  workspaceId,
  rawSha256,
}: {
  number: number;
  references: string[];
  identityId: string;
  workspaceId: string;
  rawSha256: string;
}): InboxEvent["data"] => ({
  deliveryId: `00000000-0000-4000-8000-${String(number).padStart(12, "0")}`,
  workspaceId,
  identityId,
  envelope: { from: "ann@customer.example", to: "support@agents.localhost" },
  remote: { ip: "127.0.0.1", helo: "customer.example" },
  rawSha256,
  sizeBytes: 100,
  headers: mailHeaders({
    messageId: `<${number}@customer.example>`,
    threadIds: references,
    references,
    contentDigest: `digest ${number}`,
  }),
});

/** Makes the n-th message of a thread. */
export const inboundMessage = (number: number, different: Partial<InboundMessage> = {}): InboundMessage => ({
  identityId: "identity",
  messageId: `message ${number}`,
  deliveryId: "delivery",
  inboxRevision: number - 1,
  number,
  receivedAt: "2026-01-01T00:00:00Z",
  rfcMessageId: "<m>",
  inReplyTo: null,
  references: [],
  from: { name: "Ann", address: "Ann@customer.example" },
  replyTo: [],
  to: [],
  cc: [],
  subject: "s",
  classification: "person",
  rawSha256: "raw",
  body: null,
  bodyBlob: null,
  searchText: null,
  attachments: [],
  quarantined: false,
  ...different,
});

/** Makes the authentication result of a mail: its sender is proven, unless overridden. */
export const authentication = (different: Partial<Authentication> = {}): Authentication => ({
  ...{ spf: "pass", dkim: "pass", dmarc: "pass", aligned: true, arc: "none" },
  ...different,
});

/** Makes the event with the authentication result of the n-th message of a thread. */
export const messageAuthenticated = (
  number: number,
  different: Partial<DataOf<ThreadEvent, "MessageAuthenticated">> = {},
): DataOf<ThreadEvent, "MessageAuthenticated"> => ({
  messageId: `message ${number}`,
  number,
  identityId: "identity",
  classification: "person",
  fromEmail: "ann@customer.example",
  subject: "s",
  contactId: null,
  contactStatus: "unknown",
  authentication: authentication(),
  received: { threadId: "thread", revision: number },
  ...different,
});
