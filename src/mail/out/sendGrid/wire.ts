import { type IncomingHttpHeaders, type IncomingMessage, request } from "node:http";
import { connect, isIP, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { NotConnected } from "#src/mail/mailProvider.ts";

/** Time limits of each stage, in milliseconds. */
export type WireTimeouts = {
  /** From the name's resolution to an encrypted connection. */
  readyMs: number;
  /** Maximum number of milliseconds without a byte written or read, until the request is written. */
  idleMs: number;
  /** From the last byte of the request to the end of the answer. Long: giving up early turns a good outcome into an unknown one. */
  answerMs: number;
};

/** `text`: the body up to `maxAnswerBytes`. `early`: it came before the whole request was written. */
export type ApiAnswer = { status: number; headers: IncomingHttpHeaders; text: string; early: boolean };

export type ApiCall = { method: "GET" | "POST"; url: URL; headers: Record<string, string>; body?: Buffer };

const maxAnswerBytes = 64 * 1024;

/**
 * Opens a connection for one request. Throws NotConnected. Bytes that the server sends before the request answer nothing: then the
 * connection is closed.
 */
export function openSocket(url: URL, { readyMs }: Pick<WireTimeouts, "readyMs">): Promise<Socket> {
  const host = url.hostname.replace(/^\[|\]$/g, "");
  const tls = url.protocol === "https:";
  const port = Number(url.port || (tls ? 443 : 80));
  const socket = tls
    ? connectTls({ host, port, ...(isIP(host) === 0 && { servername: host }), ALPNProtocols: ["http/1.1"] })
    : connect({ host, port });
  return new Promise((resolve, reject) => {
    const fail = (reason: string) => {
      clearTimeout(timer);
      socket.destroy();
      reject(notConnected(reason));
    };
    const timer = setTimeout(() => fail(`not ready within ${readyMs} ms`), readyMs);
    // The listener is never removed: without it an error on an idle connection would end the process.
    socket.on("error", (error) => fail(codeOf(error)));
    socket.once("close", () => fail("connection closed"));
    socket.once(tls ? "secureConnect" : "connect", () => {
      clearTimeout(timer);
      socket.removeAllListeners("close");
      // Keeps reading, so that the end of the connection is noticed while it waits.
      socket.on("data", spokeFirst).resume();
      resolve(socket);
    });
  });
}

/** `reason`: a code of Node or OpenSSL, or a sentence. */
function notConnected(reason: string): NotConnected {
  const isUntrusted = /CERT|VERIFY|ISSUER/.test(reason);
  const remedy = isUntrusted ? ": NODE_EXTRA_CA_CERTS has to name the authority of the proxy in between" : "";
  return new NotConnected(`SendGrid cannot be reached: ${reason}${remedy}`, { kind: reason, lasts: isUntrusted });
}

function spokeFirst(this: Socket): void {
  this.destroy();
}

/** True if a request may still be written to the socket. */
export const isUsable = (socket: Socket): boolean => !socket.destroyed && socket.writable && !socket.readableEnded;

/**
 * Writes one request and reads its answer, once. From the call on the server may have it: throws if it gave no answer, with a message
 * that quotes nothing of the request. Closes the connection.
 */
export function exchange(
  socket: Socket,
  { method, url, headers, body = Buffer.alloc(0) }: ApiCall,
  { idleMs, answerMs }: Pick<WireTimeouts, "idleMs" | "answerMs">,
): Promise<ApiAnswer> {
  socket.off("data", spokeFirst);
  const asked = request({
    createConnection: () => socket,
    method,
    path: `${url.pathname}${url.search}`,
    headers: { ...headers, host: url.host, "content-length": String(body.length), connection: "close" },
  });
  return new Promise<ApiAnswer>((resolve, reject) => {
    let written = false;
    let timer: NodeJS.Timeout | undefined;
    let answer: IncomingMessage | undefined;
    // Once the status has arrived, the rest may break off.
    const fail = (reason: string) => (answer ? answer.destroy() : reject(new Error(reason)));
    asked.setTimeout(idleMs, () => fail(`nothing was heard for ${idleMs} ms`));
    asked.once("finish", () => {
      written = true;
      // From here on only the answer is awaited, which has its own timeout.
      asked.setTimeout(0);
      timer = setTimeout(() => fail(`no answer within ${answerMs} ms`), answerMs);
    });
    asked.once("response", (response) => {
      answer = response;
      const early = !written;
      const { statusCode: status = 0, headers: told } = response;
      void beginningOf(response).then((text) => resolve({ status, headers: told, text, early }));
    });
    asked.once("error", (error) => fail(`the connection was lost: ${codeOf(error)}`));
    asked.once("close", () => {
      clearTimeout(timer);
      fail("the connection was closed without an answer");
    });
    asked.end(body);
  }).finally(() => asked.destroy());
}

/** Reads as much of a body as counts. The status has arrived: a body that breaks off is still used. */
async function beginningOf(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of response) {
      chunks.push(chunk as Buffer);
      size += (chunk as Buffer).length;
      if (size >= maxAnswerBytes) break;
    }
  } catch {}
  return Buffer.concat(chunks).subarray(0, maxAnswerBytes).toString("utf8");
}

const codeOf = (error: unknown): string => String((error as { code?: unknown }).code ?? "an error without a code");
