import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

/**
 * A provider for every HTTP API that refuses each call, in turn as JSON and as HTML, and repeats all it was
 * sent, credentials included, in the words of its refusal.
 */
export async function startEcho() {
  const heard: string[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const said = JSON.stringify([request.url, request.rawHeaders, Buffer.concat(chunks).toString("utf8")]);
    heard.push(said);
    const kind = heard.length % 4;
    const status = [401, 500, 400, 403][kind] as number;
    const asJson = {
      ok: false,
      error_code: status,
      description: said,
      error: { message: said },
      errors: [{ message: said }],
    };
    if (kind % 2 === 0) response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(asJson));
    else response.writeHead(status, { "content-type": "text/html" }).end(`<h1>${said}</h1>`);
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    port: (server.address() as AddressInfo).port,
    /** Returns everything that callers have sent so far. */
    heard: () => heard.join("\n"),
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
