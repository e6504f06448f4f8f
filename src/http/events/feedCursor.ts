import type { IncomingMessage } from "node:http";
import type { FeedPlace } from "#projections/feed/queries.ts";
import { invalid } from "../framework/errors.ts";

/** A position in the feed as clients keep it. Its content is opaque to them. */
export const cursorOf = ({ position, part }: FeedPlace): string =>
  Buffer.from(`${position}.${part}`).toString("base64url");

/** Throws invalid_request naming `field` if the text is no cursor of ours. */
export function placeOf(cursor: string, field: string): FeedPlace {
  const [, position, part] =
    /^(0|[1-9]\d{0,15})\.(\d)$/.exec(Buffer.from(cursor, "base64url").toString("latin1")) ?? [];
  const place = { position: Number(position), part: Number(part) };
  if (!Number.isSafeInteger(place.position) || cursorOf(place) !== cursor) {
    throw invalid(
      field,
      "expected a cursor from an event or from next_cursor; leave it out to start from the first event",
    );
  }
  return place;
}

/** Where a stream is to go on, by its Last-Event-ID; undefined if it has none. */
export function lastEventIdOf(request: IncomingMessage): FeedPlace | undefined {
  const given = request.headersDistinct["last-event-id"];
  if (given === undefined || (given.length === 1 && given[0] === "")) return undefined;
  return placeOf(given.length === 1 ? given[0]! : "", "Last-Event-ID");
}
