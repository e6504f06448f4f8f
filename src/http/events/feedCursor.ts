import type { FeedPlace } from "#projections/feed/queries.ts";
import { invalid } from "../framework/errors.ts";

/** Encodes a feed position as an opaque cursor. */
export const cursorOf = ({ position, part }: FeedPlace): string =>
  Buffer.from(`${position}.${part}`).toString("base64url");

/** Decodes a cursor; throws invalid_request naming `field` if it is not valid. */
export function placeOf(cursor: string, field: string): FeedPlace {
  const [, position, part] =
    /^(0|[1-9]\d{0,15})\.(\d)$/.exec(Buffer.from(cursor, "base64url").toString("latin1")) ?? [];
  const place = { position: Number(position), part: Number(part) };
  if (!Number.isSafeInteger(place.position) || cursorOf(place) !== cursor) {
    throw invalid(field, "expected a cursor from an event or from next_cursor; omit it to start from the first event");
  }
  return place;
}
