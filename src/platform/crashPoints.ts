/**
 * Named places where a process can be made to kill itself (`CRASH_AT=<point>[:n]`, never in production), so that a crash between any two
 * steps of filing, sending and of the processes' work can be tested. test/README.md lists them.
 */
export const crashPoints = [
  "http:effect-done",
  "inbound:blob-stored",
  "inbound:received",
  "filing:decided",
  "filing:frozen",
  "filing:absorbed",
  "filing:threaded",
  "filing:filed",
  "rules:acted",
  "rules:recorded",
  "approve:recorded",
  "send:claimed",
  "send:reserved",
  "send:queued",
  "send:reclaimed",
  "deliver:connected",
  "deliver:started",
  "deliver:handed-over",
  "deliver:recorded",
  "deliver:sent",
  "work:planned",
  "work:claimed",
  "work:handled",
  "work:ended",
] as const;

export type CrashPoint = (typeof crashPoints)[number];

let armed: { point: CrashPoint; passesLeft: number } | undefined;

/** Arms one point: `send:claimed` at its first pass, `send:claimed:3` at its third. Throws on a point that does not exist. */
export function armCrashPoint(spec: string): void {
  const match = /^(.*?)(?::(\d+))?$/.exec(spec);
  const point = crashPoints.find((known) => known === match?.[1]);
  if (!point) throw new Error(`CRASH_AT: "${spec}" is not a crash point; use one of ${crashPoints.join(", ")}`);
  armed = { point, passesLeft: Number(match?.[2] ?? 1) };
}

export function crashPoint(point: CrashPoint): void {
  if (armed?.point !== point || --armed.passesLeft > 0) return;
  process.kill(process.pid, "SIGKILL");
  // Blocks the thread until the signal arrives, so that nothing happens before it.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
}
