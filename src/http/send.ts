import type { ServerResponse } from "node:http";
import { pipeline } from "node:stream/promises";
import type { Reply } from "./reply.ts";

/** Writes an answer. Resolves when a stream has been sent or cut off: a broken stream ends the connection, never looks complete. */
export async function send(response: ServerResponse, reply: Reply, signal?: AbortSignal): Promise<void> {
  response.statusCode = reply.status ?? 200;
  response.setHeader("Cache-Control", "no-store");
  for (const [name, value] of Object.entries(reply.headers)) response.setHeader(name, value);
  const { content } = reply;
  if ("stream" in content) {
    await pipeline(content.stream, response, signal ? { signal } : {}).catch(() => response.destroy());
    return;
  }
  if ("json" in content) response.setHeader("Content-Type", "application/json; charset=utf-8");
  const bytes = "json" in content ? Buffer.from(JSON.stringify(content.json)) : content.bytes;
  response.setHeader("Content-Length", bytes.length);
  response.end(bytes);
}
