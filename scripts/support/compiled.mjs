// @ts-check
import { isAscii } from "node:buffer";
import { createHash, randomBytes } from "node:crypto";
import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { cachedDataVersionTag } from "node:v8";
import { constants, Script } from "node:vm";

/**
 * Loads a file whose text is one function of `(exports, require, module)` and gives what it exports.
 *
 * To compile what the service is made of takes most of its start. So what V8 made of it is kept beside the file by the first who loads it,
 * and read by all others: for this V8, its flags and this processor, of which V8 says the tag. If it cannot be kept, or was cut short, the
 * file is compiled again.
 * @param {string} file
 */
export function runCompiled(file) {
  const kept = `${file}.${cachedDataVersionTag()}`;
  const cachedData = read(kept);
  const script = new Script(textOf(file), {
    filename: pathToFileURL(file).href,
    cachedData,
    importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
  });
  const module = { exports: {} };
  script.runInThisContext()(module.exports, createRequire(file), module);
  // Only now: functions that ran to load it are compiled by now.
  if (!cachedData || script.cachedDataRejected) keep(kept, script.createCachedData());
  return module.exports;
}

/** One byte a letter, outside of V8's heap, where that is enough.
 * @param {string} file
 */
function textOf(file) {
  const bytes = readFileSync(file);
  return bytes.toString(isAscii(bytes) ? "latin1" : "utf8");
}

const hashOf = (/** @type {Buffer} */ data) => createHash("sha256").update(data).digest();
const hashBytes = 32;

/** @param {string} kept */
function read(kept) {
  try {
    const bytes = readFileSync(kept);
    const data = bytes.subarray(hashBytes);
    return hashOf(data).equals(bytes.subarray(0, hashBytes)) ? data : undefined;
  } catch {
    return undefined;
  }
}

/** Seen by others only when it is whole.
 * @param {string} kept
 * @param {Buffer} data
 */
function keep(kept, data) {
  const unfinished = `${kept}.${randomBytes(4).toString("hex")}`;
  try {
    writeFileSync(unfinished, Buffer.concat([hashOf(data), data]));
    renameSync(unfinished, kept);
  } catch {
    // Nobody has to be able to write there.
    rmSync(unfinished, { force: true });
  }
}
