import { SingleBar } from "cli-progress";

export type ProgressBar = { update(position: number, events: number): void; stop(): void };

const plainEveryMs = 2_000;

/** Shows the progress and speed of a replay on standard error: a bar on a terminal, otherwise a line every two seconds. */
export function progressBar(label: string, head: number, unit = "events"): ProgressBar {
  let events = 0;
  const startedAt = performance.now();
  const speed = (): number => Math.round((events * 1000) / Math.max(1, performance.now() - startedAt));
  const show = process.stderr.isTTY ? bar(label, head, unit) : lines(label, head, unit);
  return {
    update(position, more) {
      events += more;
      show.update(position, speed());
    },
    stop() {
      show.stop(speed());
    },
  };
}

type Show = { update(position: number, speed: number): void; stop(speed: number): void };

function bar(label: string, head: number, unit: string): Show {
  const format = "{label} [{bar}] {percentage}%  {value}/{total}  {speed} {unit}/s";
  const single = new SingleBar({ format, stream: process.stderr, hideCursor: true, etaBuffer: 1 });
  single.start(head, 0, { label, speed: 0, unit });
  return {
    update(position, speed) {
      single.setTotal(Math.max(head, position));
      single.update(position, { speed });
    },
    stop: (speed) => {
      single.update({ speed });
      single.stop();
    },
  };
}

function lines(label: string, head: number, unit: string): Show {
  let saidAt = performance.now();
  let last = 0;
  const say = (speed: number): void => console.error(`${label}: ${last}/${Math.max(head, last)}, ${speed} ${unit}/s`);
  return {
    update(position, speed) {
      last = position;
      if (performance.now() - saidAt < plainEveryMs) return;
      saidAt = performance.now();
      say(speed);
    },
    stop: say,
  };
}
