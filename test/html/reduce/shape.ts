/** A body: what is submitted, what is kept, and what the answer names as removed (`what count`). */
export type Shape = { name: string; given: string; kept: string; removed: string[] };

/** Nothing changes. */
export const same = (name: string, given: string): Shape => ({ name, given, kept: given, removed: [] });
