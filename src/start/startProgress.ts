import type { WriteStream } from "node:tty";
import type { Logger } from "pino";

/** Shows what the start is doing. */
export type StartProgress = { step(what: string): void; end(): void };

const redrawMs = 250;

/** On a terminal, one line that is rewritten, with the seconds that the step takes; otherwise a log line per step. */
export function startProgress(log: Pick<Logger, "info">, output: WriteStream = process.stderr): StartProgress {
  if (!output.isTTY) return { step: (what) => log.info({ step: what }, "starting"), end() {} };
  let redraw: NodeJS.Timeout | undefined;
  const end = (): void => {
    clearInterval(redraw);
    output.write("\r\x1b[K");
  };
  return {
    step(what) {
      end();
      const since = performance.now();
      const draw = (): void => {
        output.write(`\r\x1b[K  Starting: ${what} … ${Math.floor((performance.now() - since) / 1_000)} s`);
      };
      draw();
      redraw = setInterval(draw, redrawMs).unref();
    },
    end,
  };
}
