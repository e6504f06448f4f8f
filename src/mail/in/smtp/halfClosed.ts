import type { Socket } from "node:net";

/**
 * Answers a client that ends its sending direction before it has read all replies, as exim does after the final dot. `onAnswered` is called
 * when everything that came before the end was answered; it has to close the connection.
 *
 * Node would close such a connection at once. smtp-server 3.21.6 writes only to a socket whose `readyState` is "open", and never closes a
 * half-closed one.
 */
export function answerAfterEnd(socket: Socket, onAnswered: () => void): void {
  socket.allowHalfOpen = true;
  Object.defineProperty(socket, "readyState", { get: () => (socket.writable ? "open" : "closed") });
  const pipe = socket.pipe.bind(socket);
  // The parser finishes after its last command.
  socket.pipe = (parser, options) => pipe(parser.once("finish", onAnswered), options) as typeof parser;
}
