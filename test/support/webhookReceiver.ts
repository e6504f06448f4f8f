import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { Webhook } from "standardwebhooks";

export type Received = {
  id: string;
  path: string;
  headers: Record<string, string>;
  /** The raw body. */
  text: string;
  body: any;
  /** Status of the answer; undefined while it waits. */
  status?: number;
};

type ReceiverAnswer = number | ((response: ServerResponse, received: Received) => void | Promise<void>);

/** Starts a real receiver on loopback that records its requests and answers with the given status, or by the function. */
export async function startReceiver(
  answer: (received: Received) => ReceiverAnswer | Promise<ReceiverAnswer> = () => 204,
  tls?: { key: string; cert: string },
) {
  const requests: Received[] = [];
  const respond = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString("utf8");
    const headers = request.headers as Record<string, string>;
    const received: Received = {
      id: headers["webhook-id"]!,
      path: request.url!,
      headers,
      text,
      body: JSON.parse(text),
    };
    requests.push(received);
    const given = await answer(received);
    if (typeof given === "function") return void (await given(response, received));
    received.status = given;
    response.writeHead(given).end();
  };
  const listener = (request: IncomingMessage, response: ServerResponse): void =>
    void respond(request, response).catch(() => response.destroy());
  const server: Server = tls ? createTlsServer(tls, listener) : createServer(listener);
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `${tls ? "https" : "http"}://127.0.0.1:${port}/hook`,
    port,
    requests,
    /** The accepted requests, each once, in the order in which they were first accepted. */
    taken: () =>
      requests
        .filter(({ status }) => status !== undefined && status < 300)
        .filter(({ id }, index, all) => all.findIndex((other) => other.id === id) === index),
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

/** Throws unless the package that receivers use accepts the signature. */
export const verified = (received: Received, secret: string): unknown =>
  new Webhook(secret).verify(received.text, received.headers);
