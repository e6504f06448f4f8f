import type { IncomingMessage } from "node:http";
import { Rejected } from "#streams/decider.ts";
import { invalid } from "../errors.ts";

/** JSON deeper than this is refused. */
const maxDepth = 32;

/**
 * The request's bytes. Over `limit` (bytes) it throws payload_too_large at once and lets the rest run into the void, so that a
 * client that is still writing gets to read the answer; the server's request timeout bounds that.
 */
export async function readBytes(request: IncomingMessage, limit: number): Promise<Buffer> {
  const tooLarge = () =>
    new Rejected("payload_too_large", `the request body is too large: expected at most ${limit} bytes`);
  if (Number(request.headers["content-length"] ?? 0) > limit) throw tooLarge();
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of request.iterator({ destroyOnReturn: false })) {
      size += chunk.length;
      if (size > limit) throw tooLarge();
      chunks.push(chunk);
    }
  } catch (error) {
    throw error instanceof Rejected ? error : invalid("", "the request body ended early: send it in full");
  } finally {
    request.resume();
  }
  return Buffer.concat(chunks);
}

/** A JSON body as plain data; an empty one is {}. Throws invalid_request for everything that could not be stored, shown or compared safely. */
export function parseBody(bytes: Buffer, request: IncomingMessage): unknown {
  if (bytes.length === 0) return {};
  requireJson(request);
  const body = parse(decode(bytes));
  requirePlain(body, "", 1);
  return body;
}

function requireJson(request: IncomingMessage): void {
  const given = request.headers["content-type"] ?? "";
  if (!/^application\/json\s*(;\s*charset\s*=\s*"?utf-8"?\s*)?$/i.test(given)) {
    throw invalid("Content-Type", "expected application/json, encoded in UTF-8");
  }
  if (!/^(identity)?$/i.test(request.headers["content-encoding"] ?? "")) {
    throw invalid("Content-Encoding", "expected none: send the body uncompressed");
  }
}

function decode(bytes: Buffer): string {
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

/** Refuses what JSON allows and nothing after us does: NUL, half characters, the key `__proto__`, endless depth. */
function requirePlain(value: unknown, path: string, depth: number): void {
  if (typeof value === "string") requireText(value, path);
  if (typeof value !== "object" || value === null) return;
  if (depth > maxDepth) throw invalid(path, `expected JSON nested at most ${maxDepth} levels deep`);
  if (Array.isArray(value)) {
    value.forEach((item, index) => {
      requirePlain(item, `${path}[${index}]`, depth + 1);
    });
    return;
  }
  for (const [name, item] of Object.entries(value)) {
    if (name === "__proto__") throw invalid(pathTo(path, name), "unknown field");
    requireText(name, path);
    requirePlain(item, pathTo(path, name), depth + 1);
  }
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
