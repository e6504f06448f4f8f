import { PausedByOperator } from "#src/commands/installation.ts";
import type { Answer, NotYet, Process } from "./process.ts";

/** A handler as the process has it, however many arguments it takes. */
type Handler<Given extends unknown[]> = (...given: Given) => Answer;

/** The process with everything set aside that is about to leave while the operator lets nothing leave. It goes on with the resumption. */
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
