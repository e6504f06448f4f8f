import { finished } from "node:stream";
import type { Request, RequestHandler } from "express";
import { Unavailable } from "#src/eventStore/eventStore.ts";
import { createMessageReader } from "#src/mail/in/messageBody.ts";
import { addressOf } from "../framework/rateLimits/unauthenticatedLimits.ts";

/** Maximum number of bytes that the bodies of a hook may occupy in memory at once: in total, and from one address. */
const usualHeld = { maxBufferedBytes: 64 * 1024 * 1024, maxBytesOfHolder: 32 * 1024 * 1024 };
/** Milliseconds in which a body must arrive. */
const patienceMs = 20_000;

/**
 * Reads a provider's body byte for byte into `request.body` (a Buffer), whatever its content type: signatures cover these bytes. Refuses
 * compressed bodies (415) and more than `limit` bytes (413). Bodies are read before authentication, so all bodies of a hook together are
 * limited too: above that it throws Unavailable, and the provider retries.
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
      throw new Unavailable("too many calls from providers are being read");
    }
    finished(response, () => reader.release(body));
    request.body = body.raw;
    next();
  };
}

/** An error in the form of Express's body parsers. */
const refused = (status: number, type: string): Error =>
  Object.assign(new Error(`the body was refused: ${type}`), { status, type });
