import type { ReadModel } from "#projections/names.ts";
import type { Clock } from "#src/platform/clock.ts";
import type { NotYet, Process, ProcessContext, Timer } from "#src/processes/process.ts";
import { categoryOf, idOf, type Recorded } from "#streams/event.ts";
import { keyFor } from "./keys.ts";
import { isEvent } from "./parked.ts";
import { isRelevant } from "./relevance.ts";
import type { TimerChange } from "./timerChanges.ts";

/** Waits until the read models have reached a position of the log; false if they do not within `timeoutMs`. */
export type Projected = (
  position: number,
  options: { of?: readonly ReadModel[]; timeoutMs: number; signal: AbortSignal },
) => Promise<boolean>;

/** Milliseconds a handler keeps its slot for read models that are almost caught up: releasing the lane costs more than this. */
const momentMs = 100;

export type Handling = {
  /** The process's name. */
  process: string;
  clock: Pick<Clock, "now">;
  projected: Projected;
  attempt: number;
  signal: AbortSignal;
  /** Called with each timer that is set or cancelled. */
  onTimer(change: TimerChange): void;
};

/** Hands an event or a timer to the process's handler. Undefined if it is done. */
export async function runHandler(
  process: Process,
  subject: Recorded | Timer,
  handling: Omit<Handling, "process">,
): Promise<NotYet | undefined> {
  const context = createHandlerContext({ ...handling, process: process.name }, subject);
  if (!isEvent(subject)) return (await process.onTimer?.(subject, context)) || undefined;
  keyFor(process, subject);
  // The planner also plans events that it could not judge: unreadable ones, or those for which `concerns` threw.
  if (!isRelevant(process, subject)) return undefined;
  const later = process.later?.[subject.type]?.(subject);
  if (later) await context.timers.set({ key: keyFor(process, subject), ...later });
  return (await process.on[subject.type]?.(subject, context)) || undefined;
}

/** Returns the context that a handler acts with, because of this event or timer. */
export function createHandlerContext(handling: Handling, subject: Recorded | Timer): ProcessContext {
  const { process, clock, projected, attempt, signal, onTimer } = handling;
  const cause = causeOf(process, subject);
  return {
    cause,
    because: (event) => createHandlerContext(handling, event),
    timers: {
      async set({ key, name, payload, orWhen, ...due }) {
        const dueAt = "dueAt" in due ? due.dueAt : new Date(clock.now().getTime() + due.inMs);
        onTimer({ set: { key, name, dueAt, payload: { ...payload, ...traceOf(cause) } }, ...(orWhen && { orWhen }) });
      },
      async cancel(key, name) {
        onTimer({ cancel: key, name });
      },
    },
    reached: (position, of) => projected(position, { ...(of && { of }), timeoutMs: momentMs, signal }),
    attempt,
    signal,
  };
}

type Cause = ProcessContext["cause"];
type Trace = Pick<Cause, "workspaceId" | "correlationId" | "causationId">;

/**
 * Returns the cause of what a process does: for an event its correlation id, caused by it; for a timer the cause that the timer was set
 * with.
 */
export function causeOf(process: string, subject: Recorded | Timer): Cause {
  const trace = isEvent(subject) ? traceOfEvent(subject) : traceOf(subject.payload as Trace);
  return { actor: { kind: "system", id: process }, ...trace };
}

export const traceOfEvent = ({ id, stream, metadata }: Recorded): Trace => ({
  workspaceId: metadata.workspaceId ?? (categoryOf(stream) === "workspace" ? idOf(stream) : null),
  correlationId: metadata.correlationId,
  causationId: id,
});

const traceOf = ({ workspaceId, correlationId, causationId }: Trace): Trace => ({
  workspaceId,
  correlationId,
  causationId,
});
