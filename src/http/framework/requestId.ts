import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";

export type Identified = IncomingMessage & { id: string };

const sane = /^[\w.:@/+=-]{1,128}$/;

/** The X-Request-Id that the client sent, if it is safe to log and echo; otherwise a new UUID. */
function requestIdOf(request: IncomingMessage): string {
  const given = request.headersDistinct["x-request-id"] ?? [];
  return given.length === 1 && sane.test(given[0]!) ? given[0]! : randomUUID();
}

/** Sets X-Request-Id on every response, also on those that no route makes. */
export function nameRequest(request: IncomingMessage, response: ServerResponse, next: () => void): void {
  const id = requestIdOf(request);
  (request as Identified).id = id;
  response.setHeader("X-Request-Id", id);
  next();
}
