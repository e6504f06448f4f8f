import Type from "typebox";
import {
  At,
  DateOrTime,
  kilobyte,
  ListQuery,
  Nullable,
  SearchEnvelope,
  Strict,
  Text,
  Timestamp,
  Uuid,
} from "./common.ts";
import { Draft } from "./drafts.ts";
import { Message } from "./messages.ts";

const ThreadStatus = Type.Enum(["open", "waiting", "draft_pending", "closed"]);
const Priority = Type.Enum(["low", "normal", "high", "urgent"]);

const fields = {
  id: Uuid,
  workspace_id: Uuid,
  identity_id: Uuid,
  primary_contact_id: Nullable(Uuid),
  subject: Type.String(),
  status: ThreadStatus,
  priority: Priority,
  needs_review: Type.Boolean({ description: "True if a person should look at this thread." }),
  last_message_at: Nullable(Timestamp),
  message_count: Type.Integer({ minimum: 0 }),
  participants: Type.Array(Type.String()),
  merged_into: Nullable(Type.String({ format: "uuid", description: "The thread that this one was merged into." })),
  created_at: Timestamp,
  updated_at: Timestamp,
};

export const Thread = Strict(fields, { title: "Thread" });

/** A thread with its newest messages (ascending) and its drafts (descending). */
export const ThreadRead = Strict(
  {
    ...fields,
    messages: Type.Array(Message),
    messages_total: Type.Integer({ minimum: 0 }),
    drafts: Type.Array(Draft),
  },
  { title: "ThreadRead" },
);

export const ThreadList = SearchEnvelope(Thread);

export const ThreadQuery = ListQuery({
  identity_id: Type.Optional(Uuid),
  status: Type.Optional(ThreadStatus),
  needs_review: Type.Optional(Type.Boolean()),
  priority: Type.Optional(Priority),
  q: Type.Optional(
    Text(kilobyte, {
      minLength: 1,
      description:
        'Found in subject and message bodies, whatever case and accents: words that are all in one message; words of three or more characters also match parts of words (the first eight words; of the 200 shortest words that hold the part); "a phrase"; -without. Only the first 20,000 characters of a body are searched; only the first 8,000 if a received body (text and HTML together) is over 48 KB, or the content of a sent mail over 16 KB.',
    }),
  ),
  contact: Type.Optional(
    Text(kilobyte, {
      minLength: 1,
      description:
        "Parts of a sender's address or name, or of the name that was set for the thread's contact (PATCH /v1/contacts/{id}), ignoring case and accents.",
    }),
  ),
  from_date: Type.Optional(DateOrTime),
  to_date: Type.Optional(DateOrTime),
  sort: Type.Enum(["last_message_at", "priority"], { default: "last_message_at" }),
});

export const ThreadStateQuery = Strict({ at: At });

export const UpdateThread = Strict(
  {
    status: Type.Optional(ThreadStatus),
    needs_review: Type.Optional(Type.Boolean()),
    priority: Type.Optional(Priority),
  },
  { title: "UpdateThread" },
);
