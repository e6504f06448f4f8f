// @ts-check
import { createHash, randomBytes } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { cp, mkdir, readdir, readFile, realpath, rename, rm, stat, utimes } from "node:fs/promises";
import { dirname, extname, join, relative, sep } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

/**
 * What runs as a process of its own (the service, its commands, its threads) is bundled: one file loads in a fraction of the time that
 * four hundred TypeScript files take. Plain JavaScript, because it runs before anything can read TypeScript.
 *
 * A bundle is a folder beside node_modules, named by a hash of everything that it was made from, so none is ever stale. Inside, files have
 * their places of the source tree, what is read beside `import.meta.url` included. Source maps lead stack traces to the sources.
 */
const here = fileURLToPath(import.meta.url);
export const projectRoot = join(dirname(here), "../..");

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
 * @param {string[]} entries Paths of the files that are run, relative to the root; threads (`*Worker.mjs` in src/) come by themselves.
 * @param {{ root?: string, folders?: string[], inlined?: string[] }} [options] `inlined`: packages that go into the bundle.
 * @returns {Promise<string>} Its path. Rejects where node_modules cannot be written or esbuild cannot be run.
 */
export async function bundle(entries, { root = projectRoot, folders = productFolders, inlined = [] } = {}) {
  const cache = await cacheOf(root);
  for (;;) {
    const files = sources(root, folders);
    const key = keyOf(root, [...entries, ...inlined], files);
    const place = join(cache, key);
    if (existsSync(place)) return touched(place);
    const unfinished = join(cache, `.${key}.${process.pid}.${randomBytes(4).toString("hex")}`);
    try {
      await make({ root, entries, files, place, into: unfinished, inlined });
      // What was changed meanwhile may have gone in under the wrong name.
      if (keyOf(root, [...entries, ...inlined], sources(root, folders)) !== key) continue;
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
  part(readFileSync(here));
  return hash.digest("hex").slice(0, 32);
}

/**
 * @param {{ root: string, entries: string[], files: string[], place: string, into: string, inlined: string[] }} what
 */
async function make({ root, entries, files, place, into, inlined }) {
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
    ...(inlined.length > 0 ? { banner: { js: requires } } : { packages: "external" }),
    format: "esm",
    plugins: [
      startsCompiled(root, programIn(place)),
      readsBesideIt(root, place),
      packages(),
      threadsWithoutTsx,
      ...(inlined.length > 0 ? [othersExternal(inlined)] : []),
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

/** `import.meta.url` stays each source file's own: what lies beside it lies there in the bundle too.
 * @param {string} root
 * @param {string} place
 * @returns {import("esbuild").Plugin}
 */
const readsBesideIt = (root, place) => ({
  name: "reads beside it",
  setup(build) {
    build.onLoad({ filter: /\.(ts|mjs)$/ }, ({ path }) => {
      if (path.includes("node_modules")) return undefined;
      const text = oneByte(readFileSync(path, "utf8"));
      const url = pathToFileURL(join(place, relative(root, path))).href;
      return { loader: "ts", contents: text.replaceAll("import.meta.url", JSON.stringify(url)) };
    });
  },
});

/**
 * The same program in ASCII alone: one letter that is none, in a comment even, doubles the memory of a whole file's text, which each thread that
 * runs it keeps.
 * @param {string} text
 */
const oneByte = (text) =>
  text.replace(/(?<!\\)[^\0-\x7f]/g, (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`);

/** Who imports the program gets it compiled.
 * @param {string} root
 * @param {string} program
 * @returns {import("esbuild").Plugin}
 */
const startsCompiled = (root, program) => ({
  name: "starts compiled",
  setup(build) {
    build.onResolve({ filter: /^\.\/program\.ts$/ }, ({ resolveDir, path }) =>
      join(resolveDir, path) === join(root, compiled) ? { path, namespace: "compiled" } : undefined,
    );
    build.onLoad({ filter: /.*/, namespace: "compiled" }, () => ({
      contents: `module.exports = require("./compiled.mjs").runCompiled(${JSON.stringify(program)});`,
      resolveDir: dirname(here),
    }));
  },
});

/** Their text, and what is behind it.
 * @returns {import("esbuild").Plugin}
 */
const packages = (ending = "") => ({
  name: "packages",
  setup(build) {
    build.onLoad({ filter: /node_modules.*\.[cm]?js$/ }, async ({ path }) => ({
      loader: "js",
      contents: `${oneByte(await readFile(path, "utf8"))}${ending}`,
    }));
  },
});

/**
 * Of a package, stack traces name the file alone, as if it were one place: with all of its lines the map would be three times as long, and take
 * 100 MB more to read. (esbuild takes a map without any place for none.)
 */
const onePlace = `\n//# sourceMappingURL=data:application/json;base64,${Buffer.from('{"version":3,"sources":[""],"mappings":"AAAA"}').toString("base64")}`;

/** What packages in CommonJS ask for. */
const requires =
  'import { createRequire as requireOf } from "node:module"; const require = requireOf(import.meta.url);';

/** @param {string[]} inlined
 * @returns {import("esbuild").Plugin}
 */
const othersExternal = (inlined) => ({
  name: "other packages stay outside",
  setup(build) {
    build.onResolve({ filter: /^[^.#/]/ }, ({ path, kind, importer }) => {
      if (kind === "entry-point" || path === "tsx/esm/api") return undefined;
      // What an inlined package needs goes with it.
      if (importer.includes("node_modules")) return undefined;
      return inlined.some((name) => path === name || path.startsWith(`${name}/`))
        ? undefined
        : { path, external: true };
    });
  },
});

/** A thread's entry registers tsx to read TypeScript: there is none left to read, but its stack traces are to name it.
 * @type {import("esbuild").Plugin}
 */
const threadsWithoutTsx = {
  name: "threads without tsx",
  setup(build) {
    build.onResolve({ filter: /^tsx\/esm\/api$/ }, () => ({ path: "tsx", namespace: "bundled" }));
    build.onLoad({ filter: /.*/, namespace: "bundled" }, () => ({
      contents: 'export { nameSources as register } from "./sourceMaps.mjs";',
      resolveDir: dirname(here),
    }));
  },
};

/** @param {string} cache */
async function discardUnused(cache) {
  const oldest = Date.now() - keptDays * 86_400_000;
  for (const name of await readdir(cache)) {
    const found = await stat(join(cache, name)).catch(() => undefined);
    if (found?.isDirectory() && found.mtimeMs < oldest) await rm(join(cache, name), { recursive: true, force: true });
  }
}
