import type { Readable } from "node:stream";
import { changeMarks } from "#projections/changeMarks.ts";
import type { HttpDependencies } from "../../dependencies.ts";
import { endlessStream, heartbeatMs, retryMs } from "../../events/eventStream.ts";
import { changedTopics } from "./changeTail.ts";

/**
 * Milliseconds after which a stream ends. The browser reconnects and is authenticated again, so that sessions that expired by time end too.
 */
const longestMs = 15 * 60_000;

type Deps = Pick<HttpDependencies, "reads" | "changeTail" | "revocation" | "closing" | "clock">;

/**
 * Server-sent events with the names of changed topics of a workspace, for example `event: drafts`. The page fetches the changes itself,
 * under its reader's rights. `signal`: aborted when the session or its rights end.
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
  // `hello` makes a page that reconnects refresh once, because it may have missed changes.
  yield `retry: ${retryMs}\nevent: hello\ndata: hello\n\n`;
  while (!over.aborted && clock.monotonic() < endsAt) {
    const now = await changeTail.next(workspaceId, seen, { timeoutMs: heartbeatMs, signal: over });
    if (over.aborted) return;
    // If this instance was suspended, it must first read which sessions ended meanwhile.
    await revocation.upToDate();
    if (signal.aborted) return;
    yield now ? changedTopics(seen, now).map(frameOf).join("") : ": still here\n\n";
    seen = now ?? seen;
  }
}

// Browsers ignore a frame without data.
const frameOf = (topic: string): string => `event: ${topic}\ndata: changed\n\n`;
