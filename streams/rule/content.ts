import type { TriggerEvent } from "./events.ts";

/** Kind of a field: free text, an address, domain or id (compared ignoring case), or one of a few words. */
type Kind = "text" | "caseless" | readonly string[];

const kinds = {
  "message.from_email": "caseless",
  "message.to_emails": "caseless",
  "message.subject": "text",
  "message.body_text": "text",
  "thread.subject": "text",
  "thread.status": ["open", "waiting", "draft_pending", "closed"],
  "contact.status": ["unknown", "trusted", "blocked"],
  "contact.tag": "text",
  "contact.domain": "caseless",
  "identity.id": "caseless",
} as const satisfies Record<string, Kind>;

export type Field = keyof typeof kinds;

export const kindOf = (field: Field): Kind => kinds[field];
export const isField = (name: string): name is Field => Object.hasOwn(kinds, name);

const ofDrafts = [
  "thread.subject",
  "thread.status",
  "contact.status",
  "contact.tag",
  "contact.domain",
  "identity.id",
] as const;
const ofSentMail = ["message.subject", "message.to_emails", ...ofDrafts] as const;

/** The fields of each trigger. */
export const fieldsOf: Record<TriggerEvent, readonly Field[]> = {
  "email.received": ["message.from_email", "message.subject", "message.body_text", ...ofDrafts],
  "email.sent": ofSentMail,
  "email.delivered": ofSentMail,
  "draft.created": ofDrafts,
  "draft.approved": ofDrafts,
  "draft.sent": ofSentMail,
  "draft.stale": ofDrafts,
};

/** True for fields in which a stranger can claim an identity. */
export const isForgeableField = (field: string): boolean =>
  field.startsWith("contact.") || field === "message.from_email";

/** True for fields that anyone can change: rules, keys and senders. */
export const isChangeableField = (field: string): boolean => field === "thread.status";

/** True for fields that a stranger wrote. */
export const isStrangersText = (field: string): boolean =>
  field === "message.subject" || field === "message.body_text" || field === "thread.subject";
