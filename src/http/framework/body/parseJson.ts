import { createHash } from "node:crypto";
import { invalid } from "../errors.ts";
import { type DecodedFile, EncodedFile, type FilePath } from "./encodedFile.ts";

/** Characters of text that a body may have beside its files: more than all fields together can hold. */
const maxText = 1024 * 1024;

/**
 * JSON as plain data, with the strings at `files` decoded. Throws invalid_request naming the field for everything that could not be stored,
 * shown or compared safely.
 */
export function parseJson(bytes: Uint8Array, files: readonly FilePath[]): unknown {
  const body = parse(decode(bytes));
  for (const path of files) decodeFiles(body, path);
  requirePlain(body, "", { left: maxText });
  return body;
}

function decode(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw invalid("", "the request body is not valid UTF-8");
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw invalid("", "the request body is not valid JSON");
  }
}

type Json = Record<string, unknown>;

const isObject = (value: unknown): value is Json => typeof value === "object" && value !== null;

/** Puts an EncodedFile in place of each string at the path. What is no string there is left for the schema to refuse. */
function decodeFiles(value: unknown, [step, ...rest]: FilePath): void {
  if (step === undefined || !isObject(value)) return;
  const names = step === "*" ? Object.keys(value) : [step];
  for (const name of names.filter((each) => Object.hasOwn(value, each))) {
    const inner = value[name];
    if (rest.length > 0) decodeFiles(inner, rest);
    else if (typeof inner === "string") value[name] = new EncodedFile(inner.length, decodedOf(inner));
  }
}

const base64 = /^[A-Za-z0-9+/]*={0,2}$/;

function decodedOf(text: string): DecodedFile | undefined {
  if (text.length % 4 !== 0 || !base64.test(text)) return undefined;
  // Memory of its own, so that it can move to another thread.
  const bytes = Buffer.allocUnsafeSlow(Buffer.byteLength(text, "base64"));
  bytes.write(text, "base64");
  return { bytes, sha256: createHash("sha256").update(bytes).digest("hex") };
}

/** Refuses what JSON allows and nothing after us does: NUL, half characters, the key `__proto__`, more text than any field takes. */
function requirePlain(value: unknown, path: string, room: { left: number }): void {
  if (typeof value === "string") requireShort(value, path, room);
  if (!isObject(value) || value instanceof EncodedFile) return;
  for (const [name, item] of Object.entries(value)) {
    if (Array.isArray(value)) {
      requirePlain(item, `${path}[${name}]`, room);
      continue;
    }
    if (name === "__proto__") throw invalid(pathTo(path, name), "unknown field");
    requireShort(name, path, room);
    requirePlain(item, pathTo(path, name), room);
  }
}

function requireShort(text: string, path: string, room: { left: number }): void {
  requireText(text, path);
  room.left -= text.length;
  if (room.left < 0) throw invalid(path, `expected at most ${maxText} characters of text in the whole body`);
}

/** Text that can be stored and sent anywhere: no NUL, no lone surrogate. */
export function requireText(text: string, path: string): void {
  if (text.includes("\0")) throw invalid(path, "expected text without NUL characters");
  if (/\p{Surrogate}/u.test(text)) throw invalid(path, "expected well-formed Unicode text");
}

const maxShownName = 64;

/** A path as the messages show it, for example `approval_channel.config.to` or `cc[1]`; odd names are shortened and quoted. */
export function pathTo(parent: string, name: string): string {
  const shown = /^[\w-]{1,64}$/.test(name) ? name : JSON.stringify(name.slice(0, maxShownName));
  return parent === "" ? shown : `${parent}.${shown}`;
}
