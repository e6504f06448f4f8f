import { randomUUID } from "node:crypto";
import type { ServerResponse } from "node:http";
import type { Duplex } from "node:stream";

type Refusal = readonly [status: number, reason: string, message: string];

const late: Refusal = [408, "Request Timeout", "the request did not arrive in time"];
const unreadable: Refusal = [400, "Bad Request", "the request is not valid HTTP"];
const refusals: Record<string, Refusal> = {
  HPE_HEADER_OVERFLOW: [431, "Request Header Fields Too Large", "the request headers are too large"],
  ERR_HTTP_REQUEST_TIMEOUT: late,
};

/** Milliseconds for which a connection stays open after its last answer, so that a client that is still sending can read it. */
const lastWordMs = 1_000;

const ended = new WeakSet<Duplex>();
const unanswered = new WeakMap<Duplex, Set<ServerResponse>>();

/**
 * Maximum number of unanswered requests per connection. Clients hardly ever send a second request before the first is answered, and each
 * costs memory.
 */
const mostOwed = 100;

/**
 * Records an answer that the connection owes. If it owes too many, closes the connection and returns false: the request must then have no
 * effect.
 */
export function recordOwedAnswer(socket: Duplex, response: ServerResponse): boolean {
  const owed = unanswered.get(socket) ?? owedFrom(socket);
  if (owed.size === mostOwed) {
    socket.destroy();
    return false;
  }
  owed.add(response);
  response.once("close", () => owed.delete(response));
  return true;
}

function owedFrom(socket: Duplex): Set<ServerResponse> {
  const owed = new Set<ServerResponse>();
  unanswered.set(socket, owed);
  socket.once("close", () => {
    // Node closes only the response that is being written. Handlers of the responses queued behind it would wait for their client forever.
    for (const response of owed) if (response.socket === null) endUnsent(response);
  });
  return owed;
}

function endUnsent(response: ServerResponse): void {
  response.destroy();
  response.emit("close");
}

/**
 * Writes the last bytes and closes the connection a second later: otherwise a client that does not close its side could keep the connection
 * open forever.
 */
export function endSoon(socket: Duplex, last = ""): void {
  ended.add(socket);
  socket.end(last);
  setTimeout(() => socket.destroy(), lastWordMs).unref();
}

/** True if the connection was ended by a refusal: any further request on it must have no effect. */
export const isEnded = (socket: Duplex): boolean => ended.has(socket);

/** Answers invalid or late HTTP with the error body and closes the connection. */
export function refuseUnreadable(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (error.code === "ECONNRESET") return void socket.destroy();
  refuse(socket, refusals[error.code ?? ""] ?? unreadable);
}

/** Refuses a connection above the limit with 503, before reading from it. */
export const refuseCrowded = (socket: Duplex, why: string): void =>
  refuse(socket, [503, "Service Unavailable", `${why}: close some, or retry shortly`]);

/** Refuses a request whose body stopped arriving, with 408. */
export const refuseSlow = (socket: Duplex): void => refuse(socket, late);

function refuse(socket: Duplex, [status, reason, message]: Refusal): void {
  if (!socket.writable || isOwedMore(socket)) return void socket.destroy();
  const id = randomUUID();
  const error = status === 503 ? "unavailable" : "invalid_request";
  const body = JSON.stringify({ error, message, request_id: id });
  endSoon(
    socket,
    `HTTP/1.1 ${status} ${reason}\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: ${Buffer.byteLength(body)}\r\n` +
      `X-Request-Id: ${id}\r\n${status === 503 ? "Retry-After: 5\r\n" : ""}Cache-Control: no-store\r\nConnection: close\r\n\r\n${body}`,
  );
}

/** True if an answer has begun or an earlier request is unanswered: the client would take a refusal for that answer. */
const isOwedMore = (socket: Duplex): boolean =>
  [...(unanswered.get(socket) ?? [])].some(({ headersSent, req }) => headersSent || req.complete);
