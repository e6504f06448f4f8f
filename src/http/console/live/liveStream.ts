import type { Readable } from "node:stream";
import { changeMarks } from "#projections/changeMarks.ts";
import type { HttpDependencies } from "../../dependencies.ts";
import { endlessStream, heartbeatMs, retryMs } from "../../events/eventStream.ts";
import { changedTopics } from "./changeTail.ts";

/** After so long a stream ends. The browser connects again, and is asked again who it is: what ends by time alone ends here too. */
const longestMs = 15 * 60_000;

type Deps = Pick<HttpDependencies, "reads" | "changeTail" | "revocation" | "closing" | "clock">;

/**
 * What changes in a workspace, as server-sent events, by its name alone: `event: drafts`. What it is, a page asks for itself, under the rights of
 * who looks at it. `signal`: aborted when the session ends, or a right of it.
 */
export const liveStream = (
  deps: Deps,
  of: { workspaceId: string; signal: AbortSignal; replaced: AbortSignal },
): Readable => endlessStream([deps.closing, of.replaced], (over) => frames(deps, of, over));

async function* frames(
  { reads, changeTail, revocation, clock }: Deps,
  { workspaceId, signal }: { workspaceId: string; signal: AbortSignal },
  over: AbortSignal,
): AsyncGenerator<string> {
  const endsAt = clock.monotonic() + longestMs;
  let seen = await changeMarks(reads, workspaceId);
  // A page that was away may have missed something: it looks once.
  yield `retry: ${retryMs}\nevent: hello\ndata: hello\n\n`;
  while (!over.aborted && clock.monotonic() < endsAt) {
    const now = await changeTail.next(workspaceId, seen, { timeoutMs: heartbeatMs, signal: over });
    if (over.aborted) return;
    // An instance that was suspended finds out first whose session has ended meanwhile.
    await revocation.upToDate();
    if (signal.aborted) return;
    yield now ? changedTopics(seen, now).map(frameOf).join("") : ": still here\n\n";
    seen = now ?? seen;
  }
}

// A frame without data is no event for a browser.
const frameOf = (topic: string): string => `event: ${topic}\ndata: changed\n\n`;
