import Type from "typebox";
import { EmailAddress, HeaderText, Nullable, Strict, Timestamp, Uuid } from "./common.ts";
import { anyBody, attachments, copies, DraftStatus, maxBody, maxSubject, metadata, optionalText } from "./drafts.ts";

const letter = {
  body_text: optionalText(maxBody),
  body_html: optionalText(maxBody),
  cc: Type.Optional(copies),
  bcc: Type.Optional(copies),
  attachments,
};

export const SendEmail = Strict(
  {
    identity_id: Uuid,
    to: Type.Array(EmailAddress, { minItems: 1, maxItems: 50, examples: [["customer@example.com"]] }),
    subject: HeaderText(maxSubject, { minLength: 1, examples: ["Your order"] }),
    ...letter,
    metadata,
  },
  { title: "SendEmail", description: "At least one of body_text and body_html.", ...anyBody },
);

const reply = {
  based_on_message_id: Type.Optional(
    Nullable(
      Type.String({
        format: "uuid",
        lowercase: true,
        description:
          "The message you read. By default the thread's newest message is answered, a person's before a machine's.",
      }),
    ),
  ),
  ...letter,
  reply_all: Type.Boolean({
    default: false,
    description:
      "A copy goes to everybody else in the message's Reply-To, To and Cc, except addresses of this workspace, the identity's `aliases` and the address that forwarded the message here: `warnings` names those left out.",
  }),
};

export const ReplyEmail = Strict(
  { thread_id: Uuid, ...reply },
  { title: "ReplyEmail", description: "At least one of body_text and body_html.", ...anyBody },
);

/** A person's reply on the thread in the path. */
export const ThreadReply = Strict(reply, {
  title: "ThreadReply",
  description: "At least one of body_text and body_html.",
  ...anyBody,
});

/** A mail being sent, or waiting for a person's approval; `message_id` is the id of its message once it is queued. */
export const EmailAccepted = Strict(
  {
    draft_id: Uuid,
    message_id: Uuid,
    thread_id: Uuid,
    status: DraftStatus,
    queued_at: Nullable(
      Type.String({ format: "date-time", description: "Null while it waits for a person's approval." }),
    ),
    warnings: Type.Array(Type.String(), {
      description: "Sentences about recipients that a reply to all left out.",
    }),
  },
  { title: "EmailAccepted" },
);

export const TestEmail = Strict({ recipient_email: EmailAddress }, { title: "TestEmail" });

export const TestNotification = Strict(
  {
    channel: Type.Enum(["primary", "secondary"], {
      default: "primary",
      description: "The approval channel of the identity to use.",
    }),
  },
  { title: "TestNotification" },
);

export const TaskAccepted = Strict({ task_id: Uuid }, { title: "TaskAccepted" });

export const Task = Strict(
  {
    id: Uuid,
    kind: Type.Enum(["test_email", "test_notification"]),
    status: Type.Enum(["pending", "running", "succeeded", "failed"], {
      description:
        "pending: it waits for a person's approval. running: it is being handed to the provider, or tried again.",
    }),
    created_at: Timestamp,
    finished_at: Nullable(Timestamp),
    error: Nullable(
      Type.String({
        description: "Why it failed, in words; of a test_notification that is running, why the last attempt failed.",
      }),
    ),
  },
  { title: "Task" },
);
