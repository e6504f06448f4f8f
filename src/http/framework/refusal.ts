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

/** Milliseconds in which a client that is still sending gets to read what it was told last. */
const lastWordMs = 1_000;

const ended = new WeakSet<Duplex>();
const unanswered = new WeakMap<Duplex, Set<ServerResponse>>();

/** Answers that a connection may owe. Hardly anybody sends a second request before the first is answered, and each that waits costs memory. */
const mostOwed = 100;

/** Remembers the answers that a connection still owes. One that comes to owe too many is closed: then this is false, and the request has no effect. */
export function owes(socket: Duplex, response: ServerResponse): boolean {
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
    // Node tells only the answer whose turn it is. What goes on until its client has left would never end behind it.
    for (const response of owed) if (response.socket === null) endUnsent(response);
  });
  return owed;
}

function endUnsent(response: ServerResponse): void {
  response.destroy();
  response.emit("close");
}

/** Says this as the last thing, and closes the connection a second later: a client that keeps its own half open would hold it for ever. */
export function endSoon(socket: Duplex, last = ""): void {
  ended.add(socket);
  socket.end(last);
  setTimeout(() => socket.destroy(), lastWordMs).unref();
}

/** Whether the client was told that its connection is over: what still comes of a request has no effect. */
export const isEnded = (socket: Duplex): boolean => ended.has(socket);

/** Input that is not valid HTTP, or late, also gets the error envelope, and its connection is closed. */
export function refuseUnreadable(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (error.code === "ECONNRESET") return void socket.destroy();
  refuse(socket, refusals[error.code ?? ""] ?? unreadable);
}

/** A client that is one too many, before anything of it is read. */
export const refuseCrowded = (socket: Duplex, why: string): void =>
  refuse(socket, [503, "Service Unavailable", `${why}: close some, or retry shortly`]);

/** A body that stopped coming. */
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

/** An answer that has begun, or that belongs to an earlier request: a refusal in its place would be taken for it. */
const isOwedMore = (socket: Duplex): boolean =>
  [...(unanswered.get(socket) ?? [])].some(({ headersSent, req }) => headersSent || req.complete);
