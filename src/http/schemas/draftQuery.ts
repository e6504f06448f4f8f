import Type from "typebox";
import { listedWarnings } from "#streams/draft/warnings.ts";
import { DateOrTime, kilobyte, ListQuery, Text, Uuid } from "./common.ts";
import { DraftStatus } from "./drafts.ts";

/** Filters of GET /v1/drafts. */
export const DraftQuery = ListQuery({
  thread_id: Type.Optional(Uuid),
  identity_id: Type.Optional(Uuid),
  status: Type.Optional(DraftStatus),
  warning_kind: Type.Optional(Type.Enum([...listedWarnings], { description: "Only drafts with this warning." })),
  q: Type.Optional(
    Text(kilobyte, {
      minLength: 1,
      description: "Only drafts of threads that have these words, as in GET /v1/threads.",
    }),
  ),
  person: Type.Optional(
    Text(kilobyte, {
      minLength: 1,
      description:
        "Only drafts with this person: a recipient or somebody who decided, by the beginning of an address, a domain or a word of a name; or a sender on the thread, by parts of address or name. Recipients of a draft over 16 KB are not searched.",
    }),
  ),
  from_date: Type.Optional(DateOrTime),
  to_date: Type.Optional(DateOrTime),
});
