import { readFileSync } from "node:fs";

/**
 * Returns a process's resident memory in megabytes, now and at its peak; undefined if the system does not report it (only Linux does).
 */
export function residentMegabytes(pid: number): { now: number; most: number } | undefined {
  try {
    const status = readFileSync(`/proc/${pid}/status`, "utf8");
    const megabytes = (name: string): number =>
      Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, "m").exec(status)![1]) / 1024;
    return { now: megabytes("VmRSS"), most: megabytes("VmHWM") };
  } catch {
    return undefined;
  }
}
