import { readFileSync } from "node:fs";
import { symlink } from "node:fs/promises";
import { dirname, join, relative, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { type BuildFailure, build, type Plugin, stop } from "esbuild";
import { projectRoot } from "./bundle.mjs";

/** What lanes run: `script` with `execArgv`, which loads a file of tests from where `of` says. `folder`: where a bundle is. */
export type TestCode = { script: string; execArgv: string[]; folder?: string; of(file: string): string };

const runner = "scripts/testRun.ts";

/**
 * The tests of a run as plain JavaScript in its directory: a lane loads that in a fraction of the time that a thousand TypeScript files take.
 * `import.meta.url` is each source file's own, and stack traces name the sources. Threads start from `threads`, the bundle of child processes.
 * If esbuild refuses a file the lanes read the sources, so that it fails alone.
 */
export async function bundleTests(
  files: readonly string[],
  { directory, threads }: { directory: string; threads: string },
): Promise<TestCode> {
  const into = join(directory, "tests");
  try {
    const made = await outputs(files, into, threads);
    // Packages are found from there.
    await symlink(join(projectRoot, "node_modules"), join(directory, "node_modules"));
    return {
      script: join(into, "scripts/testRun.mjs"),
      folder: into,
      execArgv: [],
      of: (file) => made.get(resolve(file)) ?? resolve(file),
    };
  } catch (error) {
    if (!(error as Partial<BuildFailure>).errors) throw error;
    return { script: join(projectRoot, runner), execArgv: process.execArgv, of: resolve };
  } finally {
    // It would keep what it has read, some 500 MB, as long as this process lives.
    await stop();
  }
}

/** What `runHere` loads each time again, by its name. */
const commands = ["audit", "blobs", "inbound", "processes", "projections", "secrets", "users", "workspace"].map(
  (name) => `scripts/${name}.ts`,
);
const runsCommands = (file: string): boolean => readFileSync(file, "utf8").includes("/commandHere.ts");

/** Each file's output, by its path. Rejects with what esbuild refuses. */
async function outputs(files: readonly string[], into: string, threads: string): Promise<Map<string, string>> {
  const { metafile } = await build({
    absWorkingDir: projectRoot,
    entryPoints: [runner, ...files.map((file) => resolve(file)), ...(files.some(runsCommands) ? commands : [])],
    outdir: into,
    outbase: projectRoot,
    outExtension: { ".js": ".mjs" },
    bundle: true,
    splitting: true,
    packages: "external",
    platform: "node",
    format: "esm",
    target: "node20",
    sourcemap: true,
    sourcesContent: false,
    metafile: true,
    logLevel: "silent",
    define: { "import.meta.url": "ownUrl", "import.meta.dirname": "ownFolder" },
    plugins: [knowsItself(threads)],
  });
  const made = Object.entries(metafile.outputs).flatMap(([output, { entryPoint }]) =>
    entryPoint ? [[resolve(projectRoot, entryPoint), resolve(projectRoot, output)] as const] : [],
  );
  return new Map(made);
}

/** Names each source file to itself, in its first line. */
const knowsItself = (threads: string): Plugin => ({
  name: "knows itself",
  setup(build) {
    build.onLoad({ filter: /\.(ts|mjs)$/ }, ({ path }) => {
      if (path.includes("node_modules")) return undefined;
      const text = readFileSync(path, "utf8");
      const startsThread = path.startsWith(join(projectRoot, "src")) && text.includes("Worker.mjs");
      const own = startsThread ? join(threads, relative(projectRoot, path)) : path;
      const names = `const ownUrl = ${JSON.stringify(pathToFileURL(own).href)}, ownFolder = ${JSON.stringify(dirname(own))}; `;
      return { loader: "ts", contents: names + text };
    });
  },
});
