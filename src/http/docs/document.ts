import { createHash } from "node:crypto";
import type { RequestHandler } from "express";
import { errorReply } from "../framework/errors.ts";
import type { Document } from "../framework/openapi/openapi.ts";
import type { UnauthenticatedLimits } from "../framework/rateLimits/unauthenticatedLimits.ts";
import { reply } from "../framework/reply.ts";
import { send } from "../framework/send.ts";

/** Serves /openapi.json: created once, with an ETag for clients that already have it. */
export function serveDocument(document: () => Document): RequestHandler {
  let made: { bytes: Buffer; headers: Record<string, string> } | undefined;

  function make() {
    const bytes = Buffer.from(JSON.stringify(document()));
    const ETag = `"${createHash("sha256").update(bytes).digest("base64url")}"`;
    return { bytes, headers: { ETag, "Cache-Control": "no-cache", "Content-Type": "application/json; charset=utf-8" } };
  }

  return async (request, response) => {
    made ??= make();
    const { bytes, headers } = made;
    response.set(headers);
    if (isHad(request.headers["if-none-match"], headers.ETag as string)) return void response.status(304).end();
    await send(response, reply({ bytes, headers }));
  };
}

const isHad = (ifNoneMatch = "", etag: string): boolean =>
  ifNoneMatch.split(",").some((each) => ["*", etag, `W/${etag}`].includes(each.trim()));

/** Limits requests for documents per address. */
export const limitDocuments =
  (strangers: UnauthenticatedLimits | undefined): RequestHandler =>
  async (request, response, next) => {
    try {
      await strangers?.count("document", request);
    } catch (error) {
      return send(response, errorReply(error, { requestId: String(request.id) }));
    }
    next();
  };
