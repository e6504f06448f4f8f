import { categoryOf, idOf, type Recorded } from "#streams/event.ts";
import { kindOf, triggersRules } from "#streams/inbox/mailKinds.ts";
import type { PublicEventType } from "#streams/webhook/events.ts";
import { isFirstMergePart } from "../merges.ts";
import { recipientsIn } from "../messages/recipients.ts";

/**
 * Facts about a draft, thread or domain from its first event. `message_id`: of a draft, the mail it becomes; `domain_name`: of a domain.
 * Inapplicable fields are null.
 */
export type SubjectFacts = {
  thread_id: string | null;
  identity_id: string | null;
  message_id: string | null;
  domain_name: string | null;
};

/** A published event: ids and facts, no bodies. `data` has the form of the API. */
export type PublicEvent = {
  /** Id of the log event. A second public event made from the same log event has a derived id. */
  id: string;
  type: PublicEventType;
  created_at: string;
  workspace_id: string;
  /** The draft, thread or domain concerned; events of each are in order. */
  subject: string;
  identity_id: string | null;
  data: Record<string, unknown>;
};

type MadeEvent = { type: PublicEventType; data?: Record<string, unknown> };
type Data = Record<string, any>;

/** Returns the actor, with the fields that are published. */
const actorOf = ({ metadata: { actor } }: Recorded) => ({
  actor: { kind: actor.kind, id: actor.id, name: actor.name ?? null },
});

/** Published events by log event. Bodies and addresses of approvers are left out. */
const mappings: Record<string, (data: Data, event: Recorded) => MadeEvent[]> = {
  DraftSubmitted: (data, event) => [
    {
      type: "draft.created",
      data: {
        version: 1,
        content_sha256: data.contentSha256,
        based_on_message_id: data.basedOnMessageId,
        stale_warning: data.staleWarning,
        auto_approved: data.autoApproved,
        ...actorOf(event),
      },
    },
    ...(data.autoApproved ? [approved({ version: 1, contentSha256: data.contentSha256 }, autoApproval(data))] : []),
  ],
  DraftEdited: (data, event) => [
    {
      type: "draft.updated",
      data: {
        version: data.version,
        content_sha256: data.contentSha256,
        changed_fields: data.changedFields,
        because: data.because,
        ...actorOf(event),
      },
    },
  ],
  DraftApproved: (data, event) => [
    approved(data, { ...actorOf(event), ...(data.sendAfter && { undo_until: data.sendAfter }) }),
  ],
  DraftRejected: (data, event) => [
    { type: "draft.rejected", data: { version: data.version, reason: data.reason, ...actorOf(event) } },
  ],
  ChangesRequested: (data, event) => [
    {
      type: "draft.changes_requested",
      data: { version: data.version, content_sha256: data.contentSha256, text: data.text, ...actorOf(event) },
    },
  ],
  DraftAssigned: (data, event) => [
    {
      type: "draft.assigned",
      data: {
        assigned_to: data.assignee && { user_id: data.assignee.userId, name: data.assignee.name },
        ...actorOf(event),
      },
    },
  ],
  DraftQueued: (data) => [{ type: "email.sent", data: { version: data.version, content_sha256: data.contentSha256 } }],
  DraftSent: (data) => [{ type: "draft.sent", data: { rfc_message_id: data.rfcMessageId, sent_at: data.sentAt } }],
  DraftFailed: (data) => [{ type: "draft.failed", data: { failure_code: data.code, failure_message: data.message } }],
  DraftMarkedStale: (data) => [{ type: "draft.stale", data: { new_message_id: data.newMessageId } }],
  DraftEscalated: (data) => [{ type: "draft.escalated", data: { version: data.version, channel: data.channelType } }],
  DeliveryDelivered: (data, event) => (data.again ? [] : [reported("email.delivered", event)]),
  DeliveryDropped: (_, event) => [reported("email.bounced", event)],
  DeliveryBounced: (_, event) => [reported("email.bounced", event)],
  DeliveryComplained: (_, event) => [reported("email.complained", event)],
  MessageAuthenticated: (data) => (isAnnounced(data) ? [received(data)] : []),
  ThreadAbsorbed: (data, event) =>
    isFirstMergePart(event) ? [{ type: "thread.merged", data: { merged_thread_id: data.absorbedId } }] : [],
  DomainVerified: () => [{ type: "domain.verified" }],
  DomainLost: (data) => [{ type: "domain.lost", data: { because: data.because } }],
};

const approved = (data: Data, actor: Record<string, unknown>): MadeEvent => ({
  type: "draft.approved",
  data: { version: data.version, content_sha256: data.contentSha256, ...actor },
});

/** A report about a mail: its source, the recipients that it is about, and whether every To is lost. */
const reported = (type: PublicEventType, event: Recorded): MadeEvent => ({
  type,
  data: {
    evidence: event.data.evidence,
    recipients: Object.values(recipientsIn(event)?.of ?? {}),
    ...(type === "email.bounced" && { whole: event.data.part !== true }),
  },
});

/** Returns the actor of an automatic approval: the identity's setting. */
const autoApproval = ({ identityId }: Data) => ({ actor: { kind: "auto", id: identityId, name: null } });

const isAnnounced = ({ classification, kind, contactStatus }: Data): boolean =>
  triggersRules({ classification, kind, fromBlocked: contactStatus === "blocked" });

const received = (data: Data): MadeEvent => ({
  type: "email.received",
  data: {
    message_id: data.messageId,
    from_email: data.fromEmail,
    subject: data.subject,
    classification: data.classification,
    kind: kindOf({ classification: data.classification as string, kind: data.kind as string | undefined }),
    contact_id: data.contactId,
    contact_status: data.contactStatus,
    authentication: data.authentication,
  },
});

/** Types of log events that are published. */
export const publishedTypes: readonly string[] = Object.keys(mappings);

/** Returns the draft, thread or domain of a log event. */
export const subjectOf = (event: Recorded): string =>
  categoryOf(event.stream) === "delivery" ? String(event.data.draftId) : idOf(event.stream);

/** Returns the published events of a log event, in order. Pure: the same log gives the same events. */
export function publicEvents(event: Recorded, known: (id: string) => SubjectFacts | undefined): PublicEvent[] {
  const workspaceId = event.metadata.workspaceId;
  const made = mappings[event.type]?.(event.data, event) ?? [];
  if (workspaceId === null) return [];
  const subject = subjectOf(event);
  const ids = idsOf(event, subject, known(subject));
  return made.map(({ type, data }, part) => ({
    id: part === 0 ? event.id : derived(event.id),
    type,
    created_at: event.metadata.at,
    workspace_id: workspaceId,
    subject,
    identity_id: (ids.identity_id as string | undefined) ?? null,
    data: { ...ids, ...data },
  }));
}

/** Returns the ids that every event of a category contains. */
function idsOf(event: Recorded, subject: string, known: SubjectFacts | undefined): Record<string, unknown> {
  switch (categoryOf(event.stream)) {
    case "domain":
      return { domain_id: subject, domain_name: known?.domain_name ?? null };
    case "thread":
      return { thread_id: subject, identity_id: known?.identity_id ?? event.data.identityId ?? null };
    default: {
      const { thread_id = null, identity_id = null, message_id = null } = known ?? {};
      return { draft_id: subject, thread_id, identity_id, ...(isOfMail(event.type) ? { message_id } : {}) };
    }
  }
}

const isOfMail = (type: string): boolean =>
  type === "DraftQueued" || type === "DraftSent" || type.startsWith("Delivery");

/** Returns the id with its last digit inverted: ids of events are random, so no other event has it. */
const derived = (id: string): string => id.slice(0, -1) + (15 - Number.parseInt(id.slice(-1), 16)).toString(16);
