/** A submitted body, its reduced form, and the removed kinds with their counts (`kind count`). */
export type Shape = { name: string; given: string; kept: string; removed: string[] };

/** A body that the reduction leaves unchanged. */
export const same = (name: string, given: string): Shape => ({ name, given, kept: given, removed: [] });
