/**
 * Where older pages of a list are, and the way back: each page's address has its cursor, and those of the pages before it. The API makes and
 * judges the cursors.
 */
const cursorName = "cursor";
const trailName = "trail";
/** Kept so that an address stays short; from further back the way leads to the first page. */
const longestTrail = 8;

const trailOf = (query: URLSearchParams): string[] =>
  (query.get(trailName) ?? "").split(".").filter((cursor) => cursor !== "");

export type Ways = { newest: string | null; newer: string | null; older: string | null };

/** Addresses of the pages around one; null where there is none. `next`: the list's next_cursor. `kept`: what else stays in the address. */
export function waysFrom(
  path: string,
  { query, next, kept }: { query: URLSearchParams; next: string | null; kept: URLSearchParams },
): Ways {
  const current = query.get(cursorName);
  const trail = trailOf(query);
  const to = (cursor: string | null | undefined, way: readonly string[]): string => {
    const params = new URLSearchParams(kept);
    if (cursor) params.set(cursorName, cursor);
    if (cursor && way.length > 0) params.set(trailName, way.slice(-longestTrail).join("."));
    return params.size > 0 ? `${path}?${params}` : path;
  };
  return {
    newest: current === null ? null : to(null, []),
    newer: current === null ? null : to(trail.at(-1), trail.slice(0, -1)),
    older: next === null ? null : to(next, current === null ? [] : [...trail, current]),
  };
}

/** Names of the parameters that are the page's own and no filter of the API. */
export const pageOwnNames: readonly string[] = [trailName, "done"];
