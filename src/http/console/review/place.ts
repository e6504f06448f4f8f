import { isUuid } from "#src/commands/ids.ts";

/** What of the queue is looked at. */
export type Place = {
  /** The draft that is shown; absent: the most urgent one. */
  draft?: string | undefined;
  /** Only drafts of this identity. */
  identity?: string | undefined;
  /** The draft that was decided a moment ago. */
  decided?: string | undefined;
  /** How many drafts of the queue lie before those that are listed. */
  from?: number | undefined;
};

const mostFrom = 10_000;

/** As an address or a form names it; what is no id of ours counts as not named. */
export function placeOf(given: URLSearchParams): Place {
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

export function reviewPath(place: Place & { shown?: number; newer?: "yes" | "no" }): string {
  const named = Object.entries(place).filter(([, value]) => value !== undefined);
  const query = new URLSearchParams(named.map(([name, value]) => [name, String(value)]));
  return query.size > 0 ? `/review?${query}` : "/review";
}
