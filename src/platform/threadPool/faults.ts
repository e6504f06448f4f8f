import { Unavailable } from "#src/eventStore/eventStore.ts";

/** There is too much to work on. It is worth trying again. `retryAfter`: seconds. */
export class TooMuchWork extends Unavailable {
  override readonly name = "TooMuchWork";
  readonly retryAfter = 5;
}

/** No thread can be started, or the pool is closed. It says nothing of the work. */
export class ThreadsAway extends Error {
  override readonly name = "ThreadsAway";
}

/** The work is at fault: what it did to its thread, in words. `overBudget`: it took too long or too much memory. */
export class TaskFault extends Error {
  override readonly name = "TaskFault";
  readonly overBudget: boolean;
  constructor(message: string, { overBudget }: { overBudget: boolean }) {
    super(message);
    this.overBudget = overBudget;
  }
}

/** Its turn did not come in time: others' work, and its own workspace's, was before it. */
export class WaitedTooLong extends Error {
  override readonly name = "WaitedTooLong";
}
