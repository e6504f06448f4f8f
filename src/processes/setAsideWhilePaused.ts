import { PausedByOperator } from "#src/commands/installation.ts";
import type { HandlerResult, NotYet, Process } from "./process.ts";

/** A process's handler with any arguments. */
type Handler<Given extends unknown[]> = (...given: Given) => HandlerResult;

/**
 * Wraps a process so that handlers that would send mail are set aside while the operator has paused all
 * sending. They run again after the resumption.
 */
export const setAsideWhilePaused = (process: Process): Process => ({
  ...process,
  on: Object.fromEntries(Object.entries(process.on).map(([type, handle]) => [type, setAside(handle)])),
  ...(process.onTimer && { onTimer: setAside(process.onTimer.bind(process)) }),
});

const setAside =
  <Given extends unknown[]>(handle: Handler<Given>) =>
  async (...given: Given): Promise<NotYet | undefined> => {
    try {
      return (await handle(...given)) ?? undefined;
    } catch (error) {
      if (error instanceof PausedByOperator) return { setAside: error.obstacles };
      throw error;
    }
  };
