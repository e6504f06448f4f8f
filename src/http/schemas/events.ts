import Type from "typebox";
import { publicEventTypes } from "#streams/webhook/events.ts";
import { Strict, Timestamp, Uuid } from "./common.ts";

const EventType = Type.Enum([...publicEventTypes]);

const types = Type.Optional(
  Type.String({
    minLength: 1,
    maxLength: 512,
    description: `Only these kinds, comma-separated: ${publicEventTypes.join(", ")}.`,
    examples: ["draft.stale,draft.rejected"],
  }),
);

const after = Type.Optional(
  Type.String({
    minLength: 1,
    maxLength: 64,
    description: "A cursor: return only later events. Cursors never expire.",
  }),
);

export const PublicEvent = Strict(
  {
    id: Uuid,
    type: EventType,
    created_at: Timestamp,
    workspace_id: Uuid,
    sequence: Type.Integer({ minimum: 1, description: "The event's number within its workspace, without gaps." }),
    data: Type.Unsafe<Record<string, unknown>>({
      type: "object",
      description: "Ids and facts, no bodies: draft_id, thread_id, identity_id and the fields of the kind.",
    }),
    cursor: Type.String({ description: "Pass it as `after` to get later events." }),
  },
  {
    title: "Event",
    examples: [
      {
        id: "0199aaaa-0000-7000-8000-000000000001",
        type: "draft.stale",
        created_at: "2026-01-01T12:00:00.000Z",
        workspace_id: "0199aaaa-0000-7000-8000-000000000002",
        sequence: 17,
        data: {
          draft_id: "0199aaaa-0000-7000-8000-000000000003",
          thread_id: "0199aaaa-0000-7000-8000-000000000004",
          identity_id: "0199aaaa-0000-7000-8000-000000000005",
          new_message_id: "0199aaaa-0000-7000-8000-000000000006",
        },
        cursor: "MTAyNC4w",
      },
    ],
  },
);

export const EventQuery = Strict({
  after,
  types,
  limit: Type.Integer({ minimum: 1, maximum: 100, default: 20, description: "Maximum number of events." }),
});

export const EventPage = Strict(
  {
    data: Type.Array(PublicEvent),
    next_cursor: Type.String({ description: "The cursor to continue from, also when there were no events." }),
    has_more: Type.Boolean(),
  },
  { title: "EventPage" },
);

export const EventStreamQuery = Strict({ after, types });
