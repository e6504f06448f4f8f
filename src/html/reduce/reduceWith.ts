import { Backgrounds } from "./backgrounds.ts";
import { TooDeep } from "./openElements.ts";
import type { NotReduced, PictureOf, Reduced } from "./reduced.ts";
import { Reducer } from "./reducer.ts";
import { readTokens } from "./tokens.ts";
import { TooLarge } from "./writer.ts";

/**
 * Reduces HTML in time linear in its length. Only after all text was read is it known whether a background hides text: then the body is
 * read a second time, without those backgrounds. `bare`: no styles stay, only the elements, their text, targets, pictures and directions.
 */
export function reduceWith(html: string, pictureOf: PictureOf, bare = false): Reduced | NotReduced {
  try {
    const grounds = new Backgrounds(new Set());
    const reduced = readOnce(html, new Reducer(pictureOf, grounds, bare));
    const hiding = grounds.hiding();
    return hiding.size === 0 ? reduced : readOnce(html, new Reducer(pictureOf, new Backgrounds(hiding), bare));
  } catch (error) {
    if (error instanceof TooDeep) return { refused: "too_deep" };
    if (error instanceof TooLarge) return { refused: "too_large" };
    throw error;
  }
}

function readOnce(html: string, reducer: Reducer): Reduced {
  readTokens(html, reducer);
  return reducer.end();
}
