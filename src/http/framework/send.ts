import type { IncomingMessage, ServerResponse } from "node:http";
import { pipeline } from "node:stream/promises";
import type { Reply } from "./reply.ts";

/** Writes an answer. Throws if it could not be written in full: then a stream's connection is closed, so that it never looks complete. */
export async function send(response: ServerResponse, reply: Reply, signal?: AbortSignal): Promise<void> {
  if (!isKnown(response)) readNoFurther(response.req);
  response.statusCode = reply.status ?? 200;
  response.setHeader("Cache-Control", "no-store");
  for (const [name, value] of Object.entries(reply.headers)) response.setHeader(name, value);
  const { content } = reply;
  if ("stream" in content) {
    // HEAD wants the headers alone: a stream without end would never let it go.
    if (response.req.method === "HEAD") {
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
  response.end(bytes);
}

/** Whether a live API key came with the request. */
const isKnown = (response: ServerResponse): boolean =>
  (response as { locals?: { apiKey?: unknown } }).locals?.apiKey !== undefined;

/** Bytes of a stranger's body that are read away, so that the connection can go on. */
const maxUnread = 64 * 1024;
/** Milliseconds in which a client that is still sending gets to read its answer. */
const unreadGraceMs = 1_000;

/** What is left of a body that nobody needs is not read beyond a small size: then the connection is cut off. */
function readNoFurther(request: IncomingMessage): void {
  const { "content-length": length = "0", "transfer-encoding": encoding } = request.headers;
  if (request.complete || (Number(length) === 0 && encoding === undefined)) return;
  let left = maxUnread;
  request.on("data", (chunk: Buffer) => {
    left -= chunk.length;
    if (left < 0) request.pause();
  });
  const cut = setTimeout(() => {
    if (!request.complete) request.destroy();
  }, unreadGraceMs);
  cut.unref();
}
