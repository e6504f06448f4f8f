// @ts-check
import { readFileSync } from "node:fs";
import { SourceMap } from "node:module";
import { fileURLToPath } from "node:url";

/**
 * Stack traces that name the sources. Node's own (`--enable-source-maps`) keeps the map of every file it loads, those of packages too, and
 * all that it made of them: 40 MB of a service that hardly ever shows a stack. Here a map is read when a stack is first shown, and
 * forgotten a minute later.
 */
const keptMs = 60_000;

/** By the URL of the file that runs; undefined where it has none.
 * @type {Map<string, SourceMap | undefined>}
 */
const maps = new Map();

/** For this thread, from now on. */
export function nameSources() {
  Error.prepareStackTrace = (error, frames) => {
    const lines = frames.map((frame) => `\n    at ${named(frame)}`);
    return `${headOf(error)}${lines.join("")}`;
  };
}

/** The text before the frames. An error can be anything that was thrown.
 * @param {unknown} error
 */
function headOf(error) {
  try {
    return Error.prototype.toString.call(error);
  } catch {
    return "<error>";
  }
}

/** The frame, at its place in the source if that is known.
 * @param {NodeJS.CallSite} frame
 */
function named(frame) {
  const text = String(frame);
  const [file, line, column] = [frame.getFileName(), frame.getLineNumber(), frame.getColumnNumber()];
  if (!file?.startsWith("file:") || !line || !column) return text;
  const found = mapOf(file)?.findEntry(line - 1, column - 1);
  if (!found || !("originalSource" in found)) return text;
  const source = new URL(found.originalSource, file);
  const place = source.protocol === "file:" ? fileURLToPath(source) : source.href;
  return text.replace(`${file}:${line}:${column}`, `${place}:${found.originalLine + 1}:${found.originalColumn + 1}`);
}

/** @param {string} file */
function mapOf(file) {
  if (!maps.has(file)) {
    maps.set(file, readMap(file));
    setTimeout(() => maps.delete(file), keptMs).unref();
  }
  return maps.get(file);
}

/** @param {string} file */
function readMap(file) {
  try {
    return new SourceMap(JSON.parse(readFileSync(`${fileURLToPath(file)}.map`, "utf8")));
  } catch {
    return undefined;
  }
}
