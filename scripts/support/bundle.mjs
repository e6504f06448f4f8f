// @ts-check
import { createHash, randomBytes } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { cp, mkdir, readdir, realpath, rename, rm, stat, utimes } from "node:fs/promises";
import { dirname, extname, join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { onePlace, packages, readsBesideIt, startsCompiled, threadsWithoutTsx } from "./bundlePlugins.mjs";

/**
 * What runs as a process of its own (the service, its commands, its threads) is bundled: one file loads in a fraction of the time that
 * four hundred TypeScript files take. Plain JavaScript, because it runs before anything can read TypeScript.
 *
 * A bundle is a folder beside node_modules, named by a hash of everything that it was made from, so none is ever stale. Inside, files have
 * their places of the source tree, what is read beside `import.meta.url` included. Source maps lead stack traces to the sources.
 */
const here = dirname(fileURLToPath(import.meta.url));
export const projectRoot = join(here, "../..");
/** What a bundle is made by. */
const makers = ["bundle.mjs", "bundlePlugins.mjs"].map((file) => join(here, file));

/** The files that run the service and the commands beside it, by the names that `run.mjs` is given. */
export const commands = {
  start: "src/main.ts",
  workspace: "scripts/workspace.ts",
  users: "scripts/users.ts",
  projections: "scripts/projections.ts",
  processes: "scripts/processes.ts",
  secrets: "scripts/secrets.ts",
  "event-store": "scripts/eventStore.ts",
  audit: "scripts/audit.ts",
  backup: "scripts/backup.ts",
  blobs: "scripts/blobs.ts",
  inbound: "scripts/inbound.ts",
  mcp: "scripts/mcp.ts",
};
/** What the service and its commands are made of. */
const productFolders = ["streams", "projections", "src", "scripts"];
const code = [".ts", ".mjs"];
/** What the service is, but for the line that starts it (main.ts): it is compiled once for all starts. */
const compiled = "src/program.ts";
/** Packages that stay outside of it: they have machine code, or threads of their own, beside them. */
const outside = ["@node-rs/argon2", "piscina", "pino", "pino-http", "pino-pretty", "pg-native"];
const keptDays = 1;

/**
 * The folder of the bundle of these sources, made where it is not there yet.
 * @param {string[]} [entries] Paths of the files that are run, relative to the root; threads (`*Worker.mjs` in src/) come by themselves.
 * @param {{ root?: string, folders?: string[] }} [options]
 * @returns {Promise<string>} Its path. Rejects where node_modules cannot be written or esbuild cannot be run.
 */
export async function bundle(entries = Object.values(commands), { root = projectRoot, folders = productFolders } = {}) {
  const cache = await cacheOf(root);
  for (;;) {
    const files = sources(root, folders);
    const key = keyOf(root, entries, files);
    const place = join(cache, key);
    if (existsSync(place)) return touched(place);
    const unfinished = join(cache, `.${key}.${process.pid}.${randomBytes(4).toString("hex")}`);
    try {
      await make({ root, entries, files, place, into: unfinished });
      // What was changed meanwhile may have gone in under the wrong name.
      if (keyOf(root, entries, sources(root, folders)) !== key) continue;
      await discardUnused(cache);
      // Another process may have made the same: then its bundle stays.
      await rename(unfinished, place).catch((error) => {
        if (!existsSync(place)) throw error;
      });
      return place;
    } finally {
      await rm(unfinished, { recursive: true, force: true });
    }
  }
}

/** Where a file of the source tree is in a bundle.
 * @param {string} place
 * @param {string} file Relative to the root.
 */
export const bundled = (place, file) => join(place, file.replace(/\.ts$/, ".mjs"));

/** Where the service is in a bundle, but for the line that starts it.
 * @param {string} place
 */
export const programIn = (place) => join(place, compiled.replace(/\.ts$/, ".cjs"));

/** A bundle that is in use stays: those that nobody used for a day go when a new one is made.
 * @param {string} place
 */
export async function touched(place) {
  const now = new Date();
  // Nobody may discard a folder that may not be written.
  await utimes(place, now, now).catch(() => {});
  return place;
}

/** The real folder: source maps name the sources relative to it.
 * @param {string} root
 */
async function cacheOf(root) {
  const cache = join(await realpath(join(root, "node_modules")), ".cache", "countersign");
  await mkdir(cache, { recursive: true });
  return cache;
}

/** All files below, relative to the root, in order.
 * @param {string} root
 * @param {string[]} folders
 */
function sources(root, folders) {
  return folders
    .filter((folder) => existsSync(join(root, folder)))
    .flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile() && !entry.parentPath.includes("node_modules"))
        .map((entry) => relative(root, join(entry.parentPath, entry.name)).split(sep).join("/")),
    )
    .sort();
}

/** Two folders of the project may share one node_modules, so the root counts too.
 * @param {string} root
 * @param {string[]} entries
 * @param {string[]} files
 */
function keyOf(root, entries, files) {
  const hash = createHash("sha256");
  const part = (/** @type {string | Buffer} */ text) => hash.update(`${text.length}:`).update(text);
  for (const text of [root, process.version, process.platform, process.arch, ...entries, "files"]) part(text);
  // Packages are in the bundle: npm's own list says which are installed, also where that is not yet what package-lock.json asks for.
  const installed = ["node_modules/.package-lock.json", "node_modules/esbuild/package.json"];
  const settings = ["package.json", "package-lock.json", "tsconfig.json", ...installed];
  for (const file of [...settings, ...files]) {
    part(file);
    part(existsSync(join(root, file)) ? readFileSync(join(root, file)) : "");
  }
  for (const maker of makers) part(readFileSync(maker));
  return hash.digest("hex").slice(0, 32);
}

/**
 * @param {{ root: string, entries: string[], files: string[], place: string, into: string }} what
 */
async function make({ root, entries, files, place, into }) {
  const { build } = await import("esbuild");
  const threads = files.filter((file) => file.startsWith("src/") && file.endsWith("Worker.mjs"));
  /** @satisfies {import("esbuild").BuildOptions} */
  const always = {
    absWorkingDir: root,
    outdir: into,
    outbase: root,
    bundle: true,
    platform: "node",
    target: "node20",
    sourcemap: true,
    sourcesContent: false,
    logLevel: "silent",
  };
  await build({
    ...always,
    entryPoints: [...entries, ...threads],
    outExtension: { ".js": ".mjs" },
    splitting: true,
    packages: "external",
    format: "esm",
    plugins: [
      startsCompiled(join(root, compiled), programIn(place)),
      readsBesideIt(root, place),
      packages(),
      threadsWithoutTsx,
    ],
  });
  if (files.includes(compiled))
    await build({
      ...always,
      entryPoints: [compiled],
      outExtension: { ".js": ".cjs" },
      format: "cjs",
      banner: { js: "(function (exports, require, module) {" },
      footer: { js: "})" },
      minifyWhitespace: true,
      // Node shows the line of an error that nobody caught.
      lineLimit: 200,
      external: outside,
      plugins: [readsBesideIt(root, place), packages(onePlace)],
    });
  for (const file of files.filter(isReadBesideIt)) await cp(join(root, file), join(into, file));
}

/**
 * What the service reads itself: what is no code; and the sources of the streams' rules, whose hash says which snapshots they made.
 * @param {string} file
 */
const isReadBesideIt = (file) =>
  file.startsWith("streams/") || (!code.includes(extname(file)) && !file.startsWith("scripts/"));

/** @param {string} cache */
async function discardUnused(cache) {
  const oldest = Date.now() - keptDays * 86_400_000;
  for (const name of await readdir(cache)) {
    const found = await stat(join(cache, name)).catch(() => undefined);
    if (found?.isDirectory() && found.mtimeMs < oldest) await rm(join(cache, name), { recursive: true, force: true });
  }
}
