import { join } from "node:path";
import { bundle, bundled, commands, projectRoot } from "./bundle.mjs";

let made: Promise<string> | undefined;

/**
 * What `node` is given to run a file of the project (relative to the root) as a process of its own, before the program's arguments: one flag and
 * a path. The service and its commands start from the bundle of `npm start`, anything else from the sources; and so do they if node_modules cannot be
 * written.
 */
export async function nodeArguments(file: string): Promise<[flag: string, path: string]> {
  const fromSources: [string, string] = [`--import=${import.meta.resolve("tsx")}`, join(projectRoot, file)];
  if (!Object.values(commands).includes(file)) return fromSources;
  try {
    made ??= bundle();
    return [`--import=${new URL("./lean.mjs", import.meta.url).href}`, bundled(await made, file)];
  } catch (error) {
    if (!["EACCES", "EPERM", "EROFS"].includes((error as NodeJS.ErrnoException).code ?? "")) throw error;
    return fromSources;
  }
}
