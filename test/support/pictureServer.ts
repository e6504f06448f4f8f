import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { createUndiciPictureSource } from "#src/platform/publicWeb/undiciPictureSource.ts";
import { certificateOf } from "./certificate.ts";

type Serve = Buffer | ((response: ServerResponse) => void);

/** Starts a real https server on loopback under the name pictures.test, and a picture source that trusts it and may reach it. */
export async function startPictureServer(files: Record<string, Serve>) {
  const tls = certificateOf("pictures.test");
  const asked: string[] = [];
  const server = createServer(tls, (request, response) => {
    asked.push(request.url ?? "");
    const file = files[request.url ?? ""];
    if (file === undefined) response.writeHead(404).end("not here");
    else if (typeof file === "function") file(response);
    else response.writeHead(200, { "content-type": "image/png" }).end(file);
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  const lookup = (_: string, { all }: { all?: boolean }, found: (error: null, ...answer: any[]) => void) =>
    all ? found(null, [{ address: "127.0.0.1", family: 4 }]) : found(null, "127.0.0.1", 4);
  const missing = async () => ({ outcome: "missing" }) as const;
  const sourceWith = (timeoutMs: number) =>
    createUndiciPictureSource({
      allowedHosts: ["pictures.test"],
      resolver: { a: missing, aaaa: missing },
      lookup,
      ca: tls.cert,
      timeoutMs,
    });
  const source = sourceWith(20_000);
  return {
    url: (path: string) => `https://pictures.test:${port}${path}`,
    port,
    ca: tls.cert,
    /** The requested paths, in order. */
    asked,
    source,
    sourceWith,
    async stop() {
      await source.close();
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
