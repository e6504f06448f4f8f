import type { NotReduced, Reduced } from "#src/html/reduce/reduced.ts";
import { reduceHtml } from "#src/html/reduce/reduceHtml.ts";
import { NotWithinSubset } from "#src/html/reduce/secondOpinion.ts";
import { invalid, type Rejected } from "#streams/decider.ts";

/** Why HTML is not taken. `in_doubt`: two readers of what was made of it do not agree, which is a fault of ours and nothing to send. */
export type Refused = NotReduced["refused"] | "in_doubt" | "unreadable";

/** HTML reduced to what can be shown, or why it is not taken; never throws. `pictures`: sha256 by source. */
export function reducedHtml(html: string, pictures: ReadonlyMap<string, string>): Reduced | { refused: Refused } {
  try {
    const reduced = reduceHtml(html, pictures);
    return "refused" in reduced || reduced.readable ? reduced : { refused: "unreadable" };
  } catch (error) {
    if (error instanceof NotWithinSubset) return { refused: "in_doubt" };
    throw error;
  }
}

const sentences: Record<Refused, string> = {
  too_deep: "expected at most 100 levels of nested elements: flatten the HTML",
  too_large: "this HTML exceeds 512 KB once its presentational attributes are converted to styles: shorten it",
  in_doubt: "this HTML cannot be reduced to what every mail program shows alike: simplify its attributes and styles",
  unreadable:
    "this HTML has nothing that a reader can see: add text or a picture with alt text, or leave the field out",
};

/** invalid_request about a field of HTML. */
export const refusedHtml = (field: string, refused: Refused): Rejected => invalid(field, sentences[refused]);
