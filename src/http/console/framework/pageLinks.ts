import { html, type Markup } from "#src/html/html.ts";

/**
 * Links to the older and newer pages of a list. Each page's URL contains its cursor and those of the pages before it. The API creates and
 * checks the cursors.
 */
const cursorName = "cursor";
const trailName = "trail";
/** Maximum number of cursors in a URL; from pages further back, the way back leads to the first page. */
const longestTrail = 8;

const trailOf = (query: URLSearchParams): string[] =>
  (query.get(trailName) ?? "").split(".").filter((cursor) => cursor !== "");

export type PageLinks = { newest: string | null; newer: string | null; older: string | null };

/** URLs of the neighbouring pages; null if there is none. `next`: the list's next_cursor. `kept`: other parameters to keep in the URL. */
export function pageLinksFrom(
  path: string,
  { query, next, kept }: { query: URLSearchParams; next: string | null; kept: URLSearchParams },
): PageLinks {
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

/** Parameters of the page itself, which are not filters of the API. */
export const pageOwnNames: readonly string[] = [trailName, "done"];

/** Links to the pages before and after this one. */
export function pages({ newest, newer, older }: PageLinks, what: string): Markup | false {
  const links = [
    newest !== null && html`<a class="press" href="${newest}">Newest ${what}</a> `,
    newer !== null && newer !== newest && html`<a class="press" href="${newer}" rel="prev">Newer ${what}</a> `,
    older !== null && html`<a class="press" href="${older}" rel="next">Older ${what}</a>`,
  ];
  return links.some((link) => link !== false) && html`<nav class="pages" aria-label="Pages of ${what}">${links}</nav>`;
}
