import Type from "typebox";
import { Envelope, ListQuery, Nullable, Strict, Timestamp, Uuid } from "./common.ts";

const Verdict = Type.Enum(["pass", "fail", "none", "neutral", "softfail", "temperror", "permerror"]);

export const Authentication = Strict(
  { spf: Verdict, dkim: Verdict, dmarc: Verdict, aligned: Type.Boolean() },
  { title: "Authentication" },
);

export const Attachment = Strict(
  {
    id: Type.String(),
    filename: Type.String(),
    content_type: Type.String(),
    size_bytes: Type.Integer({ minimum: 0 }),
    content_id: Nullable(Type.String()),
    inline: Type.Boolean(),
  },
  { title: "Attachment" },
);

/** Whose mail an inbound message is (src/mailKinds.md). */
export const MailKind = Type.Enum(
  ["customer", "program", "altered_copy", "filed_by_hand", "colleague", "automatic_reply", "report"],
  {
    description:
      "Whose mail an inbound message is: a customer's, a program's (see generated), a mail of ours that came back with other words, one that a person filed by hand, a colleague's (another identity of the workspace), an automatic reply, or a report about a mail. The first four are the customer's word: they fire email.received and make older drafts stale. Null for outbound mail.",
  },
);

export const Reaction = Strict({ emoji: Type.String(), from: Type.String(), at: Timestamp }, { title: "Reaction" });

export const MessageRecipient = Strict(
  {
    address: Type.String(),
    status: Type.Enum(["sent", "delivered", "delayed", "bounced", "complained", "failed"]),
    code: Nullable(Type.String({ description: "The status code of the server's report, such as 5.1.1." })),
    text: Nullable(Type.String({ description: "The server's words: at most 500 characters on one line." })),
    at: Nullable(Timestamp),
  },
  { title: "MessageRecipient" },
);

export const Message = Strict(
  {
    id: Uuid,
    thread_id: Uuid,
    direction: Type.Enum(["inbound", "outbound"]),
    from_email: Type.String(),
    from_name: Nullable(Type.String()),
    to_emails: Type.Array(Type.String()),
    cc_emails: Type.Array(Type.String()),
    bcc_emails: Type.Array(Type.String()),
    reply_to: Type.Array(Type.String()),
    subject: Type.String(),
    body_text: Nullable(Type.String()),
    body_html: Nullable(Type.String()),
    extracted_text: Nullable(
      Type.String({
        description:
          "The text without quotations (marked by `>`, a mail program's header block or an attribution line) and without a signature of contact details. A view only: rules read body_text.",
      }),
    ),
    rfc_message_id: Nullable(Type.String()),
    in_reply_to: Nullable(Type.String()),
    references: Type.Array(Type.String()),
    classification: Nullable(Type.Enum(["person", "auto_reply", "bounce", "list"])),
    kind: Nullable(MailKind),
    generated: Type.Boolean({
      description:
        "True for inbound mail that a program wrote and that is no automatic reply: a web form, a notification. It counts as a person's, but no grant applies to an answer to it, and a second answer to it is refused.",
    }),
    origin: Type.Enum(["external", "own_workspace"], {
      description:
        "`own_workspace` for mail of an identity of this workspace: proved by its Message-ID and its words, or its sender's address is one of the workspace's and proven. For outbound mail too.",
    }),
    reactions: Type.Array(Reaction, { description: "Signs that recipients put on this mail of ours." }),
    authentication: Nullable(Authentication),
    delivery_status: Nullable(Type.Enum(["queued", "sent", "delivered", "bounced", "complained", "failed"])),
    recipients: Type.Array(MessageRecipient, {
      description:
        "What became of a sent mail for each recipient in to, cc and bcc. `delivery_status` is bounced only if every To has bounced. Empty for inbound mail and before the provider has the mail.",
    }),
    from_blocked_contact: Type.Boolean({
      description: "True if the sender was blocked: the message was kept, but triggered nothing.",
    }),
    approval_link_removed: Type.Boolean({
      description:
        "True if it had approval links: they are closed, and shown as [approval link removed]. Its raw form and its attachments need the scope write:approvals.",
    }),
    notes: Type.Array(Type.String(), {
      description:
        "Sentences about parts of the mail that could not be read, are encrypted, are hidden from a reader, or were repaired. They may quote the mail. Empty for outbound mail.",
    }),
    draft_id: Nullable(Uuid),
    attachments: Type.Array(Attachment),
    received_at: Nullable(Timestamp),
    sent_at: Nullable(Timestamp),
    created_at: Timestamp,
  },
  { title: "Message" },
);

export const MessageList = Envelope(Message);
export const MessageQuery = ListQuery({
  sort: Type.Optional(
    Type.Enum(["oldest", "newest"], { description: "The message to start with. Default: the oldest." }),
  ),
});

/** Path parameters of an attachment; attachment ids are free text. */
export const AttachmentParams = Strict({ id: Uuid, attachment_id: Type.String({ minLength: 1, maxLength: 255 }) });

const Disposition = Type.Enum([
  "received",
  "threaded",
  "duplicate",
  "own_copy",
  "reaction",
  "held_over_quota",
  "held_identity_disabled",
  "quarantined",
  "unknown_recipient",
  "approval_reply",
]);

/** One delivery in the inbound ledger. */
export const InboundEntry = Strict(
  {
    id: Uuid,
    identity_id: Nullable(Uuid),
    received_at: Timestamp,
    position: Type.Integer({ description: "The position of its acknowledgement in the event log." }),
    filed_position: Nullable(
      Type.Integer({
        description:
          "The position of its filing. For held mail it is first that of the marker, then null, then that of the release.",
      }),
    ),
    envelope: Strict({ from: Type.String(), to: Type.String() }),
    disposition: Disposition,
    message_id: Nullable(Uuid),
    reason: Nullable(Type.String()),
    size_bytes: Type.Integer({ minimum: 0 }),
  },
  { title: "InboundEntry" },
);

export const InboundList = Envelope(InboundEntry);
export const InboundQuery = ListQuery({
  identity_id: Type.Optional(Uuid),
  disposition: Type.Optional(Disposition),
});
