import type { NotReduced, Reduced } from "./reduced.ts";
import { reduceWith } from "./reduceWith.ts";
import { assertAgreed, NotWithinSubset } from "./secondOpinion.ts";

/**
 * Reduces HTML to what can be shown. `pictures`: the sha256 (lower-case hex) of a picture's bytes by its source, as picturesNamed gives it;
 * a picture without an entry goes, and its alternative text stays. What is within the limits comes back as it is, byte for byte.
 * `secondOpinion` throws NotWithinSubset for what may not leave. Then all styles and most attributes go; where it throws for that, too,
 * so does this.
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

/** The decoded sources of the pictures in HTML (`cid:`, `data:`, `https:` …), each once, in their order. None of HTML that is refused. */
export function picturesNamed(html: string): string[] {
  // Most bodies show none, and need not be read for them.
  if (!/<ima?ge?/i.test(html)) return [];
  const named = new Set<string>();
  const reduced = reduceWith(html, (source) => {
    named.add(source);
    return undefined;
  });
  return "refused" in reduced ? [] : [...named];
}
