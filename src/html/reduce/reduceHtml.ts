import type { NotReduced, Reduced } from "./reduced.ts";
import { reduceWith } from "./reduceWith.ts";
import { assertAgreed } from "./secondOpinion.ts";

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
