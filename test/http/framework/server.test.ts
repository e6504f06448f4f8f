import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { connect, type Socket } from "node:net";
import { isDeepStrictEqual } from "node:util";
import { expect } from "chai";
import Type from "typebox";
import type { AppOptions } from "#src/http/app.ts";
import { createUploads, smallBody, type Uploads } from "#src/http/framework/body/uploads.ts";
import { unauthorized } from "#src/http/framework/keys/authenticate.ts";
import { createRequestsInFlight } from "#src/http/framework/keys/requestsInFlight.ts";
import { route } from "#src/http/framework/route.ts";
import { listen } from "#src/http/framework/server.ts";
import { StartError } from "#src/platform/startError.ts";
import {
  barrier,
  elsewhereKey,
  keyId,
  otherKey,
  postHead,
  rawExchange,
  serveRoutes,
  stubborn,
  validKey,
  workspaceId,
} from "./support.ts";

/** Polls until `what` returns `expected`; mocha's time limit ends it. */
async function asked<T>(what: () => Promise<T>, expected: T): Promise<void> {
  while (!isDeepStrictEqual(await what(), expected)) await new Promise((resolve) => setTimeout(resolve, 20));
}

describe("http server", () => {
  it("a server that cannot listen says why and names the setting", async () => {
    const first = await listen(() => {}, { host: "127.0.0.1", port: 0 });
    const failure = await listen(() => {}, { host: "127.0.0.1", port: first.port }).catch((error) => error);
    await first.close();
    expect(failure).to.be.instanceOf(StartError);
    expect(failure.message).to.contain(`Port ${first.port} on 127.0.0.1 is in use`).and.to.contain("PORT");
    const elsewhere = await listen(() => {}, { host: "192.0.2.1", port: 0 }).catch((error) => error);
    expect(elsewhere).to.be.instanceOf(StartError);
    expect(elsewhere.message).to.contain("HOST");
  });

  it("a connection over the limit of its address or of the server gets 503 until another one ends", async () => {
    let exempt = false;
    const refused: string[] = [];
    const onRefused = (reason: string, address: string) => void refused.push(`${reason} ${address}`);
    const limits = { inAll: 4, perAddress: 2, isExempt: () => exempt, onRefused };
    const server = await listen((_, response) => response.end("here"), {
      ...{ host: "127.0.0.1", port: 0, connections: limits },
    });
    const opened: Socket[] = [];
    const open = async (): Promise<string> => {
      const socket = connect(server.port, "127.0.0.1");
      opened.push(socket);
      socket.write("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
      const [answer] = await once(socket, "data");
      return String(answer);
    };
    const isTold = (answer: string, sentence: string): void => {
      expect(answer).to.match(/^HTTP\/1.1 503 .*\r\nRetry-After: 5\r\n.*\r\nConnection: close\r\n/s);
      expect(JSON.parse(answer.split("\r\n\r\n")[1]!)).to.include({ error: "unavailable", message: sentence });
    };
    for (let n = 0; n < 2; n++) expect(await open()).to.contain("here");
    isTold(await open(), "too many connections from your address: close some, or retry shortly");
    // A proxy opens the connections of all its clients.
    exempt = true;
    for (let n = 0; n < 2; n++) expect(await open()).to.contain("here");
    isTold(await open(), "too many connections: close some, or retry shortly");
    expect(refused).to.deep.equal(["connections_of_address 127.0.0.1", "connections 127.0.0.1"]);
    exempt = false;
    opened[0]!.destroy();
    await asked(async () => (await open()).startsWith("HTTP/1.1 200"), true);
    for (const socket of opened) socket.destroy();
    await server.close();
  });

  const parking = (gate: Promise<void>, entered: () => void) => [
    route(
      "GET /v1/parked",
      { scope: "read:threads", limit: "read", summary: "", answers: Type.Unknown() },
      async () => {
        entered();
        await gate;
        return "done";
      },
    ),
    route(
      "POST /v1/take",
      { scope: "read:threads", limit: "write", summary: "", answers: Type.Unknown() },
      async () => "taken",
    ),
  ];

  it("a client's address is taken from X-Forwarded-For only as far as proxies are trusted", async () => {
    const headers = { "X-Forwarded-For": "198.51.100.9, 203.0.113.7" };
    for (const [trustProxy, ip] of [
      [0, "127.0.0.1"],
      [1, "203.0.113.7"],
      [["loopback"], "203.0.113.7"],
      [["127.0.0.1", "203.0.113.0/24"], "198.51.100.9"],
      [["10.0.0.0/8"], "127.0.0.1"],
    ] as [number | string[], string][]) {
      const service = await serveRoutes([], { trustProxy, beside: [({ ip }, response) => void response.send(ip)] });
      expect(await (await fetch(service.url, { headers })).text()).to.equal(ip);
      await service.close();
    }
  });

  it("the caller's address is recorded and logged, and a forged X-Forwarded-For is ignored", async () => {
    const who = route(
      "GET /v1/who",
      { scope: "read:threads", limit: "read", summary: "", answers: Type.Unknown() },
      async ({ actor }) => actor.ip,
    );
    for (const [trustProxy, ip] of [
      [0, "127.0.0.1"],
      [1, "203.0.113.7"],
    ] as const) {
      const service = await serveRoutes([who], { trustProxy });
      const { json } = await service.ask("GET /v1/who", {
        headers: { "X-Forwarded-For": "198.51.100.9, 203.0.113.7" },
      });
      await service.close();
      expect([json, service.logs.find(({ route }) => route === "/v1/who")?.ip]).to.deep.equal([ip, ip]);
    }
  });

  it("a request without a valid key gets 401, and less than 1 MB of its 30 MB body is read", async () => {
    const sockets: Socket[] = [];
    const service = await serveRoutes(
      parking(Promise.resolve(), () => {}),
      {
        authenticate: async ({ socket }) => {
          sockets.push(socket);
          throw unauthorized();
        },
      },
    );
    const announced = 30 * 1024 * 1024;
    const head = `POST /v1/take HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${announced}\r\n\r\n`;
    const socket = connect(service.port, "127.0.0.1", () => socket.write(head + "x".repeat(announced)));
    let received = "";
    socket.on("data", (chunk) => {
      received += chunk.toString();
    });
    socket.on("error", () => {});
    await new Promise((resolve) => socket.on("close", resolve));
    expect(received).to.match(/^HTTP\/1.1 401 /);
    expect(sockets[0]!.bytesRead).to.be.lessThan(1024 * 1024);
    await service.close();
  });

  for (const whose of ["no key", "a key that is revoked meanwhile"]) {
    it(`the 401 to a large body of ${whose} announces the end of its connection`, async () => {
      const inFlight = createRequestsInFlight();
      const uploads = createUploads({ large: bounds(600_000, 600_000, 600_000) });
      const service = await serveRoutes([holding(() => {})], { inFlight, uploads });
      const key = whose === "no key" ? "svc_live_x" : validKey;
      const client = stubborn(service.port, postHead("/v1/hold", 550_000, key) + "x".repeat(400_000), "");
      if (key === validKey) {
        // Wait until the body is being read.
        await asked(async () => isFull(uploads, 250_000), true);
        inFlight.revoke(keyId);
      }
      const told = await client.closed;
      expect(told)
        .to.match(/^HTTP\/1.1 401 /)
        .and.to.match(/\r\nConnection: close\r\n/);
      expect(told).not.to.contain("Keep-Alive");
      await service.close();
    });
  }

  it("a connection on which a small body was not read stays usable", async () => {
    const service = await serveRoutes([]);
    const request = `POST /nowhere HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10000\r\n\r\n${"x".repeat(10_000)}`;
    const last = "GET /nowhere HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    const answers = await rawExchange(service.port, request + last);
    expect(answers.match(/HTTP\/1.1 \d+/g)).to.deep.equal(["HTTP/1.1 404", "HTTP/1.1 404"]);
    await service.close();
  });

  it("an idle connection is kept longer than its Keep-Alive header says, and a proxy's for over 600 s", async () => {
    let isExempt = false;
    const sockets: Socket[] = [];
    const handler = (request: IncomingMessage, response: ServerResponse) => {
      sockets.push(request.socket);
      response.end("here");
    };
    const connections = { inAll: 4, perAddress: 4, isExempt: () => isExempt };
    const server = await listen(handler, { host: "127.0.0.1", port: 0, connections });
    for (const [exempt, leastMs] of [
      [false, 11_000],
      [true, 601_000],
    ] as const) {
      isExempt = exempt;
      const socket = connect(server.port, "127.0.0.1");
      // The second request uses the connection that the first one left idle.
      for (let n = 0; n < 2; n++) {
        socket.write("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
        const [answer] = await once(socket, "data");
        const announcedMs = Number(/\r\nKeep-Alive: timeout=(\d+)\r\n/.exec(answer)?.[1]) * 1000;
        const kept = sockets.at(-1)!;
        await asked(async () => (kept.timeout ?? 0) >= leastMs, true);
        expect(announcedMs).to.be.within(leastMs / 2, kept.timeout! - 1_000);
      }
      expect(sockets.at(-1)).to.equal(sockets.at(-2));
      socket.destroy();
    }
    await server.close();
  });

  const holding = (hold: () => Promise<void> | void) =>
    route(
      "POST /v1/hold",
      {
        scope: "read:threads",
        limit: "write",
        summary: "",
        body: Type.Object({ text: Type.String() }),
        answers: Type.Unknown(),
      },
      async () => {
        await hold();
        return "held";
      },
    );
  const bounds = (inAll: number, perWorkspace: number, perKey: number) => ({ inAll, perWorkspace, perKey });

  it("bodies over the byte limit of a key, a workspace or the server get 503 until others are finished", async () => {
    const [gate, entered] = [barrier(), barrier()];
    const held = holding(() => {
      entered.open();
      return gate.opened;
    });
    const uploads = createUploads({ small: bounds(220_000, 200_000, 150_000) });
    const service = await serveRoutes([held], { uploads });
    const hold = (bytes: number, key = validKey) =>
      service.ask("POST /v1/hold", { json: { text: "x".repeat(bytes) }, key });
    const first = hold(100_000);
    await entered.opened;
    const tooMuch = await hold(100_000);
    expect([tooMuch.status, tooMuch.json.error, tooMuch.headers.get("retry-after")]).to.deep.equal([
      503,
      "unavailable",
      "5",
    ]);
    expect(tooMuch.json.message).to.contain("this API key");
    expect((await hold(110_000, otherKey)).json.message).to.contain("this workspace");
    expect((await hold(130_000, elsewhereKey)).json.message).to.contain("too many requests");
    const small = hold(10_000, otherKey);
    const elsewhere = hold(100_000, elsewhereKey);
    gate.open();
    expect([(await first).status, (await small).status, (await elsewhere).status]).to.deep.equal([200, 200, 200]);
    expect((await hold(140_000)).status).to.equal(200);
    expect(JSON.stringify(service.logs)).not.to.contain("request handler failed");
    await service.close();
  });

  it("unfinished large bodies keep out no small ones or other workspaces, and small ones keep out no large one", async () => {
    const gate = barrier();
    let entered = 0;
    const held = holding(() => {
      entered += 1;
      return entered <= 3 ? gate.opened : undefined;
    });
    const uploads = createUploads({
      large: bounds(2_000_000, 1_000_000, 500_000),
      number: bounds(4, 2, 2),
    });
    const service = await serveRoutes([held], { uploads });
    const hold = (bytes: number, key = validKey) =>
      service.ask("POST /v1/hold", { json: { text: "x".repeat(bytes) }, key });
    const unfinished = [validKey, otherKey].map((key) =>
      stubborn(service.port, `${postHead("/v1/hold", 500_000, key)}{"text":"${"x".repeat(490_000)}`, ""),
    );
    // Wait until all bytes of both have arrived.
    const both = { key: "a third", workspace: workspaceId };
    await asked(async () => isFull(uploads, 25_000, both), true);
    expect([(await hold(300_000)).status, (await hold(300_000, otherKey)).status]).to.deep.equal([503, 503]);
    const small = [hold(10), hold(10, otherKey), hold(smallBody - 100, elsewhereKey)];
    await asked(async () => entered, 3);
    expect((await hold(10)).json.message).to.contain("this workspace");
    expect((await hold(450_000, elsewhereKey)).status).to.equal(200);
    for (const { socket } of unfinished) socket.destroy();
    await asked(async () => (await hold(300_000)).status, 200);
    gate.open();
    expect((await Promise.all(small)).map(({ status }) => status)).to.deep.equal([200, 200, 200]);
    await service.close();
  });

  it("the memory reserved for a body is released exactly once", () => {
    const uploads = createUploads({ large: bounds(1_000_000, 1_000_000, 1_000_000), number: bounds(1, 1, 1) });
    const begin = (announced?: number) => uploads.begin({ key: "k", workspace: "w" }, announced);
    for (const announced of [0, smallBody + 1]) {
      const [one, other] = [begin(announced), begin(smallBody + 1)];
      one.take(1_000);
      // The body exceeds its announced length: all its bytes now count as a large one's.
      one.take(smallBody);
      other.take(500_000);
      one.giveBack();
      one.giveBack();
      expect(() => one.take(1)).to.throw("over");
      expect(() => begin(smallBody + 1).take(500_001)).to.throw("this API key");
      const small = begin();
      small.take(1);
      expect(() => begin().take(1)).to.throw("this API key");
      for (const each of [small, other]) each.giveBack();
      const all = begin(smallBody + 1);
      all.take(1_000_000);
      all.giveBack();
    }
  });

  /** True if a large body of this sender would be refused now; it reserves nothing. */
  function isFull(uploads: Uploads, bytes: number, sender = { key: keyId, workspace: workspaceId }): boolean {
    const upload = uploads.begin(sender, smallBody + 1);
    try {
      upload.take(bytes);
      return false;
    } catch {
      return true;
    } finally {
      upload.giveBack();
    }
  }

  const slow = { headersTimeoutMs: 300, requestTimeoutMs: 300 };
  const inFlight = createRequestsInFlight();
  const ends: [string, string, { app?: Partial<AppOptions>; server?: object; act?: () => void }, RegExp][] = [
    ["is too slow as a whole", "x", { server: slow }, /^HTTP\/1.1 408 /],
    ["stops coming", "", { app: { paceMs: 100 } }, /^HTTP\/1.1 408 /],
    ["is large and trickles", "x", { app: { paceMs: 200 } }, /^HTTP\/1.1 408 /],
    ["lost its key", "x", { app: { inFlight }, act: () => inFlight.revoke(keyId) }, /^HTTP\/1.1 401 /],
  ];
  for (const [what, trickle, { app, server, act }, told] of ends) {
    it(`a connection whose body ${what} is closed and its memory released, although the client does not close it`, async () => {
      const uploads = createUploads({ large: bounds(600_000, 600_000, 600_000) });
      const service = await serveRoutes([holding(() => {})], { uploads, ...app }, server);
      const json = { text: "x".repeat(500_000) };
      const hold = async () => (await service.ask("POST /v1/hold", { json, key: otherKey })).status;
      const client = stubborn(service.port, `${postHead("/v1/hold", 550_000)}{"text":"${"x".repeat(400_000)}`, trickle);
      if (act) {
        await asked(async () => isFull(uploads, 250_000), true);
        act();
      }
      expect(await client.closed).to.match(told);
      await asked(hold, 200);
      await service.close();
    });
  }

  it("a closing server finishes its requests and accepts no more, although idle connections stay open", async () => {
    const [gate, entered] = [barrier(), barrier()];
    const service = await serveRoutes(parking(gate.opened, entered.open));
    const idle = connect(service.port, "127.0.0.1");
    await new Promise<void>((resolve) => idle.once("connect", resolve));
    const parked = service.ask("GET /v1/parked");
    await entered.opened;
    const closing = service.close(30_000);
    gate.open();
    expect((await parked).json).to.equal("done");
    await closing;
    const late = await service.ask("GET /v1/parked").catch((error) => error.cause?.code);
    expect(late).to.equal("ECONNREFUSED");
    idle.destroy();
  });

  it("a closing server cuts off requests that do not finish within its time limit", async () => {
    const entered = barrier();
    const service = await serveRoutes(parking(new Promise(() => {}), entered.open));
    const parked = service.ask("GET /v1/parked").then(
      () => "answered",
      () => "cut off",
    );
    await entered.opened;
    await service.close(100);
    expect(await parked).to.equal("cut off");
  });

  it("slow headers and slow bodies are answered 408, and other requests are still answered", async () => {
    const service = await serveRoutes(
      parking(Promise.resolve(), () => {}),
      {},
      { headersTimeoutMs: 200, requestTimeoutMs: 400 },
    );
    const slowHeaders = await rawExchange(service.port, "GET /v1/parked HTTP/1.1\r\nHost: x\r\nX-Slow: ");
    expect(slowHeaders).to.match(/^HTTP\/1.1 408 [\s\S]*"error":"invalid_request"/);
    const head = `POST /v1/take HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${validKey}\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{`;
    expect(await rawExchange(service.port, head)).to.match(/^HTTP\/1.1 408 /);
    // On a busy machine this request's headers may be slow too.
    await asked(async () => (await service.ask("GET /v1/parked")).status, 200);
    await service.close();
  });

  it("a connection with slow headers is closed, although the client keeps its end open", async () => {
    const service = await serveRoutes([], {}, { headersTimeoutMs: 200, requestTimeoutMs: 400 });
    const told = await stubborn(service.port, "GET /v1/parked HTTP/1.1\r\nHost: x\r\nX-Slow: ").closed;
    expect(told).to.match(/^HTTP\/1.1 408 /);
    await service.close();
  });

  it("a request that was answered 408 is not executed when the rest of it arrives", async () => {
    let done = 0;
    const took = holding(() => {
      done += 1;
    });
    const service = await serveRoutes([took], { paceMs: 100 });
    const body = '{"text":""}';
    const client = stubborn(service.port, postHead("/v1/hold", body.length) + body.slice(0, 3), "");
    await client.told;
    client.socket.write(body.slice(3) + postHead("/v1/hold", body.length) + body);
    expect((await client.closed).match(/HTTP\/1.1 \d+/g)).to.deep.equal(["HTTP/1.1 408"]);
    expect(done).to.equal(0);
    await service.close();
  });

  it("the refusal of a slow pipelined request is not sent in place of an earlier request's answer", async () => {
    const gate = barrier();
    const service = await serveRoutes(
      parking(gate.opened, () => {}),
      { paceMs: 100 },
    );
    const first = `GET /v1/parked HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${validKey}\r\n\r\n`;
    expect(await stubborn(service.port, `${first}${postHead("/v1/take", 100)}{`, "").closed).to.equal("");
    gate.open();
    await service.close();
  });

  it("bytes that are not valid HTTP get an error envelope, and the next request is answered", async () => {
    const service = await serveRoutes(parking(Promise.resolve(), () => {}));
    const garbage = [
      "GARBAGE\r\n\r\n",
      "GET / HTTP/9.9\r\n\r\n",
      "GET /\0 HTTP/1.1\r\n\r\n",
      "\x16\x03\x01\x02\x00\x01\r\n\r\n",
    ];
    const smuggling =
      "POST /v1/take HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n";
    for (const bytes of [...garbage, smuggling]) {
      expect(await rawExchange(service.port, bytes), JSON.stringify(bytes)).to.match(
        /^HTTP\/1.1 400 [\s\S]*X-Request-Id: [\s\S]*"error":"invalid_request"/,
      );
    }
    const large = `GET /v1/parked HTTP/1.1\r\nHost: x\r\nX-Large: ${"x".repeat(20_000)}\r\n\r\n`;
    expect(await rawExchange(service.port, large)).to.match(/^HTTP\/1.1 431 /);
    expect((await service.ask("GET /v1/parked")).status).to.equal(200);
    await service.close();
  });

  it("the server still answers after clients that disconnect at any point of a request", async () => {
    const service = await serveRoutes(parking(Promise.resolve(), () => {}));
    const head = `POST /v1/take HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${validKey}\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{`;
    for (let cut = 1; cut <= head.length; cut += 9) {
      await new Promise<void>((resolve) => {
        const socket = connect(service.port, "127.0.0.1", () => {
          socket.write(head.slice(0, cut), () => socket.resetAndDestroy());
        });
        socket.on("close", () => resolve());
        socket.on("error", () => {});
      });
    }
    expect((await service.ask("GET /v1/parked")).status).to.equal(200);
    expect(JSON.stringify(service.logs)).not.to.contain("request handler failed");
    await service.close();
  });
});
