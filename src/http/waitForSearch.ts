import { setTimeout as sleep } from "node:timers/promises";
import type { HttpDependencies } from "./dependencies.ts";

/** Milliseconds for which a search waits for the newest mail; then it answers without it. */
const longestWaitMs = 1_000;

/** Waits until searches find everything that is in the log now, but at most 1 s. Throws NotReadable while the search is being filled. */
export async function waitForSearch(deps: HttpDependencies): Promise<void> {
  deps.requireReadable(["search"]);
  const newest = deps.store
    .head()
    .then((head) => deps.projected(head, { of: ["search"], timeoutMs: longestWaitMs }))
    .catch(() => false);
  await Promise.race([newest, sleep(longestWaitMs, false, { ref: false })]);
}
