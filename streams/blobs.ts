import type { ApprovalReplyEvent } from "./approvalReply/events.ts";
import type { DeliveryEvent } from "./delivery/events.ts";
import type { DraftContent } from "./draft/content.ts";
import type { DraftEvent, StoredContent } from "./draft/events.ts";
import type { MailExpiry } from "./filing/events.ts";
import type { IdentityEvent } from "./identity/events.ts";
import type { InboxEvent } from "./inbox/events.ts";
import type { StrayMailEvent } from "./strayMail/events.ts";
import type { ThreadEvent } from "./thread/events.ts";

/**
 * Lists the events that name blobs. A blob that no event names is removed: a new field with a hash of a blob must be added here, and
 * test/streams/blobs.test.ts fails until it is.
 */
type Naming =
  | InboxEvent
  | ApprovalReplyEvent
  | StrayMailEvent
  | ThreadEvent
  | DraftEvent
  | DeliveryEvent
  | IdentityEvent;
type DataOf<T extends Naming["type"]> = Extract<Naming, { type: T }>["data"];
type Hashes = readonly (string | null)[];

const blobsNamed: { readonly [T in Naming["type"]]?: (data: DataOf<T>) => Hashes } = {
  MailReceived: ({ rawSha256 }) => [rawSha256],
  ApprovalReplyReceived: ({ rawSha256 }) => [rawSha256],
  UnknownRecipientReceived: ({ rawSha256 }) => [rawSha256],
  PostQuarantined: ({ rawSha256 }) => [rawSha256],
  MessageReceived: ({ rawSha256, bodyBlob, attachments }) => [rawSha256, bodyBlob, ...hashesOf(attachments)],
  DraftSubmitted: (data) => [...stored(data), ...hashesOf(data.pictures)],
  DraftEdited: (data) => [...stored(data), ...hashesOf(data.pictures)],
  DraftQueued: (data) => stored(data),
  DeliveryStarted: ({ mimeSha256 }) => [mimeSha256],
  IdentityCreated: ({ signatureHtml }) => shownIn(signatureHtml),
  IdentityUpdated: ({ changes }) => shownIn(changes.signatureHtml),
};

/** Returns the hashes of all blobs that an event itself names. */
export function blobsOf(event: { type: string; data: object }): string[] {
  const hashes = blobsNamed[event.type as Naming["type"]] as ((data: object) => Hashes) | undefined;
  return hashes ? hashes(event.data).filter((hash) => hash !== null) : [];
}

/**
 * Returns the id of the received mail (delivery) to which the blobs named by an event belong; undefined if the event concerns no received
 * mail. Once the mail's content has expired, its blobs are no longer kept for it.
 */
export const deliveryOf = ({ type, data }: { type: string; data: object }): string | undefined =>
  type === "MailReceived" || type === "MessageReceived" ? (data as { deliveryId: string }).deliveryId : undefined;

/** Returns the deliveries whose content expires by an event. */
export const deliveriesExpiredBy = ({ type, data }: { type: string; data: object }): readonly string[] =>
  type === "HeldMailExpired" || type === "QuarantinedMailExpired" ? (data as MailExpiry).deliveryIds : [];

const bringsContent = ["DraftSubmitted", "DraftEdited"];

/**
 * Returns the blob in which an event stores a draft's content as JSON, if it does. That content names further blobs (`blobsInContent`). A
 * queued draft has the blob of an earlier event.
 */
export const contentBlobOf = ({ type, data }: { type: string; data: object }): string | null =>
  bringsContent.includes(type) ? (data as StoredContent).contentBlob : null;

/** Returns the hashes of all blobs that a content names: its attachments, and the pictures in its HTML. */
export const blobsInContent = ({ attachments, body_html, signature_html }: DraftContent): string[] => [
  ...hashesOf(attachments),
  ...shownIn(body_html),
  ...shownIn(signature_html),
];

const stored = ({ content, contentBlob }: StoredContent): Hashes => [
  contentBlob,
  ...(content === null ? [] : blobsInContent(content)),
];

const hashesOf = (files: readonly { sha256: string }[] = []): string[] => files.map(({ sha256 }) => sha256);

/** Stored HTML references a picture by the hash of its bytes. */
const shownIn = (html: string | null | undefined): string[] =>
  [...(html ?? "").matchAll(/cid:([0-9a-f]{64})/g)].map((match) => match[1] as string);
