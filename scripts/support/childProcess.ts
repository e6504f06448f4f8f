import { join } from "node:path";
import { fileURLToPath } from "node:url";

export const projectRoot = fileURLToPath(new URL("../../", import.meta.url));

/** Returns the arguments by which `node` runs a TypeScript file of the project (relative to the root), before the program's own. */
export const nodeArguments = (file: string): [flag: string, path: string] => [
  `--import=${import.meta.resolve("tsx")}`,
  join(projectRoot, file),
];

/** Returns the arguments by which `node` runs the service (`start`) or an operator's command, as npm does. */
export const commandArguments = (name: string): [path: string, name: string] => [
  join(projectRoot, "scripts/run.mjs"),
  name,
];
