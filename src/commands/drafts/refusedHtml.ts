import type { ReduceRefusal } from "#src/html/reduce/reduceBody.ts";
import { invalidRequest, type Rejected } from "#streams/decider.ts";

const sentences: Record<ReduceRefusal, string> = {
  too_deep: "expected at most 100 levels of nested elements: flatten the HTML",
  too_large: "this HTML exceeds 512 KB once its presentational attributes are converted to styles: shorten it",
  in_doubt: "this HTML cannot be reduced to what every mail program shows alike: simplify its attributes and styles",
  unreadable: "this HTML has nothing visible: add text or a picture with alt text, or omit the field",
};

/** Returns the error invalid_request for a field whose HTML was refused. */
export const refusedHtml = (field: string, refused: ReduceRefusal): Rejected =>
  invalidRequest(field, sentences[refused]);
