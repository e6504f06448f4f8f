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
