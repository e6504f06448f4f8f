import type { NotReduced, Reduced } from "./reduced.ts";
import { reduceHtml } from "./reduceHtml.ts";
import { NotWithinSubset } from "./secondOpinion.ts";

/** Reason for refusing HTML. `in_doubt`: a check of the reduced form failed, which is a fault of ours, so it is not sent. */
export type ReduceRefusal = NotReduced["refused"] | "in_doubt" | "unreadable";

/** Reduces HTML, or returns why it is refused; never throws. `pictures`: sha256 by source. */
export function reduceBody({
  html,
  pictures,
}: {
  html: string;
  pictures: ReadonlyMap<string, string>;
}): Reduced | { refused: ReduceRefusal } {
  try {
    const reduced = reduceHtml(html, pictures);
    return "refused" in reduced || reduced.readable ? reduced : { refused: "unreadable" };
  } catch (error) {
    if (error instanceof NotWithinSubset) return { refused: "in_doubt" };
    throw error;
  }
}
