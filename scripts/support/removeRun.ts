import { text } from "node:stream/consumers";
import { removeRun } from "./testLeftovers.ts";

/** Tidies up after a run of the tests whose runner is gone: a process of its own, because those of the run end too. Told the directory on standard input. */
await removeRun(await text(process.stdin));
