import type { IncomingMessage, ServerResponse } from "node:http";
import { pipeline } from "node:stream/promises";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Reply } from "./reply.ts";

/**
 * Writes an answer. Throws if it could not be written completely; a stream's connection is then closed, so that it never looks complete.
 * `signal`: aborted when the key of the request was revoked.
 */
export async function send(response: ServerResponse, reply: Reply, signal?: AbortSignal): Promise<void> {
  const { req: request } = response;
  const { content } = reply;
  if (response.destroyed) {
    // The client has disconnected.
    if ("stream" in content) content.stream.destroy();
    return;
  }
  // For a live key this awaits nothing.
  const isLast = (!isKnown(response) || signal?.aborted === true) && (await isStillComing(request));
  response.statusCode = reply.status ?? 200;
  response.setHeader("Cache-Control", "no-store");
  for (const [name, value] of Object.entries(reply.headers)) response.setHeader(name, value);
  // Without this header a client would send its next request on the closing connection.
  if (isLast) response.setHeader("Connection", "close").removeHeader("Keep-Alive");
  if ("stream" in content) {
    // HEAD gets headers only: an endless stream would never finish.
    if (request.method === "HEAD") {
      content.stream.destroy();
      return void response.end();
    }
    // The stream adds listeners to those that other handlers of the request have added.
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

/** True if the request has a live API key. */
const isKnown = (response: ServerResponse): boolean =>
  (response as { locals?: { apiKey?: unknown } }).locals?.apiKey !== undefined;

/** True if an unused request body is still arriving. */
async function isStillComing(request: IncomingMessage): Promise<boolean> {
  const { "content-length": length = "0", "transfer-encoding": encoding } = request.headers;
  if (request.complete || (Number(length) === 0 && encoding === undefined)) return false;
  request.resume();
  await nextTurn();
  return !request.complete;
}

/** Maximum number of bytes of an unused body that are read and discarded. */
const maxUnread = 64 * 1024;
/** Milliseconds that a client which is still sending has to read its answer. */
const unreadGraceMs = 1_000;

/**
 * Writes the last answer of a connection. The connection ends when the request is complete, the client has gone, or a second has passed:
 * closing it while the client sends would reset it, and the client could lose the answer.
 */
async function sendAsLast(response: ServerResponse, bytes: Uint8Array): Promise<void> {
  const { req: request } = response;
  response.flushHeaders();
  if (bytes.length > 0) response.write(bytes);
  await readLittle(request);
  response.end();
  // Destroys the connection if the client reads nothing.
  setTimeout(() => request.destroy(), unreadGraceMs).unref();
}

/** Resolves when the request is complete, broken off, or a second has passed. Discards at most `maxUnread` bytes of it. */
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
