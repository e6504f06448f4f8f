import { visibleLine } from "#src/html/visible.ts";
import type { HtmlRemoved } from "#streams/draft/content.ts";

/** Describes what HTML lost when it was reduced to what every mail program shows: "2 pictures loaded from elsewhere". */
export const removedInWords = (removed: readonly HtmlRemoved[]): string[] =>
  removed.map(({ what, count }) => {
    const [one, many] = nounOf(what);
    return `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
  });

/** Singular and plural. The names were written by the author. */
function nounOf(what: string): [string, string] {
  const [kind, ...rest] = what.split(":");
  const name = visibleLine(rest.join(":"));
  if (kind === "comment") return ["comment", "comments"];
  if (what === "image:remote") return ["picture loaded from elsewhere", "pictures loaded from elsewhere"];
  if (what === "link:relative") return ["link without a host", "links without a host"];
  if (what === "link:fragment") return ["link within the letter", "links within the letter"];
  if (kind === "link") return [`link of the kind “${name}:”`, `links of the kind “${name}:”`];
  if (kind === "style") return [`style “${name}”`, `styles “${name}”`];
  if (kind === "attribute") return [`attribute “${name}”`, `attributes “${name}”`];
  if (kind === "element") return [`element “${name}”`, `elements “${name}”`];
  return [`“${visibleLine(what)}”`, `“${visibleLine(what)}”`];
}
