import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { PassThrough } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "chai";
import Type from "typebox";
import { createRequestsInFlight } from "#src/http/framework/keys/requestsInFlight.ts";
import { reply } from "#src/http/framework/reply.ts";
import { route } from "#src/http/framework/route.ts";
import { listen } from "#src/http/framework/server.ts";
import { barrier, keyId, rawExchange, serveRoutes, validKey } from "./support.ts";

const here = { host: "127.0.0.1", port: 0 };
const get = (path: string, more = "") =>
  `GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${validKey}\r\n${more}\r\n`;

/** Polls until true; mocha's time limit ends it. */
async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await sleep(10);
}

describe("HTTP connections", () => {
  it("the end of a connection ends all its pipelined requests: each is logged as 499, and their key can be revoked", async () => {
    let entered = 0;
    const park = route(
      "GET /v1/parked",
      { scope: "read:threads", limit: "read", summary: "", answers: Type.Unknown() },
      async () => {
        entered += 1;
        await gate.opened;
      },
    );
    const gate = barrier();
    const inFlight = createRequestsInFlight();
    const service = await serveRoutes([park], { inFlight });
    const socket = connect(service.port, "127.0.0.1", () => socket.write(get("/v1/parked").repeat(3)));
    await until(() => entered === 3);
    socket.destroy();
    const gone = () => service.logs.filter(({ res }) => (res as { statusCode?: number })?.statusCode === 499).length;
    await until(() => gone() === 3);
    gate.open();
    inFlight.revoke(keyId);
    await inFlight.ended(keyId);
    await service.close();
  });

  it("the end of a connection before its streamed answer has begun ends the stream", async () => {
    const [entered, gate] = [barrier(), barrier()];
    const stream = new PassThrough();
    const follow = route(
      "GET /v1/follow",
      { scope: "read:threads", limit: "read", summary: "", answers: { mediaType: "text/plain", description: "" } },
      async () => {
        entered.open();
        await gate.opened;
        return reply({ stream, headers: { "Content-Type": "text/plain" } });
      },
    );
    const service = await serveRoutes([follow]);
    const socket = connect(service.port, "127.0.0.1", () => socket.write(get("/v1/follow")));
    await entered.opened;
    socket.destroy();
    await until(() => service.logs.some(({ res }) => (res as { statusCode?: number })?.statusCode === 499));
    gate.open();
    await until(() => stream.destroyed);
    await service.close();
  });

  it("100 pipelined requests are answered in order; a connection with 300 is closed after at most 100 answers", async () => {
    const answered: string[] = [];
    const server = await listen(({ url }, response) => {
      answered.push(url!);
      response.end(url);
    }, here);
    const paths = Array.from({ length: 100 }, (_, n) => `/${n}`);
    const last = get("/last", "Connection: close\r\n");
    const received = await rawExchange(
      server.port,
      paths
        .slice(1)
        .map((path) => get(path))
        .join("") + last,
    );
    expect([...received.matchAll(/\r\n\r\n(\/\w+?)(?=HTTP|$)/g)].map(([, path]) => path)).to.deep.equal([
      ...paths.slice(1),
      "/last",
    ]);
    answered.length = 0;
    const socket = connect(server.port, "127.0.0.1", () => socket.write(get("/many").repeat(300)));
    socket.on("error", () => {}).resume();
    await once(socket, "close");
    expect(answered.length).to.be.at.most(100);
    await server.close();
  });

  it("a connection whose request body ends after the answer waits for the next request with the idle timeout", async () => {
    let kept: Socket | undefined;
    const server = await listen((request, response) => {
      kept = request.socket;
      if (request.method === "POST") response.end("early");
    }, here);
    const socket = connect(server.port, "127.0.0.1", () =>
      socket.write("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\n"),
    );
    await once(socket, "data");
    socket.write("x");
    await until(() => kept!.timeout === 620_000);
    kept = undefined;
    socket.write(get("/"));
    await until(() => kept !== undefined);
    expect(kept!.timeout).to.equal(0);
    socket.destroy();
    await server.close();
  });

  it("an answer with Connection: close has no Keep-Alive header", async () => {
    const server = await listen((_, response) => response.end("here"), here);
    const received = await rawExchange(server.port, get("/", "Connection: close\r\n"));
    expect(received).to.contain("Connection: close").and.not.to.contain("Keep-Alive");
    await server.close();
  });

  it("a large answer is sent to its end when the service closes, although the client reads slowly", async () => {
    const bytes = 50_000_000;
    const begun = barrier();
    const server = await listen((_, response) => {
      response.end(Buffer.alloc(bytes));
      begun.open();
    }, here);
    const socket = connect(server.port, "127.0.0.1", () => socket.write(get("/")));
    await begun.opened;
    const closed = server.close(60_000);
    let received = 0;
    socket.on("data", (chunk) => {
      received += chunk.length;
    });
    await once(socket, "close");
    expect(received).to.be.greaterThan(bytes);
    await closed;
  });
});
