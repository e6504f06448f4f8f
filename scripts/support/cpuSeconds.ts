import { readdirSync, readFileSync } from "node:fs";

/** Ticks per second of user and system time in /proc. */
const ticks = 100;

type Stat = { pid: number; parent: number; own: number; ended: number };

function statOf(pid: number): Stat | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "latin1");
    const fields = text
      .slice(text.lastIndexOf(")") + 2)
      .split(" ")
      .map(Number);
    const [user, system, childrenUser, childrenSystem] = fields.slice(11, 15) as [number, number, number, number];
    return { pid, parent: fields[1]!, own: (user + system) / ticks, ended: (childrenUser + childrenSystem) / ticks };
  } catch {
    return undefined;
  }
}

/** Returns the CPU seconds that a process has used so far; 0 if the system does not report it (only Linux does). */
export const cpuSecondsOf = (pid: number): number => statOf(pid)?.own ?? 0;

/** Returns the CPU seconds of a PostgreSQL server on this machine: all of its processes together, including ended ones. */
export async function cpuSecondsOfServer(query: (sql: string) => Promise<{ pid: number }[]>): Promise<number> {
  const [backend] = await query("select pg_backend_pid() as pid");
  const server = statOf(backend?.pid ?? 0)?.parent;
  if (server === undefined) return 0;
  const stats = readdirSync("/proc").flatMap((name) => statOf(Number(name)) ?? []);
  const children = stats.filter(({ parent }) => parent === server);
  const { own = 0, ended = 0 } = stats.find(({ pid }) => pid === server) ?? {};
  return children.reduce((sum, child) => sum + child.own, own + ended);
}
