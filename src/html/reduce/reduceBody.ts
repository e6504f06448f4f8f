import type { NotReduced, Reduced } from "./reduced.ts";
import { reduceHtml } from "./reduceHtml.ts";
import { NotWithinSubset } from "./secondOpinion.ts";

/** Why HTML is not taken. `in_doubt`: two readers of what was made of it do not agree, which is a fault of ours and nothing to send. */
export type Refused = NotReduced["refused"] | "in_doubt" | "unreadable";

/** HTML reduced to what can be shown, or why it is not taken; never throws. `pictures`: sha256 by source. */
export function reduceBody({
  html,
  pictures,
}: {
  html: string;
  pictures: ReadonlyMap<string, string>;
}): Reduced | { refused: Refused } {
  try {
    const reduced = reduceHtml(html, pictures);
    return "refused" in reduced || reduced.readable ? reduced : { refused: "unreadable" };
  } catch (error) {
    if (error instanceof NotWithinSubset) return { refused: "in_doubt" };
    throw error;
  }
}
