import type { Removed } from "./removed.ts";

/**
 * HTML without anything that a mail program could show but the approval page does not. `pictures`: the sha256s (lower-case hex) that it
 * refers to as `cid:<sha256>`. `readable`: it has visible text, or a picture with alternative text.
 */
export type Reduced = { html: string; removed: Removed[]; readable: boolean; pictures: string[] };

/** Reason why HTML cannot be reduced: over 100 levels of nesting, or over 512 KB after reducing. */
export type NotReduced = { refused: "too_deep" | "too_large" };

/** Returns the sha256 of a picture by its source; undefined if there is none. */
export type PictureOf = (source: string) => string | undefined;
