import Type from "typebox";
import {
  At,
  EmailAddress,
  Envelope,
  HeaderText,
  kilobyte,
  ListQuery,
  Nullable,
  OneOfBy,
  Strict,
  Text,
  Timestamp,
  Uuid,
} from "./common.ts";
import { HtmlRemoved } from "./drafts.ts";

/** Words that only one of the two forms of a signature has. */
const words = Type.Array(Type.String());
const IdentityStatus = Type.Enum(["active", "disabled"]);
const secret = Type.String({ minLength: 1, maxBytes: 2 * kilobyte });
const masked = "Shown as **** and its last 4 characters; sending that back keeps the stored value.";

const confirmCode = {
  description:
    "The approval page asks for the four digits from the approval mail before any decision. While human approval is required, turning it off needs the scope write:approvals.",
};

const editByChannel = {
  description:
    "Approvers may correct the subject and text of a draft where its card is: on the page of the approval mail's link (needs confirm_code too), in Slack (needs a bot_token) and in Telegram. Protected like the approval channel.",
};

const approvalsRequired = {
  minimum: 1,
  maximum: 5,
  description:
    "How many different approvers have to approve a draft before it is sent. A rejection ends it. API keys count once together, and not at all while human approval is required. With more than 1, no rule, mode or auto_approve_replies approves. Protected like the approval channel.",
};

/** A way to reach approvers. Secrets are stored encrypted and shown masked. */
export const ApprovalChannel = OneOfBy(
  "type",
  [
    Strict({
      type: Type.Literal("telegram"),
      config: Strict({
        bot_token: Type.String({ minLength: 1, maxBytes: 256, description: masked }),
        chat_id: Type.String({
          minLength: 1,
          maxBytes: 64,
          description:
            "The chat's number, which begins with a minus for a group, or the @name of a public group or channel. Topics of a group cannot be named.",
          examples: ["-1001234567890", "@public_group"],
        }),
        allowed_users: Type.Optional(
          Type.String({
            maxLength: 1000,
            pattern: "^\\d{1,20}( ?, ?\\d{1,20})*$",
            description:
              "Users who may decide in the chat: ids of Telegram users, comma separated. Without it every member may, and the user is recorded.",
            examples: ["111222333,444555666"],
          }),
        ),
      }),
    }),
    Strict({
      type: Type.Literal("slack"),
      config: Strict({
        webhook_url: Type.String({ minLength: 1, maxBytes: 2 * kilobyte, description: masked }),
        channel: Type.Optional(
          Type.String({
            minLength: 1,
            maxBytes: 255,
            description: "The channel that the bot of bot_token posts in: its id, or a public channel's name.",
          }),
        ),
        signing_secret: Type.Optional({
          ...secret,
          description: `The signing secret of the Slack app behind the webhook; it is used instead of SLACK_SIGNING_SECRET to verify button presses. ${masked}`,
        }),
        bot_token: Type.Optional({
          ...secret,
          description: `The bot token of the same app. It opens the form for a reason; together with channel, it updates cards after a decision. ${masked}`,
        }),
        allowed_users: Type.Optional(
          Type.String({
            maxLength: 1000,
            pattern: "^[UW][A-Z0-9]{1,20}( ?, ?[UW][A-Z0-9]{1,20})*$",
            description:
              "Users who may decide in the channel: ids of Slack users, comma separated. Needs a bot_token and a signing secret, because only buttons show who decides. Without it every member may, and the user is recorded.",
            examples: ["U0123456789,W0123456789"],
          }),
        ),
      }),
    }),
    Strict({ type: Type.Literal("email"), config: Strict({ to: EmailAddress }) }),
  ],
  { title: "ApprovalChannel", examples: [{ type: "email", config: { to: "approver@example.com" } }] },
);

export const Identity = Strict(
  {
    id: Uuid,
    workspace_id: Uuid,
    domain_id: Uuid,
    assistant_id: Nullable(Uuid),
    local_part: Type.String(),
    email_address: Type.String(),
    display_name: Type.String(),
    reply_to_email: Nullable(Type.String()),
    signature_text: Nullable(Type.String()),
    signature_html: Nullable(Type.String()),
    html_removed: HtmlRemoved,
    signature_difference: Nullable(
      Strict(
        { only_html: words, only_text: words, links_only_html: words, links_only_text: words },
        {
          description:
            "Text that is in only one of signature_html and signature_text; null if both have the same text, or only one is given.",
        },
      ),
    ),
    thread_history_depth: Type.Integer({ minimum: 1, maximum: 20 }),
    status: IdentityStatus,
    approval_channel: Nullable(ApprovalChannel),
    secondary_approval_channel: Nullable(ApprovalChannel),
    escalation_delay_minutes: Nullable(Type.Integer({ minimum: 1, maximum: 10080 })),
    can_send_cold: Type.Boolean(),
    auto_approve_replies: Type.Boolean(),
    require_human_approval: Type.Boolean(),
    send_on_channel_approval: Type.Boolean(),
    aliases: Type.Array(Type.String()),
    covered_recipients: Type.Array(Type.String()),
    confirm_code: Type.Boolean(confirmCode),
    edit_by_channel: Type.Boolean(editByChannel),
    approvals_required: Type.Integer(approvalsRequired),
    warnings: Type.Array(Type.String(), {
      description:
        "Problems of the settings, for example too few approvers for approvals_required. Empty for an earlier state.",
    }),
    created_at: Timestamp,
    updated_at: Timestamp,
  },
  { title: "Identity" },
);

const maxSignature = 64 * kilobyte;

/** Fields that can be set on creation and later. */
const settings = {
  assistant_id: Type.Optional(Nullable(Uuid)),
  reply_to_email: Type.Optional(Nullable(EmailAddress)),
  signature_text: Type.Optional(Nullable(Text(maxSignature))),
  signature_html: Type.Optional(Nullable(Text(maxSignature))),
  approval_channel: Type.Optional(Nullable(ApprovalChannel)),
  secondary_approval_channel: Type.Optional(Nullable(ApprovalChannel)),
  escalation_delay_minutes: Type.Optional(Nullable(Type.Integer({ minimum: 1, maximum: 10080 }))),
};

const aliases = {
  maxItems: 20,
  description:
    "Further addresses from which mail is forwarded to this identity. A reply to all leaves them out, so that it does not come back. Protected like reply_to_email.",
};

const coveredRecipients = {
  maxItems: 20,
  description:
    "Recipients who may be answered automatically although the message's sender proof does not cover them. Case-insensitive. Protected like the approval channel.",
};

const displayName = HeaderText(255, { minLength: 1, examples: ["Example Support"] });

export const CreateIdentity = Strict(
  {
    domain_id: Uuid,
    local_part: Type.String({
      minLength: 1,
      maxLength: 64,
      format: "local-part",
      pattern: "^[a-z0-9_+-]+(\\.[a-z0-9_+-]+)*$",
      description: "Lowercase letters, digits and . _ + -",
      examples: ["support"],
    }),
    display_name: displayName,
    ...settings,
    thread_history_depth: Type.Integer({ minimum: 1, maximum: 20, default: 10 }),
    can_send_cold: Type.Boolean({
      default: false,
      description: "May start new conversations. Can be set only at creation.",
    }),
    auto_approve_replies: Type.Boolean({ default: false }),
    require_human_approval: Type.Boolean({ default: false }),
    send_on_channel_approval: Type.Boolean({ default: true }),
    aliases: Type.Array(EmailAddress, { ...aliases, default: [] }),
    covered_recipients: Type.Array(EmailAddress, { ...coveredRecipients, default: [] }),
    confirm_code: Type.Boolean({ ...confirmCode, default: false }),
    edit_by_channel: Type.Boolean({ ...editByChannel, default: false }),
    approvals_required: Type.Integer({ ...approvalsRequired, default: 1 }),
  },
  { title: "CreateIdentity" },
);

/** Absent fields stay unchanged; local_part and email_address can never be changed. */
export const UpdateIdentity = Strict(
  {
    display_name: Type.Optional(displayName),
    ...settings,
    thread_history_depth: Type.Optional(Type.Integer({ minimum: 1, maximum: 20 })),
    status: Type.Optional(IdentityStatus),
    auto_approve_replies: Type.Optional(Type.Boolean()),
    require_human_approval: Type.Optional(Type.Boolean()),
    send_on_channel_approval: Type.Optional(Type.Boolean()),
    aliases: Type.Optional(Type.Array(EmailAddress, aliases)),
    covered_recipients: Type.Optional(Type.Array(EmailAddress, coveredRecipients)),
    confirm_code: Type.Optional(Type.Boolean(confirmCode)),
    edit_by_channel: Type.Optional(Type.Boolean(editByChannel)),
    approvals_required: Type.Optional(Type.Integer(approvalsRequired)),
  },
  { title: "UpdateIdentity" },
);

export const IdentityQuery = ListQuery({
  domain_id: Type.Optional(Uuid),
  status: Type.Optional(IdentityStatus),
  at: At,
});
export const IdentityStateQuery = Strict({ at: At });
export const IdentityList = Envelope(Identity);
