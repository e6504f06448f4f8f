import crypto from "node:crypto";
import { syncBuiltinESMExports } from "node:module";
import { promisify } from "node:util";

/**
 * In this process `promisify(generateKeyPair)` makes a few real pairs of each kind, and gives them out by turns from then on: a pair for each
 * domain of the tests costs seconds of the processor. To be imported before anything of the service.
 */
const pairs = 3;
const generate = promisify(crypto.generateKeyPair) as (...asked: unknown[]) => Promise<unknown>;
const made = new Map<string, { asked: number; kept: Promise<unknown>[] }>();

function next(...asked: unknown[]): Promise<unknown> {
  const kind = JSON.stringify(asked);
  const known = made.get(kind) ?? { asked: 0, kept: [] };
  made.set(kind, known);
  const turn = known.asked++ % pairs;
  known.kept[turn] ??= generate(...asked);
  return known.kept[turn];
}

Object.defineProperty(crypto.generateKeyPair, promisify.custom, { value: next });
syncBuiltinESMExports();
