import { Unavailable } from "#src/eventStore/eventStore.ts";

/** Thrown if too much work is waiting. A retry may help. `retryAfter`: seconds. */
export class TooMuchWork extends Unavailable {
  override readonly name = "TooMuchWork";
  readonly retryAfter = 5;
}

/** No thread can be started, or the pool is closed. The work is not at fault. */
export class ThreadsAway extends Error {
  override readonly name = "ThreadsAway";
}

/** The work is at fault: the message describes its effect on the thread. `overBudget`: it took too long or too much memory. */
export class TaskFault extends Error {
  override readonly name = "TaskFault";
  readonly overBudget: boolean;
  constructor(message: string, { overBudget }: { overBudget: boolean }) {
    super(message);
    this.overBudget = overBudget;
  }
}

/** A job's turn did not come in time: other work was before it. */
export class WaitedTooLong extends Error {
  override readonly name = "WaitedTooLong";
}
