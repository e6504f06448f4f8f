import Type from "typebox";
import { maxTagLength, maxTags } from "#streams/contact/decider.ts";
import { Envelope, kilobyte, ListQuery, Nullable, Strict, Text, Timestamp, Uuid, VisibleLine } from "./common.ts";

const ContactStatus = Type.Enum(["unknown", "trusted", "blocked"], {
  description: "Mail of a blocked contact is kept and flagged, and sets nothing else in motion.",
});
const Tag = VisibleLine(maxTagLength);
const maxName = 256;

export const Contact = Strict(
  {
    id: Uuid,
    workspace_id: Uuid,
    email: Type.String({ description: "In lower case." }),
    name: Nullable(Type.String({ description: "Of the first mail that had one, unless it was set." })),
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
  q: Type.Optional(Text(kilobyte, { minLength: 1, description: "Part of the address or the name, in any case." })),
  status: Type.Optional(ContactStatus),
  tag: Type.Optional(Tag),
  domain: Type.Optional(Type.String({ minLength: 1, maxLength: 255, lowercase: true })),
});

/** Only what is given changes. A null name is taken from the next mail that has one. */
export const UpdateContact = Strict(
  {
    name: Type.Optional(Nullable(VisibleLine(maxName))),
    status: Type.Optional(ContactStatus),
    tags: Type.Optional(Type.Array(Tag, { maxItems: maxTags, description: "All of them; they replace those before." })),
  },
  { title: "UpdateContact" },
);
