import type { Removed } from "./removed.ts";

/**
 * HTML of which everything that any mail program can show is on the approval page. `pictures`: the sha256s (lower-case hex) it refers to as
 * `cid:<sha256>`. `readable`: it has text that can be seen, or a picture with alternative text.
 */
export type Reduced = { html: string; removed: Removed[]; readable: boolean; pictures: string[] };

/** Why HTML cannot be reduced: over 100 levels of nesting, or over 512 KB once reduced. */
export type NotReduced = { refused: "too_deep" | "too_large" };

/** The sha256 of a picture by its source; undefined if there is none. */
export type PictureOf = (source: string) => string | undefined;
