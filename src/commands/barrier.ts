import { setTimeout as sleep } from "node:timers/promises";
import { Unavailable } from "#src/eventStore/eventStore.ts";
import { filingDecider } from "#streams/filing/decider.ts";
import { filingStream } from "#streams/filing/events.ts";
import { inboxStream } from "#streams/inbox/events.ts";
import type { Dependencies } from "./dependencies.ts";

const pollMs = 5;

/**
 * Waits until everything acknowledged for this identity stands in its thread. A mail acknowledged but not filed yet is already the
 * customer's newer word, so no send may be judged before (invariant 3). Throws Unavailable after the settings' bound.
 */
export async function waitUntilFiled(deps: Dependencies, identityId: string): Promise<void> {
  const tail = await deps.store.readLast(inboxStream(identityId));
  if (!tail) return;
  const deadline = deps.clock.monotonic() + deps.settings.barrierTimeoutMs;
  for (;;) {
    const { state } = await deps.load(filingDecider, filingStream(identityId));
    if (state.filedUpTo >= tail.revision) return;
    if (deps.clock.monotonic() > deadline) {
      throw new Unavailable("mail received a moment ago is still being filed: try again");
    }
    await sleep(pollMs);
  }
}
