import { systemClock } from "#src/platform/clock.ts";
import type { Answer, Process, ProcessContext, Timer } from "#src/processes/process.ts";
import { concerns } from "#src/runtime/work/concerns.ts";
import { type Handling, handlerContext } from "#src/runtime/work/handlerContext.ts";
import type { Recorded } from "#streams/event.ts";

type More = Partial<Handling> & { timers?: Timer[] };

/** Makes the context that a process gets at the first attempt of an event or timer; the timers it sets are kept in `timers`. */
export const contextOf = (
  process: Process,
  subject: Recorded<any> | Timer,
  { timers = [], ...more }: More = {},
): ProcessContext =>
  handlerContext(
    {
      process: process.name,
      clock: systemClock,
      projected: async () => true,
      attempt: 1,
      signal: new AbortController().signal,
      onTimer: (change) => "set" in change && void timers.push(change.set),
      ...more,
    },
    subject,
  );

/** Passes an event to a process as the runner does: undefined if the process ignores it or defers it. */
export const tell = (process: Process, event: Recorded<any>, more: More = {}): Answer | undefined =>
  concerns(process, event)
    ? process.on[event.type]?.(structuredClone(event), contextOf(process, event, more))
    : undefined;

/** Passes a due timer to a process. */
export const fire = (process: Process, timer: Timer, more: More = {}): Answer | undefined =>
  process.onTimer?.(timer, contextOf(process, timer, more));
