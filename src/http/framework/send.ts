import type { IncomingMessage, ServerResponse } from "node:http";
import { pipeline } from "node:stream/promises";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Reply } from "./reply.ts";

/**
 * Writes an answer. Throws if it could not be written in full: then a stream's connection is closed, so that it never looks complete.
 * `signal`: aborted when the key of the request was revoked.
 */
export async function send(response: ServerResponse, reply: Reply, signal?: AbortSignal): Promise<void> {
  const { req: request } = response;
  const { content } = reply;
  if (response.destroyed) {
    // Nobody is there to read it.
    if ("stream" in content) content.stream.destroy();
    return;
  }
  // Nothing is awaited for the answer to a live key.
  const isLast = (!isKnown(response) || signal?.aborted === true) && (await isStillComing(request));
  response.statusCode = reply.status ?? 200;
  response.setHeader("Cache-Control", "no-store");
  for (const [name, value] of Object.entries(reply.headers)) response.setHeader(name, value);
  // A client that took the connection for one that goes on would send its next request into the end of it.
  if (isLast) response.setHeader("Connection", "close").removeHeader("Keep-Alive");
  if ("stream" in content) {
    // HEAD wants the headers alone: a stream without end would never let it go.
    if (request.method === "HEAD") {
      content.stream.destroy();
      return void response.end();
    }
    // A stream's own come on top of those that everything on the way of a request has put there.
    response.setMaxListeners(response.getMaxListeners() + 10);
    await pipeline(content.stream, response, signal ? { signal } : {});
    return;
  }
  const bytes = "json" in content ? Buffer.from(JSON.stringify(content.json)) : content.bytes;
  if ("json" in content) response.setHeader("Content-Type", "application/json; charset=utf-8");
  response.setHeader("Content-Length", bytes.length);
  if (isLast) await sendAsLast(response, bytes);
  else response.end(bytes);
}

/** Whether a live API key came with the request. */
const isKnown = (response: ServerResponse): boolean =>
  (response as { locals?: { apiKey?: unknown } }).locals?.apiKey !== undefined;

/** Whether there is more of a body that nobody needs than what came with the head. */
async function isStillComing(request: IncomingMessage): Promise<boolean> {
  const { "content-length": length = "0", "transfer-encoding": encoding } = request.headers;
  if (request.complete || (Number(length) === 0 && encoding === undefined)) return false;
  request.resume();
  await nextTurn();
  return !request.complete;
}

/** Bytes of a body that nobody needs that are read away. */
const maxUnread = 64 * 1024;
/** Milliseconds in which a client that is still sending gets to read its answer. */
const unreadGraceMs = 1_000;

/**
 * Writes an answer after which the connection ends. It ends once the request has come or the client has gone, or a moment later: to close it under
 * a client that is still sending resets it, and that can cost the client its answer.
 */
async function sendAsLast(response: ServerResponse, bytes: Uint8Array): Promise<void> {
  const { req: request } = response;
  response.flushHeaders();
  if (bytes.length > 0) response.write(bytes);
  await readLittle(request);
  response.end();
  // Should the client read nothing of an answer before this one.
  setTimeout(() => request.destroy(), unreadGraceMs).unref();
}

/** Resolves when all of the request has come, it was broken off, or a moment is over; no more than a little of it is read. */
function readLittle(request: IncomingMessage): Promise<void> {
  let left = maxUnread;
  request.on("data", (chunk: Buffer) => {
    left -= chunk.length;
    if (left < 0) request.pause();
  });
  return new Promise((resolve) => {
    const over = setTimeout(resolve, unreadGraceMs);
    for (const end of ["end", "close"]) {
      request.once(end, () => {
        clearTimeout(over);
        resolve();
      });
    }
  });
}
