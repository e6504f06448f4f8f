import { createHash } from "node:crypto";
import { cutText } from "#streams/cutText.ts";
import { invalid } from "../errors.ts";
import { type DecodedFile, EncodedFile, type FilePath } from "./encodedFile.ts";

/** Maximum characters of text in a body, apart from its files; more than all fields together may have. */
const maxText = 1024 * 1024;

/**
 * Parses JSON and decodes the strings at `files`. Throws invalid_request naming the field for anything that could not be stored, shown or
 * compared safely.
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

/** Replaces each string at the path by an EncodedFile. Other values stay there for the schema check to refuse. */
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
  // Allocated outside Buffer's pool, so that its memory can be transferred to another thread.
  const bytes = Buffer.allocUnsafeSlow(Buffer.byteLength(text, "base64"));
  bytes.write(text, "base64");
  return { bytes, sha256: createHash("sha256").update(bytes).digest("hex") };
}

/** Refuses what JSON allows but later code cannot handle: NUL, lone surrogates, the key `__proto__`, more text than all fields may have. */
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

/** Throws invalid_request for text with NUL characters or lone surrogates, which cannot be stored or sent everywhere. */
export function requireText(text: string, path: string): void {
  if (text.includes("\0")) throw invalid(path, "expected text without NUL characters");
  if (/\p{Surrogate}/u.test(text)) throw invalid(path, "expected well-formed Unicode text");
}

const maxShownName = 64;

/** A field's path for error messages, for example `approval_channel.config.to` or `cc[1]`; unusual names are quoted and shortened. */
export function pathTo(parent: string, name: string): string {
  const shown = /^[\w-]{1,64}$/.test(name) ? name : JSON.stringify(cutText(name, maxShownName));
  return parent === "" ? shown : `${parent}.${shown}`;
}
