import { readFileSync } from "node:fs";

/** The program that checks evidence, as it is in each archive. */
export const verifier: Buffer = readFileSync(new URL(import.meta.resolve("#src/audit/verify.mjs")));
