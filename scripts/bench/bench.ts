import type { BenchServer } from "./server.ts";

/** What a benchmark is given; `seconds` is how long one measurement lasts, if somebody asked for a length; `threads`, `mails` and `replies`, where for a size; `only`: the part of a job that is measured. */
export type BenchRun = {
  server: BenchServer;
  repetitions: number;
  seconds: number | undefined;
  threads: number | undefined;
  mails: number | undefined;
  replies: number | undefined;
  /** How many agents and approvers work side by side. */
  agents: number | undefined;
  only: "mails" | "replies" | undefined;
};

/** A benchmark: prints what it finds and answers its summary. */
export type Bench = { title: string; repetitions: number; run(run: BenchRun): Promise<Record<string, unknown>> };
