import type { NotReduced, Reduced } from "./reduced.ts";
import { reduceWith } from "./reduceWith.ts";
import { assertAgreed, NotWithinSubset } from "./secondOpinion.ts";

/**
 * Reduces HTML to what can be shown. `pictures`: sha256 (lower-case hex) of a picture's bytes by its source, as picturesNamed returns it;
 * a picture without an entry is removed, and its alternative text stays. Input within the limits is returned byte for byte.
 * `secondOpinion` throws NotWithinSubset if the result must not be sent. Then it is reduced again without styles and most attributes; if
 * `secondOpinion` throws for that too, so does this.
 */
export function reduceHtml(
  html: string,
  pictures: ReadonlyMap<string, string>,
  secondOpinion: (reducedHtml: string) => void = assertAgreed,
): Reduced | NotReduced {
  const pictureOf = (source: string) => pictures.get(source);
  const reduced = reduceWith(html, pictureOf);
  if ("refused" in reduced || isAgreed(reduced.html, secondOpinion)) return reduced;
  const bare = reduceWith(html, pictureOf, true);
  if (!("refused" in bare)) secondOpinion(bare.html);
  return bare;
}

function isAgreed(html: string, secondOpinion: (reducedHtml: string) => void): boolean {
  try {
    secondOpinion(html);
    return true;
  } catch (error) {
    if (error instanceof NotWithinSubset) return false;
    throw error;
  }
}

/**
 * Returns the distinct decoded sources of the pictures in HTML (`cid:`, `data:`, `https:` …), in order; empty for HTML that is refused.
 */
export function picturesNamed(html: string): string[] {
  // Avoids parsing bodies without pictures, as most are.
  if (!/<ima?ge?/i.test(html)) return [];
  const named = new Set<string>();
  const reduced = reduceWith(html, (source) => {
    named.add(source);
    return undefined;
  });
  return "refused" in reduced ? [] : [...named];
}
