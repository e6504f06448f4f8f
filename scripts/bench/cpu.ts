import { readdirSync, readFileSync } from "node:fs";

/** Linux counts processor time in hundredths of a second, on every architecture that Node runs on. */
const ticksPerSecond = 100;

/** CPU seconds that a process has used since it began, those of its threads included; with `children`, of its living and ended children too. 0 where the system does not say. */
export function cpuSeconds(pid: number, { children = false } = {}): number {
  const own = timesOf(pid);
  if (!own) return 0;
  if (!children) return own.self / ticksPerSecond;
  const living = processes()
    .map(timesOf)
    .filter((times) => times?.parent === pid);
  return living.reduce((sum, times) => sum + times!.self, own.self + own.ended) / ticksPerSecond;
}

type Times = { parent: number; self: number; ended: number };

function timesOf(pid: number): Times | undefined {
  try {
    // The name in brackets may hold anything.
    const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)!.split(" ").map(Number);
    return { parent: fields[1]!, self: fields[11]! + fields[12]!, ended: fields[13]! + fields[14]! };
  } catch {
    return undefined;
  }
}

function processes(): number[] {
  try {
    return readdirSync("/proc").map(Number).filter(Number.isInteger);
  } catch {
    return [];
  }
}
