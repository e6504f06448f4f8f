import { connect } from "node:net";
import { Writable } from "node:stream";
import { pino } from "pino";
import { hashKey } from "#src/commands/apiKeys.ts";
import { type AppOptions, createApp } from "#src/http/app.ts";
import { createAuthenticate } from "#src/http/framework/keys/authenticate.ts";
import { allScopes } from "#src/http/framework/keys/scopes.ts";
import type { KeyPrincipal } from "#src/http/framework/principal.ts";
import type { Route } from "#src/http/framework/route.ts";
import { listen } from "#src/http/framework/server.ts";
import { asking } from "#test/support/asking.ts";

export const workspaceId = "0193a0aa-0000-7000-8000-000000000001";
export const validKey = `svc_live_${"a1B2".repeat(8)}`;
export const narrowKey = `svc_live_${"narrowKy".repeat(4)}`;
/** Another key of the same workspace. */
export const otherKey = `svc_live_${"other123".repeat(4)}`;
/** A key of another workspace. */
export const elsewhereKey = `svc_live_${"elseWher".repeat(4)}`;
export const keyId = "0193a0aa-0000-7000-8000-0000000000aa";

const keys = new Map<string, KeyPrincipal>([
  [hashKey(validKey), { kind: "api_key", id: keyId, workspaceId, name: "agent", scopes: allScopes }],
  [
    hashKey(otherKey),
    { kind: "api_key", id: "0193a0aa-0000-7000-8000-0000000000ab", workspaceId, name: "other", scopes: allScopes },
  ],
  [
    hashKey(elsewhereKey),
    {
      kind: "api_key",
      id: "0193a0aa-0000-7000-8000-0000000000ac",
      workspaceId: "0193a0aa-0000-7000-8000-000000000002",
      name: "elsewhere",
      scopes: allScopes,
    },
  ],
  [
    hashKey(narrowKey),
    {
      kind: "api_key",
      id: "0193a0aa-0000-7000-8000-0000000000bb",
      workspaceId,
      name: "narrow",
      scopes: ["read:rules"],
    },
  ],
]);

export const authenticate = createAuthenticate({ findKey: async (hash) => keys.get(hash), keyHash: hashKey });

/** Serves these routes on a real socket; `logs` grows with its log lines. */
export async function serveRoutes(routes: Route[], options: Partial<AppOptions> = {}, server = {}) {
  const logs: Record<string, unknown>[] = [];
  const sink = new Writable({
    write(line, _, done) {
      logs.push(JSON.parse(String(line)));
      done();
    },
  });
  const app = createApp({
    routes,
    authenticate,
    logger: pino({ level: "debug" }, sink),
    info: { title: "Toys", version: "1", description: "Routes to test with.", serverUrl: "http://localhost" },
    checkResponses: true,
    ...options,
  });
  const listening = await listen(app, { host: "127.0.0.1", port: 0, ...server });
  return { ...listening, logs, ask: asking(listening.url, validKey) };
}

/** Writes these bytes to a socket; returns everything received until the socket closed. */
export function rawExchange(port: number, bytes: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1", () => socket.write(bytes, "latin1"));
    let received = "";
    socket.on("data", (chunk) => {
      received += chunk.toString("latin1");
    });
    socket.on("error", reject);
    socket.on("close", () => resolve(received));
  });
}

/** The head of a POST with `length` bytes of JSON. */
export const postHead = (path: string, length: number, key = validKey): string =>
  `POST ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n\r\n`;

/**
 * A client that never closes its end of the connection. It sends `trickle` every 20 ms; if that is empty, it sends only after the service
 * ended its half, to detect that the service closed the whole connection.
 */
export function stubborn(port: number, bytes: string, trickle = "x") {
  const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true }, () => {
    socket.write(bytes);
    // Only now: bytes written before the socket is open would precede the request.
    if (trickle !== "") keepSending(trickle);
  });
  let received = "";
  socket.on("error", () => {});
  const tricklers: NodeJS.Timeout[] = [];
  const keepSending = (sent: string) => tricklers.push(setInterval(() => socket.write(sent), 20));
  if (trickle === "") socket.once("end", () => keepSending("x"));
  const closed = new Promise<string>((resolve) => {
    socket.on("close", () => {
      for (const each of tricklers) clearInterval(each);
      resolve(received);
    });
  });
  const told = new Promise<void>((resolve) => {
    socket.on("data", (chunk) => {
      received += chunk.toString("latin1");
      resolve();
    });
  });
  /** `told` resolves at the first byte received, `closed` with everything received. */
  return { socket, told, closed };
}

/** A promise with the function that resolves it. */
export function barrier<T = void>() {
  let open!: (value: T) => void;
  const opened = new Promise<T>((resolve) => {
    open = resolve;
  });
  return { open, opened };
}
