import { eventsAfter, type FeedPlace, feedEnd, feedStart, payloadOf } from "#projections/feed/queries.ts";
import { publicEventTypes } from "#streams/webhook/events.ts";
import type { HttpDependencies } from "../dependencies.ts";
import { invalid } from "../framework/errors.ts";
import { unauthorized } from "../framework/keys/authenticate.ts";
import { holdersOf } from "../framework/longRequestLimit.ts";
import { reply } from "../framework/reply.ts";
import { route } from "../framework/route.ts";
import { EventPage, EventQuery, EventStreamQuery } from "../schemas/events.ts";
import { eventStream } from "./eventStream.ts";
import { cursorOf, placeOf } from "./feedCursor.ts";
import { createOpenStreams } from "./openStreams.ts";

export const eventRoutes = (deps: HttpDependencies) => [readEvents(deps), followEvents(deps)];

const readEvents = (deps: HttpDependencies) =>
  route(
    "GET /v1/events",
    {
      scope: "read:events",
      limit: "read",
      summary: "Read the event feed, oldest first",
      description:
        "The feed has every event that webhooks can receive, and keeps them permanently. Start without `after`, then pass `next_cursor` each time. If `has_more` is true, request the next page immediately.",
      query: EventQuery,
      answers: EventPage,
    },
    async ({ workspaceId, query }) => {
      const after = query.after === undefined ? feedStart : placeOf(query.after, "after");
      const types = typesOf(query.types);
      const rows = await eventsAfter(deps.reads, workspaceId, { after, types, limit: query.limit + 1 });
      const page = rows.slice(0, query.limit);
      return {
        data: page.map((row) => ({ ...payloadOf(row), cursor: cursorOf(row) })),
        next_cursor: cursorOf(page.at(-1) ?? after),
        has_more: rows.length > page.length,
      };
    },
  );

function followEvents(deps: HttpDependencies) {
  const streams = createOpenStreams(deps);

  return route(
    "GET /v1/events/stream",
    {
      scope: "read:events",
      limit: "read",
      summary: "Follow the event feed as server-sent events",
      description:
        "`event` is the kind, `data` the event as `GET /v1/events` has it, and `id` its cursor: a client that reconnects with the last cursor as `Last-Event-ID` misses nothing and gets nothing twice. Without it, and without `after`, the stream starts with the next new event. A key may have 5 streams open, a workspace 50: another one ends the oldest, or is refused until the oldest has been open for a minute. When there are no events, a comment is sent every 15 seconds. A client that takes nothing for a minute is disconnected.",
      query: EventStreamQuery,
      answers: { mediaType: "text/event-stream", description: "Events as they happen, without end." },
      lastEventId: true,
    },
    async ({ workspaceId, principal, query, lastEventId, signal }) => {
      const types = typesOf(query.types);
      const after = givenPlace(lastEventId, query.after) ?? (await feedEnd(deps.reads, workspaceId));
      // The key was revoked in between: without this check the stream would never be closed, and would use one of the key's places forever.
      if (signal.aborted) throw unauthorized();
      const holders = holdersOf({ id: principal.id, workspaceId });
      return reply({
        stream: streams.open(holders, (replaced) => eventStream(deps, { workspaceId, after, types, signal, replaced })),
        headers: { "Content-Type": "text/event-stream; charset=utf-8", "X-Accel-Buffering": "no" },
      });
    },
  );
}

/** The position after which a stream starts: Last-Event-ID, or else `after`. Undefined if neither is given. */
function givenPlace(lastEventId: string | undefined, after: string | undefined): FeedPlace | undefined {
  if (lastEventId !== undefined) return placeOf(lastEventId, "Last-Event-ID");
  return after === undefined ? undefined : placeOf(after, "after");
}

/** The requested event types; undefined for all. Throws for an unknown type, which would silently match nothing. */
function typesOf(given: string | undefined): string[] | undefined {
  if (given === undefined) return undefined;
  const types = given.split(",").map((type) => type.trim());
  const unknown = types.find((type) => !(publicEventTypes as readonly string[]).includes(type));
  if (unknown !== undefined)
    throw invalid("types", `expected a comma-separated list of event kinds: ${publicEventTypes.join(", ")}`);
  return types;
}
