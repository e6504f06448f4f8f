import { runService } from "./program.ts";

// All the rest is compiled before it is run (scripts/support/compiled.mjs).
await runService();
