import Type from "typebox";
import { maxReasonBytes } from "#src/channels/approvalDecisions.ts";
import { warningWords } from "#src/channels/warningWords.ts";
import { judgedWarnings, listedWarnings } from "#streams/draft/warnings.ts";
import { AssignedTo } from "./assignees.ts";
import { ChangesRequested } from "./changesRequests.ts";
import {
  At,
  Base64File,
  EmailAddress,
  Envelope,
  HeaderText,
  JsonObject,
  kilobyte,
  Nullable,
  Paging,
  Strict,
  Text,
  Timestamp,
  Uuid,
} from "./common.ts";

export const DraftStatus = Type.Enum(["pending", "approved", "rejected", "sending", "sent", "stale", "failed"]);
const WarningKind = Type.Enum([...listedWarnings]);
const Sha256 = Type.String({ pattern: "^[0-9a-f]{64}$" });

/** Size limits of drafts. The subject must fit one header line of RFC 5322. */
export const maxBody = 256 * kilobyte;
const maxRationale = 8 * kilobyte;
const maxMetadata = 8 * kilobyte;
export const maxSubject = 998;
const maxAttachments = 10;
const maxAttachmentBytes = 10 * kilobyte * kilobyte;

/** Bytes: room for the attachments in base64 and the rest of the request. */
export const attachmentBodyLimit = 36 * kilobyte * kilobyte;

/** Parts that were removed from a draft's HTML. */
export const HtmlRemoved = Type.Array(Strict({ what: Type.String(), count: Type.Integer({ minimum: 1 }) }), {
  description:
    "Parts that were removed from the HTML when it was reduced to what every recipient and the approver can see: element:NAME, attribute:NAME, style:PROPERTY, comment, image:remote or link:SCHEME.",
});

export const DraftAttachment = Strict(
  { filename: Type.String(), content_type: Type.String(), sha256: Sha256 },
  { title: "DraftAttachment" },
);

/** The decision about a draft: who decided, and how. */
export const DecidedBy = Strict(
  {
    decision: Type.Enum(["approve", "reject"]),
    kind: Type.String({ description: "api_key, telegram, slack, email_link, session, rule or auto" }),
    id: Type.String(),
    name: Type.Optional(Type.String()),
    email: Type.Optional(Type.String({ description: "For a signed-in person: the address at that time." })),
    channel: Type.Optional(Type.String()),
    ip: Type.Optional(Type.String()),
    user_agent: Type.Optional(Type.String()),
    request_id: Type.Optional(Type.String()),
    version: Type.Integer(),
    content_sha256: Sha256,
  },
  { title: "DecidedBy" },
);

/** Notification state of the newest version. */
const NotificationStatus = Strict(
  {
    state: Type.Enum(["none", "sent", "retrying", "failed", "expired"], {
      description:
        "The request for the newest version. none: no channel has responded yet; sent: a channel accepted it; retrying: it was not accepted, and is tried again; failed: it is not tried again automatically (POST /v1/drafts/{id}/notify notifies again); expired: the approvers were asked twice, and the links ran out both times without a decision, or did so once and the message was answered or followed by a newer one. After an escalation this is the secondary channel's state.",
    }),
    channel: Nullable(Type.String({ description: "The type of the channel that the state is about." })),
    at: Nullable(Timestamp),
    error: Nullable(
      Type.String({
        description:
          "Why no approver was reached, or that the request expired; null once one was reached. It begins with link_leaked or wrong_codes if a link was closed.",
      }),
    ),
  },
  { title: "NotificationStatus" },
);

/** Approvals of the newest version. */
const Approvals = Strict(
  {
    required: Type.Integer({
      minimum: 1,
      description:
        "How many approvers have to approve it: the identity's approvals_required; once it is approved, as many as were required then.",
    }),
    given: Type.Array(
      Strict({
        by: Strict({
          kind: Type.String({ description: "api_key, telegram, slack, email_link or session" }),
          id: Type.String(),
          name: Type.Optional(Type.String()),
          channel: Type.Optional(Type.String()),
        }),
        at: Timestamp,
      }),
      { description: "The approvers of the newest version, each once. A new version starts with none." },
    ),
  },
  { title: "Approvals" },
);

const action = Type.String({ pattern: "^[A-Z]+ /v1/drafts/" });

export const Draft = Strict(
  {
    id: Uuid,
    workspace_id: Uuid,
    thread_id: Uuid,
    identity_id: Uuid,
    based_on_message_id: Nullable(Uuid),
    kind: Type.Enum(["draft", "send", "reply", "test_email"], {
      description: "The call that created it: POST /v1/drafts, POST /v1/emails/send or reply, or a test email.",
    }),
    status: DraftStatus,
    version: Type.Integer({ minimum: 1 }),
    content_sha256: Sha256,
    to: Type.Array(Type.String()),
    cc: Type.Array(Type.String()),
    bcc: Type.Array(Type.String()),
    subject: Type.String(),
    body_text: Nullable(Type.String()),
    body_html: Nullable(Type.String({ description: "The HTML as it is stored, shown to approvers, hashed and sent." })),
    text_derived: Type.Boolean({
      description:
        "True if no body_text was given, and the text part is derived from the HTML. GET /v1/drafts/{id}/content shows it.",
    }),
    html_removed: HtmlRemoved,
    in_reply_to: Nullable(Type.String()),
    attachments: Type.Array(DraftAttachment),
    rationale: Nullable(Type.String()),
    metadata: Nullable(Type.Unsafe<Record<string, unknown>>({ type: "object" })),
    stale_warning: Type.Boolean(),
    warning_kinds: Type.Array(WarningKind, {
      description: `What its approver is warned of, the most important first: ${listedWarnings.map((kind) => `${kind} (${warningWords[kind]})`).join(", ")}. They are found when a version is made and belong to that version; ${judgedWarnings.join(", ")} are judged when the draft is read, and all of these but unproven_sender only while it is pending.`,
    }),
    newer_message_id: Nullable(
      Type.String({ format: "uuid", description: "While this is set, a send is refused as stale." }),
    ),
    answered_meanwhile: Nullable(
      Strict(
        {
          message_id: Uuid,
          at: Timestamp,
          by: Strict({ kind: Type.String(), id: Type.String(), name: Type.Optional(Type.String()) }),
          from_email: Type.String(),
        },
        {
          description:
            "The newest mail of this thread, other than this draft, that was queued after the message it is based on, and who authorised it; else one by which another identity of the workspace, from_email, answered the same mail.",
        },
      ),
    ),
    auto_approved: Nullable(Type.Boolean()),
    reason: Nullable(Type.String()),
    decided_by: Nullable(DecidedBy),
    decided_at: Nullable(Timestamp),
    approvals: Approvals,
    changes_requested: Nullable(ChangesRequested),
    assigned_to: Nullable(AssignedTo),
    undo_until: Nullable(
      Type.String({
        format: "date-time",
        description:
          "Set for ten seconds after a person approved in the console or on a link's page: until then they can undo it, and nothing is sent.",
      }),
    ),
    sent_at: Nullable(Timestamp),
    held_code: Nullable(
      Type.String({
        description:
          "Why an approved draft was not sent: sending_paused (it is sent when the pause ends), or plan_limit_reached, identity_not_active and similar (send it again once the cause is resolved).",
      }),
    ),
    failure_code: Nullable(Type.String()),
    failure_message: Nullable(Type.String()),
    notification_status: NotificationStatus,
    actions: Strict({ approve: action, reject: action, edit: action, send: action }),
    created_at: Timestamp,
    updated_at: Timestamp,
  },
  { title: "Draft" },
);

/** A submitted draft, with warnings. */
export const SubmittedDraft = Strict(
  {
    ...Draft.properties,
    warnings: Type.Array(Type.String(), {
      description:
        "Sentences about this draft to consider: the message was already answered, or another draft on it is pending.",
    }),
  },
  { title: "SubmittedDraft" },
);

export const DraftList = Envelope(Draft);

export const copies = Type.Array(EmailAddress, { maxItems: 50 });

export const NewAttachment = Strict(
  {
    filename: HeaderText(255, { minLength: 1 }),
    content_type: HeaderText(255, { minLength: 1, examples: ["application/pdf"] }),
    content_id: Type.Optional(
      Nullable(
        Type.String({
          minLength: 1,
          maxLength: 255,
          pattern: '^[^\\s<>"\\\\\\p{Cc}]+$',
          description:
            'For a picture (png, jpeg, gif, webp) that body_html shows as <img src="cid:…">; the stored body names it by its hash.',
          examples: ["logo"],
        }),
      ),
    ),
    content: Base64File(Math.ceil(maxAttachmentBytes / 3) * 4, {
      description: "Base64; at most 10 MB each and 25 MB together.",
    }),
  },
  { title: "NewAttachment" },
);

export const attachments = Type.Optional(Type.Array(NewAttachment, { maxItems: maxAttachments }));

export const anyBody = { atLeastOneOf: ["body_text", "body_html"] };

/** null means the same as an absent field, because drafts without the value show null. */
export const optionalText = (maxBytes: number) => Type.Optional(Nullable(Text(maxBytes)));
export const metadata = Type.Optional(Nullable(JsonObject(maxMetadata)));
const subjectOverride = Type.Optional(
  Nullable(HeaderText(maxSubject, { minLength: 1, description: "Default: the thread's subject, as it is." })),
);

export const CreateDraft = Strict(
  {
    thread_id: Uuid,
    identity_id: Uuid,
    based_on_message_id: Uuid,
    body_text: optionalText(maxBody),
    body_html: optionalText(maxBody),
    subject_override: subjectOverride,
    cc: Type.Optional(copies),
    bcc: Type.Optional(copies),
    rationale: optionalText(maxRationale),
    metadata,
    attachments,
  },
  { title: "CreateDraft", description: "At least one of body_text and body_html.", ...anyBody },
);

/** null deletes a value; a deleted subject becomes the thread's. */
export const EditDraft = Strict(
  {
    body_text: optionalText(maxBody),
    body_html: optionalText(maxBody),
    subject_override: subjectOverride,
    cc: Type.Optional(copies),
    bcc: Type.Optional(copies),
    rationale: optionalText(maxRationale),
  },
  { title: "EditDraft" },
);

export const RejectDraft = Strict({ reason: optionalText(maxReasonBytes) }, { title: "RejectDraft" });

export const DraftSending = Strict(
  { draft_id: Uuid, thread_id: Uuid, status: Type.Literal("sending"), queued_at: Timestamp },
  { title: "DraftSending" },
);

export const ApproversNotified = Strict(
  { draft_id: Uuid, channel: Type.String(), notified_at: Timestamp },
  { title: "ApproversNotified" },
);

/** Selects a past state of a draft: at a time, or at a version. */
export const DraftStateQuery = Strict({
  at: At,
  version: Type.Optional(Type.Integer({ minimum: 1 })),
});

export const VersionQuery = Paging;
