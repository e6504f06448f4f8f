import { systemClock } from "#src/platform/clock.ts";
import type { HandlerResult, Process, ProcessContext, Timer } from "#src/processes/process.ts";
import { createHandlerContext, type Handling } from "#src/runtime/work/handlerContext.ts";
import { isRelevant } from "#src/runtime/work/relevance.ts";
import type { Recorded } from "#streams/event.ts";

type More = Partial<Handling> & { timers?: Timer[] };

/** Makes the context of a process's first attempt at an event or timer; timers that it sets are added to `timers`. */
export const contextOf = (
  process: Process,
  subject: Recorded<any> | Timer,
  { timers = [], ...more }: More = {},
): ProcessContext =>
  createHandlerContext(
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

/** Calls a process's handler for an event, as the runner does; undefined if the event is not relevant to it. */
export const tell = (process: Process, event: Recorded<any>, more: More = {}): HandlerResult | undefined =>
  isRelevant(process, event)
    ? process.on[event.type]?.(structuredClone(event), contextOf(process, event, more))
    : undefined;

/** Calls a process's handler for a timer that is due. */
export const fire = (process: Process, timer: Timer, more: More = {}): HandlerResult | undefined =>
  process.onTimer?.(timer, contextOf(process, timer, more));
