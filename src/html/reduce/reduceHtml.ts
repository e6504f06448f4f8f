import { reduceWith } from "./reduceWith.ts";
import type { Removed } from "./removed.ts";
import { assertAgreed } from "./secondOpinion.ts";

/**
 * HTML of which everything that any mail program can show is on the approval page. `pictures`: the sha256s (lower-case hex) it refers to as
 * `cid:<sha256>`. `readable`: it has text that can be seen, or a picture with alternative text.
 */
export type Reduced = { html: string; removed: Removed[]; readable: boolean; pictures: string[] };

/** Why HTML cannot be reduced: over 100 levels of nesting, or over 512 KB once reduced. */
export type NotReduced = { refused: "too_deep" | "too_large" };

/**
 * Reduces HTML to what can be shown. `pictures`: the sha256 (lower-case hex) of a picture's bytes by its source, as picturesNamed gives it;
 * a picture without an entry goes, and its alternative text stays. What is within the limits comes back as it is, byte for byte.
 */
export function reduceHtml(html: string, pictures: ReadonlyMap<string, string>): Reduced | NotReduced {
  const reduced = reduceWith(html, (source) => pictures.get(source));
  if (!("refused" in reduced)) assertAgreed(reduced.html);
  return reduced;
}

/** The decoded sources of the pictures in HTML (`cid:`, `data:`, `https:` …), each once, in their order. None of HTML that is refused. */
export function picturesNamed(html: string): string[] {
  const named = new Set<string>();
  const reduced = reduceWith(html, (source) => {
    named.add(source);
    return undefined;
  });
  return "refused" in reduced ? [] : [...named];
}
