import { SingleBar } from "cli-progress";

export type ProgressBar = { update(position: number, events: number): void; stop(): void };

const plainEveryMs = 2_000;

/** Shows progress, speed and time left of a replay on standard error: a bar on a terminal, otherwise a line every two seconds. */
export function progressBar(label: string, head: number, unit = "events"): ProgressBar {
  let events = 0;
  let reached = 0;
  const startedAt = performance.now();
  const elapsedMs = (): number => Math.max(1, performance.now() - startedAt);
  const paceOf = (): Pace => ({
    speed: Math.round((events * 1_000) / elapsedMs()),
    left: reached === 0 ? "" : durationOf((elapsedMs() * Math.max(0, head - reached)) / reached),
  });
  const show = process.stderr.isTTY ? bar(label, head, unit) : lines(label, head, unit);
  return {
    update(position, more) {
      events += more;
      reached = position;
      show.update(position, paceOf());
    },
    stop() {
      show.stop(paceOf());
    },
  };
}

/** Units a second, and the time left, for people. */
type Pace = { speed: number; left: string };
type Show = { update(position: number, pace: Pace): void; stop(pace: Pace): void };

const durationOf = (ms: number): string =>
  ms < 100_000 ? `${Math.ceil(ms / 1_000)} s` : `${Math.ceil(ms / 60_000)} min`;

function bar(label: string, head: number, unit: string): Show {
  const format = "{label} [{bar}] {percentage}%  {value}/{total}  {speed} {unit}/s  {left} left";
  const single = new SingleBar({ format, stream: process.stderr, hideCursor: true, etaBuffer: 1 });
  single.start(head, 0, { label, speed: 0, left: "", unit });
  return {
    update(position, pace) {
      single.setTotal(Math.max(head, position));
      single.update(position, pace);
    },
    stop: (pace) => {
      single.update(pace);
      single.stop();
    },
  };
}

function lines(label: string, head: number, unit: string): Show {
  let saidAt = performance.now();
  let last = 0;
  const say = ({ speed, left }: Pace): void =>
    console.error(`${label}: ${last}/${Math.max(head, last)}, ${speed} ${unit}/s, ${left} left`);
  return {
    update(position, pace) {
      last = position;
      if (performance.now() - saidAt < plainEveryMs) return;
      saidAt = performance.now();
      say(pace);
    },
    stop: say,
  };
}
