// @ts-check
import { pathToFileURL } from "node:url";
import { bundle, bundled, commands, programIn, touched } from "./support/bundle.mjs";

/**
 * `node scripts/run.mjs COMMAND [ARGUMENT…]`: runs the service (`start`) or a command beside it, in this very process, from a bundle that
 * is made when a source changed. If none can be made (node_modules may not be written) it runs the sources, which takes longer to start.
 * `bundle` only makes it, and compiles the service for processes with the flags that this one has.
 */
const inUseEveryMs = 3_600_000;

const [command = ""] = process.argv.splice(2, 1);
const entry = commands[/** @type {keyof typeof commands} */ (command)];
if (command !== "bundle" && !entry) {
  console.error(`Usage: node scripts/run.mjs ${[...Object.keys(commands), "bundle"].join("|")} [ARGUMENT…]`);
  process.exit(1);
}

const place = await bundle().catch((error) => {
  if (command === "bundle") throw error;
  if (!["EACCES", "EROFS", "EPERM"].includes(error.code))
    console.error(`The sources could not be bundled, so the start takes longer: ${error.message}`);
});
if (command === "bundle") {
  await import("./support/lean.mjs");
  const { runCompiled } = await import("./support/compiled.mjs");
  runCompiled(programIn(place));
} else if (entry && place) {
  await import("./support/lean.mjs");
  setInterval(() => touched(place), inUseEveryMs).unref();
  await import(pathToFileURL(bundled(place, entry)).href);
} else if (entry) {
  const { register } = await import("tsx/esm/api");
  register();
  await import(new URL(`../${entry}`, import.meta.url).href);
}
