// @ts-check
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { mkdir, mkdtemp, readdir, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const projectRoot = fileURLToPath(new URL("../../", import.meta.url));
const settings = ["package.json", "package-lock.json", "tsconfig.json", "node_modules/.package-lock.json"];
/** Packages that come with machine code, threads or other files. */
const external = ["@node-rs/argon2", "piscina", "pino", "pino-http", "pino-pretty", "pg-native", "pg-format"];
/** Number of older builds that are kept: a process started from one still loads its threads from there. */
const olderKept = 3;

/**
 * Builds the service and its commands into a folder of `dist/` that is named by a hash of the sources, unless it exists. Resolves with
 * its path. Rejects if the project is not writable. `onBuild`: called before a build, which takes seconds.
 */
export async function built({ root = projectRoot, onBuild = () => {} } = {}) {
  const dist = join(root, "dist");
  const folder = join(dist, hashOfSources(root));
  if (existsSync(folder)) return folder;
  const { build } = await import("esbuild");
  await mkdir(dist, { recursive: true });
  const unfinished = await mkdtemp(join(dist, "unfinished-"));
  onBuild();
  try {
    await build({
      absWorkingDir: root,
      outdir: unfinished,
      outExtension: { ".js": ".mjs" },
      entryPoints: [
        { in: "scripts/commands.ts", out: "commands" },
        // Threads of the sources register tsx first; built ones need none. The names are those that the service loads.
        { in: "src/platform/threadPool/thread.ts", out: "threadWorker" },
        { in: "src/http/framework/body/parserThread.ts", out: "parserWorker" },
      ],
      external,
      bundle: true,
      splitting: true,
      format: "esm",
      platform: "node",
      target: "node20",
      minifyWhitespace: true,
      // Node prints the whole line of an uncaught error.
      lineLimit: 200,
      sourcemap: true,
      sourcesContent: false,
      logLevel: "silent",
      // CommonJS packages require Node's own modules.
      banner: { js: 'import { createRequire as from } from "node:module"; const require = from(import.meta.url);' },
    });
    // Another process may have built the same folder in between: that folder is used.
    await rename(unfinished, folder).catch((error) => {
      if (!existsSync(folder)) throw error;
    });
  } finally {
    await rm(unfinished, { recursive: true, force: true });
  }
  await removeOld(dist);
  return folder;
}

/** @param {string} root */
function hashOfSources(root) {
  const hash = createHash("sha256");
  const code = ["scripts", "src", "projections", "streams"].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
      .filter((name) => /\.(ts|mjs)$/.test(name))
      .map((name) => join(folder, name)),
  );
  for (const file of [...settings, ...code.sort()]) {
    const text = existsSync(join(root, file)) ? readFileSync(join(root, file)) : "";
    hash.update(`${file} ${text.length}\n`).update(text);
  }
  return hash.digest("hex").slice(0, 32);
}

/** @param {string} dist */
async function removeOld(dist) {
  const folders = (await readdir(dist)).map((name) => join(dist, name));
  const times = await Promise.all(
    folders.map((folder) =>
      stat(folder).then(
        ({ mtimeMs }) => mtimeMs,
        () => 0,
      ),
    ),
  );
  const newestFirst = folders.map((folder, n) => ({ folder, time: times[n] ?? 0 })).sort((a, b) => b.time - a.time);
  for (const { folder } of newestFirst.slice(1 + olderKept)) await rm(folder, { recursive: true, force: true });
}
