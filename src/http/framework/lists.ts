import { createHmac, timingSafeEqual } from "node:crypto";
import type { Static, TObject, TSchema } from "typebox";
import type { Cursor, Page, Window } from "#projections/page.ts";
import type { KeyRing } from "#src/platform/secrets/keyRing.ts";
import { invalid } from "./errors.ts";
import type { Scope } from "./keys/scopes.ts";
import {
  type Caller,
  type HandlerInput,
  type ParamNames,
  type Route,
  type RouteLine,
  type RouteOptions,
  route,
} from "./route.ts";

/** Identifies the list that a cursor belongs to: route, workspace, path parameters and filters. */
type ListName = { line: string; workspaceId: string; params: object; filters: object };

/** Pagination cursors: opaque text that clients send back unchanged. */
export type Cursors = {
  write(place: Cursor, list: ListName): string;
  /** Throws invalid_request naming `cursor` unless `write` made it for the same list. */
  read(cursor: string, list: ListName): Cursor;
};

const markBytes = 16;

/** Must be raised when a list changes its order: cursors of the old order are then refused. */
const ordersVersion = 1;

/**
 * Cursors that contain the position in the list and an HMAC over it and the list: a valid one was made by this service for that list and
 * order, and needs no further check. They contain nothing secret. An HMAC by any key of the ring is accepted.
 */
export function createCursors(keyRing: Pick<KeyRing, "deriveKeys">): Cursors {
  let keys: readonly Buffer[] | undefined;
  const keysOfRing = (): readonly Buffer[] => (keys ??= keyRing.deriveKeys("list-cursor"));
  const markOf = (place: string, list: string, key: Buffer): Buffer =>
    createHmac("sha256", key).update(`${list}\n${place}`).digest().subarray(0, markBytes);

  return {
    write(place, list) {
      const text = JSON.stringify(place);
      const mark = markOf(text, nameOf(list), keysOfRing()[0] as Buffer);
      return Buffer.concat([mark, Buffer.from(text)]).toString("base64url");
    },
    read(cursor, list) {
      const bytes = Buffer.from(cursor, "base64url");
      const [mark, text] = [bytes.subarray(0, markBytes), bytes.subarray(markBytes).toString()];
      const ours = keysOfRing().some(
        (key) => mark.length === markBytes && timingSafeEqual(mark, markOf(text, nameOf(list), key)),
      );
      if (!ours || bytes.toString("base64url") !== cursor) throw noCursor();
      return JSON.parse(text);
    },
  };
}

const nameOf = ({ line, workspaceId, params, filters }: ListName): string =>
  JSON.stringify([ordersVersion, line, workspaceId, inOrder(params), inOrder(filters)]);

const inOrder = (fields: object): [string, unknown][] => Object.entries(fields).sort(([a], [b]) => (a < b ? -1 : 1));

const noCursor = () =>
  invalid(
    "cursor",
    "expected the next_cursor of a page of this list, with the same filters and order; omit it to start from the first item",
  );

type ListOptions<Params, Q extends TObject, Loaded> = Omit<RouteOptions<Scope, Params, Q, TObject, Loaded>, "body"> & {
  query: Q;
  cursors: Cursors;
};

/** Input of a list's handler: the filters and the requested window. */
type ListCall<Params, Q extends TObject, Loaded> = HandlerInput<Params, Filters<Q> & Window, unknown, Loaded> & Caller;
type Filters<Q extends TObject> = Omit<Static<Q>, "cursor" | "limit" | "offset">;

/**
 * Declares a list route: `query` is a ListQuery, `answers` an Envelope. The handler gets the requested window (an offset, or the position
 * after which the page starts) and returns one page; its `next` is sent as the cursor.
 */
export function listRoute<const L extends RouteLine, Q extends TObject, A extends TSchema, Loaded = undefined>(
  line: L,
  { cursors, ...options }: ListOptions<Record<ParamNames<L>, string>, Q, Loaded> & { answers: A },
  handler: (call: ListCall<Record<ParamNames<L>, string>, Q, Loaded>) => Promise<Page<unknown>>,
): Route<L, Static<A>> {
  const made = route(line, options, async (call: any) => {
    const { limit, offset, cursor, ...filters } = call.query;
    const list: ListName = { line, workspaceId: call.workspaceId, params: call.params, filters };
    const after = cursor === undefined ? undefined : cursors.read(cursor, list);
    const { next, ...page } = await handler({ ...call, query: { ...filters, limit, offset, after } });
    return { ...page, next_cursor: next && cursors.write(next, list) };
  });
  return { ...made, checkQuery: (query) => made.checkQuery(requireOneWay(query)) };
}

/** Refuses a query with both cursor and offset. Runs before defaults are filled in, so `offset` is present only if the client sent it. */
function requireOneWay(query: unknown): unknown {
  const given = query as { cursor?: unknown; offset?: unknown };
  if (given.cursor !== undefined && given.offset !== undefined)
    throw invalid("offset", "expected either offset or cursor, not both: a cursor already has its position");
  return query;
}
