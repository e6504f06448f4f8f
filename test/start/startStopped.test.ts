import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "chai";
import { prepareDirectories } from "#src/platform/embeddedPostgres/directories.ts";
import { readPostmaster } from "#src/platform/embeddedPostgres/postmaster.ts";
import { startSilentProxy } from "#test/eventStore/postgres/silentProxy.ts";
import { EventStoreDbStandIn } from "#test/support/eventStoreDbStandIn/standIn.ts";
import { createTestDatabase, type TestDatabase } from "#test/support/postgres.ts";
import { startService } from "#test/support/service.ts";
import { commandArguments } from "../../scripts/support/childProcess.ts";
import { freePort } from "../../scripts/support/freePort.ts";

type Line = { time?: string; msg: string; step?: string; reason?: string };

/** Ways in which a store on a loopback port fails to help. */
const stores: Record<string, (socket: Socket) => void> = {
  "accepts and never answers": () => {},
  "answers rubbish": (socket) => void socket.write("rubbish\r\n".repeat(100)),
  "cuts every connection": (socket) => void socket.destroy(),
};

describe("a stop while the service starts", () => {
  let database: TestDatabase;
  let dataDir: string;
  const servers: Server[] = [];
  const sockets = new Set<Socket>();
  before(async () => {
    database = await createTestDatabase();
    dataDir = await mkdtemp(join(tmpdir(), "countersign-stopped-"));
  });
  after(async () => {
    for (const server of servers) server.close();
    for (const socket of sockets) socket.destroy();
    await database.drop();
    await rm(dataDir, { recursive: true, force: true });
  });

  async function listen(answer: (socket: Socket) => void): Promise<number> {
    const server = createServer((socket) => {
      sockets.add(socket.on("error", () => {}).on("close", () => sockets.delete(socket)));
      answer(socket);
    });
    servers.push(server);
    await once(server.listen(0, "127.0.0.1"), "listening");
    return (server.address() as { port: number }).port;
  }

  /** Starts the service, stops it `afterMs` after it has reached the step, and returns its output and how it ended. */
  async function stoppedAt(step: string, { env, afterMs }: { env: Record<string, string>; afterMs: number }) {
    const child = spawn(process.execPath, commandArguments("start"), {
      cwd: tmpdir(),
      env: {
        PATH: process.env.PATH,
        DATA_DIR: dataDir,
        PORT: "0",
        SMTP_IN_PORT: "0",
        DNS_SERVERS: "127.0.0.1:9",
        ...env,
      },
      stdio: ["ignore", "pipe", "pipe"],
    });
    const ended = once(child, "close");
    const lines: Line[] = [];
    const reached = new Promise<void>((resolve) => {
      for (const stream of [child.stdout, child.stderr])
        createInterface(stream).on("line", (text) => {
          const line: Line = text.startsWith("{") ? JSON.parse(text) : { msg: text };
          lines.push(line);
          if (line.step === step) resolve();
        });
    });
    await Promise.race([reached, ended]);
    await Promise.race([sleep(afterMs), ended]);
    const asked = performance.now();
    child.kill("SIGTERM");
    const [code] = await ended;
    return { code, lines, tookMs: performance.now() - asked };
  }

  function expectStopped({ code, lines, tookMs }: Awaited<ReturnType<typeof stoppedAt>>): void {
    const written = lines.map((line) => JSON.stringify(line)).join("\n");
    // Lines of stdout and stderr arrive in any order.
    const last = lines.toSorted((a, b) => (a.time ?? "").localeCompare(b.time ?? "")).at(-1);
    expect(last, written).to.include({ msg: "stopped before the service was ready", reason: "SIGTERM" });
    expect(code, written).to.equal(0);
    expect(tookMs).to.be.below(5_000);
  }

  const esdb = (port: number) => ({
    DATABASE_URL: database.serviceUrl,
    DATABASE_OWNER_URL: database.ownerUrl,
    EVENT_STORE_URL: `esdb://127.0.0.1:${port}?tls=false`,
  });
  const postgres = (port: number) => ({ DATABASE_URL: `postgres://u:p@127.0.0.1:${port}/d` });

  for (const [name, answer] of Object.entries(stores)) {
    it(`a starting service stops within 5 s while PostgreSQL ${name}`, async () => {
      const env = postgres(await listen(answer));
      expectStopped(await stoppedAt("tables of the database", { env, afterMs: 500 }));
    });

    it(`a starting service stops within 5 s while EventStoreDB ${name}`, async () => {
      const env = esdb(await listen(answer));
      expectStopped(await stoppedAt("service", { env, afterMs: 1_500 }));
    });
  }

  it("a starting service stops within 5 s while nothing listens for PostgreSQL", async () => {
    const env = postgres(await freePort());
    expectStopped(await stoppedAt("tables of the database", { env, afterMs: 500 }));
  });

  it("a starting service stops within 5 s while nothing listens for EventStoreDB", async () => {
    const env = esdb(await freePort());
    expectStopped(await stoppedAt("service", { env, afterMs: 1_500 }));
  });

  for (const afterMs of [0, 200, 700])
    it(`a starting service stops within 5 s after ${afterMs} ms of its PostgreSQL's start, and leaves none running`, async () => {
      const own = join(dataDir, String(afterMs));
      const stopped = await stoppedAt("PostgreSQL", { env: { DATA_DIR: own }, afterMs });
      expectStopped(stopped);
      const place = await prepareDirectories(own);
      expect(await readPostmaster(place)).to.equal(undefined);
      await rm(place.directory, { recursive: true, maxRetries: 10 });
    });
});

describe("a stop of a service that is ready", () => {
  for (const how of ["silence", "close"] as const)
    it(`a ready service stops within its time for draining while both stores are gone (${how})`, async () => {
      const database = await createTestDatabase({ readModels: true });
      const [service, owner] = [await startSilentProxy(database.serviceUrl), await startSilentProxy(database.ownerUrl)];
      const log = await new EventStoreDbStandIn().start();
      const running = await startService({
        database: { serviceUrl: service.url, ownerUrl: owner.url },
        env: { EVENT_STORE_URL: log.url },
      });
      for (const proxy of [service, owner]) proxy[how]();
      log.stop();
      await sleep(500);
      const asked = performance.now();
      await running.kill("SIGTERM");
      expect(performance.now() - asked).to.be.below(17_000);
      expect(running.logs.map(({ msg }) => msg))
        .to.include("stopping")
        .and.include("stopped");
      await running.stop();
      for (const proxy of [service, owner]) proxy.close();
      await database.drop();
    });
});
