// @ts-check
import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

/** What esbuild is told of the project's files when it makes a bundle of them (`bundle.mjs`). */
const here = dirname(fileURLToPath(import.meta.url));

/** `import.meta.url` stays each source file's own: what lies beside it lies there in the bundle too.
 * @param {string} root
 * @param {string} place
 * @returns {import("esbuild").Plugin}
 */
export const readsBesideIt = (root, place) => ({
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
 * @param {string} source Its path in the source tree.
 * @param {string} program Where it is in the bundle.
 * @returns {import("esbuild").Plugin}
 */
export const startsCompiled = (source, program) => ({
  name: "starts compiled",
  setup(build) {
    build.onResolve({ filter: /^\.\/program\.ts$/ }, ({ resolveDir, path }) =>
      join(resolveDir, path) === source ? { path, namespace: "compiled" } : undefined,
    );
    build.onLoad({ filter: /.*/, namespace: "compiled" }, () => ({
      contents: `module.exports = require("./compiled.mjs").runCompiled(${JSON.stringify(program)});`,
      resolveDir: here,
    }));
  },
});

/** Their text, and what is behind it.
 * @returns {import("esbuild").Plugin}
 */
export const packages = (ending = "") => ({
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
export const onePlace = `\n//# sourceMappingURL=data:application/json;base64,${Buffer.from('{"version":3,"sources":[""],"mappings":"AAAA"}').toString("base64")}`;

/** A thread's entry registers tsx to read TypeScript: there is none left to read, but its stack traces are to name it.
 * @type {import("esbuild").Plugin}
 */
export const threadsWithoutTsx = {
  name: "threads without tsx",
  setup(build) {
    build.onResolve({ filter: /^tsx\/esm\/api$/ }, () => ({ path: "tsx", namespace: "bundled" }));
    build.onLoad({ filter: /.*/, namespace: "bundled" }, () => ({
      contents: 'export { nameSources as register } from "./sourceMaps.mjs";',
      resolveDir: here,
    }));
  },
};
