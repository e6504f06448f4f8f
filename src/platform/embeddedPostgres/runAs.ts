import { execFile } from "node:child_process";
import { readFile, stat } from "node:fs/promises";
import { promisify } from "node:util";
import { StartError } from "#src/platform/startError.ts";

/** A user of the operating system that a server runs as. */
export type RunAs = { name: string; uid: number; gid: number };

const run = promisify(execFile);
const ownName = "countersign-db";

/**
 * Chooses the user that the server runs as, because PostgreSQL refuses to run as root: the owner of existing data, else the machine's
 * `postgres` user, else a system user created for this, else `nobody`. Undefined when this process is not root's.
 */
export async function chooseUser(pgdata: string): Promise<RunAs | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  const owner = await stat(pgdata).catch(() => undefined);
  if (owner && owner.uid !== 0) return { name: `#${owner.uid}`, uid: owner.uid, gid: owner.gid };
  const user = (await find("postgres")) ?? (await find(ownName)) ?? (await create()) ?? (await find("nobody"));
  if (!user)
    throw new StartError(
      "PostgreSQL cannot run as root, and this machine has no other user for it: start the service as an ordinary user.",
    );
  return user;
}

async function find(name: string): Promise<RunAs | undefined> {
  const lines = (await readFile("/etc/passwd", "utf8").catch(() => "")).split("\n");
  const [, , uid, gid] = lines.find((line) => line.startsWith(`${name}:`))?.split(":") ?? [];
  return uid && gid ? { name, uid: Number(uid), gid: Number(gid) } : undefined;
}

/** `useradd` is from Debian and Red Hat, `adduser` from BusyBox. */
async function create(): Promise<RunAs | undefined> {
  const withoutLogin = ["-s", "/bin/false"];
  await run("useradd", ["--system", "--user-group", "--no-create-home", ...withoutLogin, ownName])
    .catch(() => run("adduser", ["-S", "-D", "-H", ...withoutLogin, ownName]))
    .catch(() => {});
  return find(ownName);
}
