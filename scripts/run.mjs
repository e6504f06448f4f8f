// @ts-check
import module from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { built } from "./support/build.mjs";
import "./support/heapFlags.mjs";

/**
 * `node scripts/run.mjs COMMAND [ARGUMENT…]`: runs the service (`start`) or an operator's command in this process, from one built folder.
 * If the folder cannot be made (the project is not writable), the sources are run, which start more slowly.
 */
const [name = ""] = process.argv.splice(2, 1);
const { commands } = await import(await program());
if (!Object.hasOwn(commands, name)) {
  console.error(`Usage: node scripts/run.mjs ${Object.keys(commands).join("|")} [ARGUMENT…]`);
  process.exit(1);
}
await commands[name]();
// A service may never exit in order, so the compile cache is written as soon as the service is ready.
module.flushCompileCache?.();

/** Returns the URL of the module that has the commands. The compile cache is in Node 22.8 and newer. */
async function program() {
  try {
    const folder = await built({ onBuild: sayBuilding });
    module.enableCompileCache?.(join(folder, "compiled"));
    process.setSourceMapsEnabled(true);
    return pathToFileURL(join(folder, "commands.mjs")).href;
  } catch (error) {
    if (name === "build") throw error;
    console.error(
      `The service could not be built, so it runs from its sources: ${/** @type {Error} */ (error).message}`,
    );
    (await import("tsx/esm/api")).register();
    return "./commands.ts";
  }
}

/** Reports the build, unless standard error is read by a program that expects only the command's output. */
function sayBuilding() {
  if (name === "start" || process.stderr.isTTY)
    console.error("The sources are new or have changed: building the service, which takes some seconds …");
}
