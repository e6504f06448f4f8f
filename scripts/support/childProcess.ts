import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { bundle, bundled, projectRoot } from "./bundle.mjs";

/** What tests, the soak and the benchmarks start as processes of their own. */
const runnable = [
  "src/main.ts",
  ...["workspace", "users", "projections", "processes", "secrets"].map((name) => `scripts/${name}.ts`),
  "scripts/mcp.ts",
  "test/support/livingProcess.ts",
  "test/support/keepEmbedded.ts",
  "test/http/framework/instance.ts",
  "test/subscriptions/child.ts",
  "test/eventStore/postgres/appendAll.ts",
];
/** Hundreds of files each, which cost a process most of its start. */
const inlined = [
  "typebox",
  "mailauth",
  "@eventstore/db-client",
  "undici",
  "express",
  "nodemailer",
  "ajv",
  "tldts",
  "prom-client",
  "uuid",
  "postal-mime",
];
const folders = ["streams", "projections", "src", "scripts", "test"];
let made: Promise<string> | undefined;

/** The bundle of all of them, made where a source changed. A run of the tests makes it once, before its first test, and names it to its children. */
export const childBundle = (): Promise<string> =>
  (made ??= process.env.CHILD_BUNDLE
    ? Promise.resolve(process.env.CHILD_BUNDLE)
    : bundle(
        runnable.filter((file) => existsSync(join(projectRoot, file))),
        { folders, inlined },
      ));

/**
 * What `node` is given to run a file of the project, one of those above (relative to the root), before the program's own arguments: one flag
 * and a path. It starts from the bundle, and its stack traces name the sources. Where node_modules cannot be written it starts from the
 * sources. Throws for a file that is not among them.
 */
export async function nodeArguments(file: string): Promise<[flag: string, path: string]> {
  if (!runnable.includes(file))
    throw new Error(`${file} is not bundled: add it to the list in ${fileURLToPath(import.meta.url)}`);
  try {
    return [`--import=${new URL("./lean.mjs", import.meta.url).href}`, bundled(await childBundle(), file)];
  } catch (error) {
    if (!["EACCES", "EPERM", "EROFS"].includes((error as NodeJS.ErrnoException).code ?? "")) throw error;
    return [`--import=${import.meta.resolve("tsx")}`, join(projectRoot, file)];
  }
}
