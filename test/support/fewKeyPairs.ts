import crypto from "node:crypto";
import { syncBuiltinESMExports } from "node:module";
import { promisify } from "node:util";

/**
 * Makes `promisify(generateKeyPair)` in this process create only a few real pairs of each kind, and then return them in turn: a pair for
 * each domain of the tests would cost seconds of CPU. Must be imported before any module of the service.
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
