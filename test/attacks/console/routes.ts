import type { Document } from "#src/http/framework/openapi/openapi.ts";
import type { SessionPrincipal } from "#src/http/framework/principal.ts";
import type { Route, RouteLine } from "#src/http/framework/route.ts";
import {
  bodyOf,
  fieldAt,
  firstTile,
  idPlaces,
  nounOfField,
  paramsOf,
  put,
  type Tenant,
} from "#test/support/examples/world.ts";
import { type AskAs, personOf, type RouteAnswer, roles } from "./askAs.ts";

type Json = Record<string, any>;

/** An id that nothing has. */
export const nothing = "00000000-0000-7000-8000-000000000001";

export type RoutesWorld = {
  routes: readonly Route[];
  askAs: AskAs;
  document: Document;
  /** The workspace whose ids are foreign to `stranger`. Both have one of everything. */
  tenant: Tenant;
  stranger: Tenant;
};

/** One request of the matrix, and which answer is expected. */
export type Cell = {
  said: string;
  /** A person of the stranger's workspace. */
  person: SessionPrincipal;
  route: Route;
  kind: "closed" | "own" | "nothing" | "foreign path" | "foreign body" | "foreign filter";
  ask(): Promise<RouteAnswer>;
  /** The same request with a missing id; only for foreign ids. */
  askMissing?: () => Promise<RouteAnswer>;
};

/**
 * Roles × routes × own and foreign ids, made from what `routes` declares. A route closed to the role's scopes is asked about the workspace's
 * own things, with a valid body; an open one is asked about missing things and those of another workspace, in every place that
 * takes an id. So no request changes anything. One in `every` cells is returned, different ones for each role.
 */
export function cellsOf(world: RoutesWorld, { every }: { every: number }): Cell[] {
  return roles.flatMap((role) => {
    const person = personOf(world.stranger.workspaceId, role);
    const cells = world.routes
      .filter(({ scope }) => scope !== null)
      .flatMap((route) => cellsOfRoute(world, route, person));
    return cells.filter((_, turn) => turn % every === roles.indexOf(role) % every);
  });
}

function cellsOfRoute(world: RoutesWorld, route: Route, person: SessionPrincipal): Cell[] {
  const { askAs, stranger, tenant } = world;
  const line = `${route.method} ${route.path}` as RouteLine;
  const documented = `${route.method} ${route.path.replaceAll(/:(\w+)/g, "{$1}")}`;
  const ids = paramsOf(documented.slice(documented.indexOf("/")));
  const numbers = Object.fromEntries(
    Object.entries(firstTile).filter(([name]) => new RegExp(`:${name}\\b`).test(route.path)),
  );
  const own = { ...numbers, ...Object.fromEntries(ids.map(({ name, noun }) => [name, stranger.ids[noun] as string])) };
  const schema = bodySchemaOf(world, route);
  const body = () =>
    schema && {
      ...bodyOf(schema, world.document.components.schemas as Json, stranger),
      // Needed although no schema says so.
      ...(schema.properties?.body_text && { body_text: "Hello." }),
    };
  const cell = (kind: Cell["kind"], what: string, call: () => object): Cell => ({
    said: `${person.role}: ${documented} ${what}`,
    ...{ person, route, kind },
    ask: () => askAs(person, line, call()),
  });
  const foreign = (
    kind: Cell["kind"],
    { what, noun }: { what: string; noun: string },
    withId: (id: string) => object,
  ): Cell => ({
    ...cell(kind, what, () => withId(tenant.ids[noun] as string)),
    askMissing: () => askAs(person, line, withId(nothing)),
  });

  const isOpen = route.scope === "any" || person.scopes.includes(route.scope as string);
  if (!isOpen) return [cell("closed", "", () => ({ params: own, body: body() }))];
  const nowhere = { ...numbers, ...Object.fromEntries(ids.map(({ name }) => [name, nothing])) };
  return [
    // A tree as small as the stranger's has no head yet, or no whole tile.
    ...(route.method === "GET" && Object.keys(numbers).length === 0 ? [cell("own", "", () => ({ params: own }))] : []),
    // The unknown field makes a route without an id in its path refuse the request.
    cell("nothing", "of nothing", () => ({ params: nowhere, ...(route.method !== "GET" && { body: { nothing: 1 } }) })),
    ...ids.map(({ name, noun }) =>
      foreign("foreign path", { what: name, noun }, (id) => ({ params: { ...own, [name]: id }, body: body() })),
    ),
    ...(schema ? idPlaces(schema, world.document.components.schemas as Json) : []).map((place) =>
      foreign("foreign body", { what: place.join("."), noun: nounOfField(fieldAt(place)) }, (id) => ({
        params: own,
        body: put(body() as Json, place, id),
      })),
    ),
    ...filtersOf(world, route).map((name) =>
      foreign("foreign filter", { what: name, noun: nounOfField(name) }, (id) => ({
        params: own,
        query: { [name]: id },
      })),
    ),
  ];
}

const operationOf = ({ document }: RoutesWorld, { method, path }: Route): Json =>
  (document.paths as Json)[path.replaceAll(/:(\w+)/g, "{$1}")]?.[method.toLowerCase()] ?? {};

/** The schema of the document, or of the declaration for routes that only people may use. */
const bodySchemaOf = (world: RoutesWorld, route: Route): Json | undefined =>
  operationOf(world, route).requestBody?.content["application/json"].schema ??
  (route.method !== "GET" && Object.keys((route.body as Json).properties ?? {}).length > 0 ? route.body : undefined);

const filtersOf = (world: RoutesWorld, route: Route): string[] =>
  (operationOf(world, route).parameters ?? [])
    .filter((each: Json) => route.method === "GET" && each.in === "query" && each.schema.format === "uuid")
    .map(({ name }: Json) => name);

/** Returns what is wrong with the answer to a cell, or undefined. */
export async function holeIn({ said, kind, route, ask, askMissing }: Cell): Promise<string | undefined> {
  const told = await ask();
  const found = `${said}: ${told.status} ${JSON.stringify(told.json)?.slice(0, 200)}`;
  if (told.status >= 500) return found;
  if (kind === "closed") {
    const isRefused = told.status === 401 && told.json.error === "insufficient_scope";
    return isRefused && told.json.message.includes(route.scope) ? undefined : found;
  }
  if (told.json?.error === "insufficient_scope" || told.json?.error === "unauthorized") return found;
  if (kind === "own") return told.status === 404 ? found : undefined;
  if (!askMissing) return undefined;
  const missing = await askMissing();
  if (shapeOf(told) !== shapeOf(missing)) return `${found}, but of a missing one ${shapeOf(missing)}`;
  if (kind === "foreign filter") return told.json?.total === undefined || told.json.total === 0 ? undefined : found;
  return told.status === 404 ? undefined : found;
}

const shapeOf = ({ status, json }: RouteAnswer): string =>
  JSON.stringify([status, json && { ...json, request_id: "" }]);
