import { once } from "node:events";
import { request as ask, type ClientRequest, createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { expect } from "chai";
import express from "express";
import { Unavailable } from "#src/eventStore/eventStore.ts";
import { errorHandler } from "#src/http/framework/errorHandler.ts";
import { rawBody } from "#src/http/hooks/rawBody.ts";

/** Largest body, in bytes. */
const limit = 100;

describe("the body of a provider's call", () => {
  let server: Server;
  const arrived: express.Request[] = [];
  before(async () => {
    const app = express();
    app.use((request, _, next) => {
      arrived.push(request);
      next();
    });
    app.post("/", rawBody(limit, { maxBufferedBytes: 5 * limit, maxBytesOfHolder: 3 * limit }), (request, response) =>
      response.json((request.body as Buffer).toString("latin1")),
    );
    app.use(
      errorHandler(({ error, response }) => {
        response.status(error instanceof Unavailable ? 503 : (error as { status: number }).status).end();
      }),
    );
    server = createServer(app);
    await once(server.listen(0, "127.0.0.1"), "listening");
  });
  after(() => {
    server.closeAllConnections();
    server.close();
  });

  const url = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const post = (body: string | Uint8Array<ArrayBuffer>, headers: Record<string, string> = {}) =>
    fetch(url(), { method: "POST", body, headers });
  const statusOf = async (call: ClientRequest) => (await once(call, "response"))[0].statusCode as number;

  /** Starts a call whose first byte has been read. */
  async function begun(): Promise<ClientRequest> {
    const before = arrived.length;
    const call = ask(url(), { method: "POST", headers: { "content-length": "50" } });
    call.on("error", () => {});
    call.write("x");
    while (!arrived[before]?.readableDidRead) await new Promise(setImmediate);
    return call;
  }

  it("a provider's body is read unchanged whatever its type, and refused if it is compressed or too large", async () => {
    expect(await (await post(Uint8Array.from([0, 255, 10]), { "content-type": "x/y" })).json()).to.equal("\0ÿ\n");
    expect(await (await post("")).json()).to.equal("");
    expect((await post("x", { "content-encoding": "gzip" })).status).to.equal(415);
    expect((await post("x".repeat(limit + 1))).status).to.equal(413);
    const chunked = ask(url(), { method: "POST" });
    chunked.end("x".repeat(limit + 1));
    expect(await statusOf(chunked)).to.equal(413);
  });

  it("a provider's body gets 503 while too many others are being read, and is accepted when they have ended", async () => {
    const others = [await begun(), await begun(), await begun()];
    expect((await post("x")).status).to.equal(503);
    const [first, ...rest] = others as [ClientRequest, ...ClientRequest[]];
    first.end("y".repeat(49));
    expect(await statusOf(first)).to.equal(200);
    for (const call of rest) call.destroy();
    while ((await post("x")).status !== 200) await new Promise(setImmediate);
    for (let n = 0; n < 20; n++) expect((await post("x".repeat(limit))).status).to.equal(200);
  });
});
