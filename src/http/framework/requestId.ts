import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";

export type Identified = IncomingMessage & { id: string };

const sane = /^[\w.:@/+=-]{1,128}$/;

/** The id a client gave its request, if it can be logged and echoed without harm; otherwise a new one. */
function requestIdOf(request: IncomingMessage): string {
  const given = request.headersDistinct["x-request-id"] ?? [];
  return given.length === 1 && sane.test(given[0]!) ? given[0]! : randomUUID();
}

/** Every response carries X-Request-Id, also those that no route makes. */
export function nameRequest(request: IncomingMessage, response: ServerResponse, next: () => void): void {
  const id = requestIdOf(request);
  (request as Identified).id = id;
  response.setHeader("X-Request-Id", id);
  next();
}
