import type { Clock } from "#src/clock.ts";
import type { Batch } from "#src/eventStore/eventStore.ts";
import type { Process } from "#src/processes/process.ts";
import type { Recorded } from "#streams/event.ts";
import { mayConcern, nameBy } from "./concerns.ts";
import { keyOf } from "./keys.ts";
import { anyListeners } from "./listeners.ts";
import type { Planned } from "./plan.ts";

/** Milliseconds for which what an event asks waits for the log to answer it: a request does that with its next appends. */
const answerMs = 1_000;

/** Among processes, the name of the reader that the planner has for what is asked. */
export const unansweredName = "unanswered";

/** Those whose events the log mostly answers by itself. */
export const askingOf = (processes: readonly Process[]): Process[] => processes.filter(({ answered }) => answered);

/**
 * Reads the log like a process, for the planner itself, a moment behind: what an event asks is planned by it alone, and only if no answer has come
 * by then. None where nothing asks.
 */
export function unansweredReader(processes: readonly Process[]): Process[] {
  const asking = askingOf(processes);
  if (asking.length === 0) return [];
  const categories = [...new Set(asking.flatMap((process) => process.categories))];
  return [{ name: unansweredName, categories, keyOf: ({ stream }) => stream, on: {} }];
}

/** What an event asks of a process, by a name of the process's own; null where it asks nothing that the log answers. */
export const askBy = ({ answered }: Process, event: Recorded): string | null =>
  answered ? nameBy(answered.asks, event) : null;

/** What is asked and not answered yet. */
export type HeldAsks = {
  /** Goes on in the log. */
  take(batch: Pick<Batch, "events" | "position">): void;
  /** Lets go of what has waited long enough. `position`: all that was asked up to there is answered, or was let go. */
  due(): { work: Planned[]; position: number };
};

type Ask = { process: Process; event: Recorded; before: number; since: number };

/** `after`: where in the log it begins. */
export function holdAsks(
  asking: readonly Process[],
  { after, clock }: { after: number; clock: Pick<Clock, "monotonic"> },
): HeldAsks {
  /** In the log's order. */
  const asks = new Map<string, Ask>();
  let read = after;

  const idOf = (process: Process, name: string): string => `${process.name} ${name}`;

  function answer(event: Recorded): void {
    for (const process of asking) {
      const name = nameBy(process.answered!.answers, event);
      if (name !== null) asks.delete(idOf(process, name));
    }
  }

  function ask(event: Recorded, since: number): void {
    for (const process of asking) {
      const name = askBy(process, event);
      if (name === null || !mayConcern(process, event, anyListeners)) continue;
      const id = idOf(process, name);
      if (!asks.has(id)) asks.set(id, { process, event, before: read, since });
    }
  }

  return {
    take({ events, position }) {
      // What one event asks of several is let go together: the position moves on once.
      const since = clock.monotonic();
      for (const event of events) {
        answer(event);
        ask(event, since);
        read = event.position;
      }
      read = position;
    },
    due() {
      const waitsSince = clock.monotonic() - answerMs;
      const work: Planned[] = [];
      for (const [id, { process, event, since, before }] of asks) {
        if (since > waitsSince) return { work, position: before };
        asks.delete(id);
        work.push({ process: process.name, key: keyOf(process, event), event });
      }
      return { work, position: read };
    },
  };
}
