import { finished } from "node:stream";
import type { Request, RequestHandler } from "express";
import { Unavailable } from "#src/eventStore/eventStore.ts";
import { createMessageReader } from "#src/mail/in/messageBody.ts";
import { addressOf } from "../framework/rateLimits/strangers.ts";

/** In bytes: all bodies that a hook holds at one moment, and those from one address. */
const usualHeld = { maxBufferedBytes: 64 * 1024 * 1024, maxBytesOfHolder: 32 * 1024 * 1024 };
/** Within which a body has to come. */
const patienceMs = 20_000;

/**
 * The body of a provider's call as it came, byte for byte, as `request.body` (a Buffer), whatever its type says: signatures are over these
 * bytes. Compressed bodies are refused (415); more than `limit` bytes 413. It is read before anybody knows whose it is, so all bodies of a hook together
 * have a limit as well: above it the error is Unavailable, and the provider comes again.
 */
export function rawBody(limit: number, held = usualHeld): RequestHandler {
  const reader = createMessageReader({ maxBytes: limit, ...held });

  async function read(request: Request) {
    const late = setTimeout(() => request.destroy(), patienceMs);
    try {
      return await reader.read(request, { holder: addressOf(request), onFlood: () => request.destroy() });
    } catch {
      throw refused(400, "request.aborted");
    } finally {
      clearTimeout(late);
    }
  }

  return async (request, response, next) => {
    if (!/^(identity)?$/i.test(request.get("content-encoding") ?? "")) throw refused(415, "encoding.unsupported");
    if (Number(request.get("content-length") ?? 0) > limit) throw refused(413, "entity.too.large");
    const body = await read(request);
    if ("refused" in body) {
      reader.release(body);
      if (body.refused === "too_large") throw refused(413, "entity.too.large");
      throw new Unavailable("too many calls of providers are being read");
    }
    finished(response, () => reader.release(body));
    request.body = body.raw;
    next();
  };
}

/** As Express's own readers of bodies say it. */
const refused = (status: number, type: string): Error =>
  Object.assign(new Error(`the body was refused: ${type}`), { status, type });
