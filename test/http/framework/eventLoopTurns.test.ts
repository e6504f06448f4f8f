import { setImmediate as nextTurn } from "node:timers/promises";
import { expect } from "chai";
import Type from "typebox";
import { createEventLoopTurns } from "#src/http/framework/eventLoopTurns.ts";
import { route } from "#src/http/framework/route.ts";
import { authenticate, barrier, postHead, serveRoutes, stubborn } from "./support.ts";

describe("simultaneous work in turns", () => {
  it("a little simultaneous work is done at once, more of it in order over turns of the event loop", async () => {
    const inTurn = createEventLoopTurns(2);
    const done: number[] = [];
    for (let n = 0; n < 5; n++) inTurn(() => done.push(n));
    const seen = [done.length];
    while (done.length < 5) {
      await nextTurn();
      inTurn(() => {});
      seen.push(done.length);
    }
    expect(done).to.deep.equal([0, 1, 2, 3, 4]);
    expect(seen[0]).to.equal(2);
    expect(Math.max(...seen.slice(1).map((now, n) => now - seen[n]!))).to.be.within(1, 2);
    for (let n = 0; n < 4; n++) await nextTurn();
    inTurn(() => done.push(5));
    expect(done.at(-1)).to.equal(5);
  });

  it("work that throws does not stop the work queued behind it", async () => {
    const works: string[] = [];
    const thrown: unknown[] = [];
    const others = process.listeners("uncaughtException");
    process.removeAllListeners("uncaughtException");
    process.on("uncaughtException", (error) => thrown.push(error));
    try {
      const inTurn = createEventLoopTurns(2);
      for (const name of ["one", "two"]) inTurn(() => works.push(name));
      inTurn(() => {
        throw new Error("three");
      });
      for (const name of ["four", "five", "six"]) inTurn(() => works.push(name));
      for (let n = 0; n < 6; n++) await nextTurn();
      expect(works).to.deep.equal(["one", "two", "four", "five", "six"]);
      expect(thrown.map(String)).to.deep.equal(["Error: three"]);
    } finally {
      process.removeAllListeners("uncaughtException");
      for (const other of others) process.on("uncaughtException", other);
    }
  });

  it("60 simultaneous requests are all answered, and 60 whose clients disconnect are all logged as 499", async () => {
    const count = 60;
    const body = Type.Object({ text: Type.String() });
    const take = route(
      "POST /v1/take",
      { scope: "read:threads", limit: "write", summary: "", body, answers: Type.Unknown() },
      async () => "taken",
    );
    const [logged, begun] = [barrier(), barrier()];
    let authenticated = 0;
    const service = await serveRoutes([take], {
      authenticate: async (request) => {
        authenticated += 1;
        if (authenticated === 2 * count) begun.open();
        return authenticate(request);
      },
    });
    const json = { text: "x" };
    const answers = await Promise.all(Array.from({ length: count }, () => service.ask("POST /v1/take", { json })));
    expect(answers.filter(({ status }) => status === 200)).to.have.length(count);
    const statuses = () => service.logs.flatMap(({ res }) => (res as { statusCode: number })?.statusCode ?? []);
    const looking = setInterval(() => {
      if (statuses().filter((status) => status === 499).length === count) logged.open();
    }, 20);
    const clients = Array.from({ length: count }, () => stubborn(service.port, `${postHead("/v1/take", 100)}{`, ""));
    await begun.opened;
    for (const { socket } of clients) socket.destroy();
    await logged.opened;
    clearInterval(looking);
    expect(statuses()).to.have.length(2 * count);
    await service.close();
  });
});
