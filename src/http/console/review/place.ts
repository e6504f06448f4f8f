import { isUuid } from "#src/commands/ids.ts";

/** Query of the review page. */
export type ReviewQuery = {
  /** The selected draft; absent: the most urgent one. */
  draft?: string | undefined;
  /** Only drafts of this identity. */
  identity?: string | undefined;
  /** The draft that was just decided. */
  decided?: string | undefined;
  /** Drafts of the queue before the listed ones. */
  from?: number | undefined;
};

const mostFrom = 10_000;

/** Reads the query from a URL or form; malformed ids count as absent. */
export function placeOf(given: URLSearchParams): ReviewQuery {
  const id = (name: string) => {
    const value = given.get(name);
    return value !== null && isUuid(value) ? value.toLowerCase() : undefined;
  };
  const from = Number(given.get("from"));
  return {
    draft: id("draft"),
    identity: id("identity"),
    decided: id("decided"),
    from: Number.isInteger(from) && from > 0 ? Math.min(from, mostFrom) : undefined,
  };
}

export function reviewPath(place: ReviewQuery & { shown?: number; newer?: "yes" | "no" }): string {
  const named = Object.entries(place).filter(([, value]) => value !== undefined);
  const query = new URLSearchParams(named.map(([name, value]) => [name, String(value)]));
  return query.size > 0 ? `/review?${query}` : "/review";
}
