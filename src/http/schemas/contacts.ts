import Type from "typebox";
import { maxTagLength, maxTags } from "#streams/contact/decider.ts";
import { Envelope, kilobyte, ListQuery, Nullable, Strict, Text, Timestamp, Uuid, VisibleLine } from "./common.ts";

const ContactStatus = Type.Enum(["unknown", "trusted", "blocked"], {
  description: "Mail from a blocked contact is kept and flagged, and triggers nothing else.",
});
const Tag = VisibleLine(maxTagLength);
const maxName = 256;

export const Contact = Strict(
  {
    id: Uuid,
    workspace_id: Uuid,
    email: Type.String({ description: "In lowercase." }),
    name: Nullable(Type.String({ description: "The name from the first mail that had one, unless it was set." })),
    domain: Type.String(),
    status: ContactStatus,
    tags: Type.Array(Type.String()),
    first_seen_at: Timestamp,
    last_seen_at: Timestamp,
    created_at: Timestamp,
    updated_at: Timestamp,
  },
  { title: "Contact" },
);

export const ContactList = Envelope(Contact);

export const ContactQuery = ListQuery({
  q: Type.Optional(Text(kilobyte, { minLength: 1, description: "Part of the address or the name, case-insensitive." })),
  status: Type.Optional(ContactStatus),
  tag: Type.Optional(Tag),
  domain: Type.Optional(Type.String({ minLength: 1, maxLength: 255, lowercase: true })),
});

/** Absent fields stay unchanged. If `name` is null, it is set by the next mail that contains one. */
export const UpdateContact = Strict(
  {
    name: Type.Optional(Nullable(VisibleLine(maxName))),
    status: Type.Optional(ContactStatus),
    tags: Type.Optional(
      Type.Array(Tag, { maxItems: maxTags, description: "The complete list; it replaces the previous tags." }),
    ),
  },
  { title: "UpdateContact" },
);
