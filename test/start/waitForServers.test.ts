import { expect } from "chai";
import { Unavailable } from "#src/eventStore/eventStore.ts";
import { prepareDatabase } from "#src/platform/postgres/prepare.ts";
import { StartError } from "#src/platform/startError.ts";
import { waitForServers } from "#src/start/waitForServers.ts";
import { createTestDatabase } from "#test/support/postgres.ts";
import { quietLog } from "../runtime/projections/support.ts";

describe("a start while servers are away", () => {
  let nowMs = 0;
  const made = (ending = new AbortController()) => {
    const log = quietLog();
    const waits: number[] = [];
    const backoff = (failures: number): number => {
      waits.push(failures);
      nowMs += 1_000;
      return 0;
    };
    const patiently = waitForServers({ log, ending: ending.signal }, { now: () => nowMs, backoff });
    return { patiently, said: log.said, waits, ending };
  };
  const failing = (times: number, error: Error) => {
    let tries = 0;
    const step = async (): Promise<number> => {
      if (++tries <= times) throw error;
      return tries;
    };
    return { step, tries: () => tries };
  };
  const away = new Unavailable("PostgreSQL: Connection terminated due to connection timeout");

  it("a start retries until its servers are there, and logs it once", async () => {
    const { patiently, said } = made();
    expect(await patiently(failing(2, away).step)).to.equal(3);
    expect(await patiently(failing(1, new StartError("it cannot be reached", { cause: away })).step)).to.equal(2);
    expect(said.map(({ message }) => message)).to.deep.equal(["cannot start yet, retrying"]);
  });

  it("a start fails with the last error after 30 s in all, however many steps there are", async () => {
    const { patiently, waits } = made();
    await patiently(failing(20, away).step);
    const failed = await patiently(failing(100, away).step).catch((error) => error);
    expect(failed).to.equal(away);
    expect(waits).to.have.length(30);
  });

  it("a start ends when it is told to stop, also while it waits", async () => {
    const { ending } = made();
    const { step, tries } = failing(100, away);
    const patiently = waitForServers({ log: quietLog(), ending: ending.signal }, { backoff: () => 3_600_000 });
    const waiting = patiently(step).catch((error) => error);
    await new Promise((resolve) => setImmediate(resolve));
    ending.abort();
    expect(await waiting).to.equal(away);
    expect(tries()).to.equal(2);
  });

  it("a start does not wait longer than its time or its stop for a step that does not answer", async () => {
    const ending = new AbortController();
    const [log, backoff] = [quietLog(), () => 0];
    const silent = () => new Promise<never>(() => {});
    const once = waitForServers({ log, ending: ending.signal }, { backoff, forMs: 50 });
    let tries = 0;
    const failed = await once(async () => (tries++ === 0 ? Promise.reject(away) : silent())).catch((error) => error);
    expect(failed).to.equal(away);
    const waiting = waitForServers({ log, ending: ending.signal }, { backoff })(silent).catch((error) => error);
    ending.abort();
    expect(await waiting).to.have.property("message", "the start was abandoned");
  });

  it("a start fails at once if waiting is useless: a fault, a wrong password, a missing database", async () => {
    const { patiently, said } = made();
    for (const error of [new Error("ours"), new StartError("it is too old")]) {
      const { step, tries } = failing(1, error);
      expect(await patiently(step).catch((thrown) => thrown)).to.equal(error);
      expect(tries()).to.equal(1);
    }
    const server = await createTestDatabase();
    const role = new URL(server.serviceUrl);
    role.username = "nobody_of_that_name";
    const database = new URL(server.serviceUrl);
    database.pathname = "/no_such_database";
    for (const { href } of [role, database]) {
      const failed = await patiently(() => prepareDatabase({ serviceUrl: href, ownerUrl: href })).catch(
        (thrown) => thrown,
      );
      expect(failed).to.be.instanceOf(StartError);
      expect(failed.message).to.include("refuses the connection");
    }
    await server.drop();
    expect(said).to.deep.equal([]);
  });

  it("a start waits for a PostgreSQL that does not listen yet", async () => {
    const { patiently, said } = made();
    const nobody = "postgres://u:hunter2@127.0.0.1:1/d";
    const server = await createTestDatabase();
    let tries = 0;
    const step = () => prepareDatabase(tries++ === 0 ? { serviceUrl: nobody, ownerUrl: nobody } : server);
    expect(await patiently(step)).to.have.property("oneRole", false);
    await server.drop();
    expect(JSON.stringify(said)).to.include("127.0.0.1:1").and.not.to.include("hunter2");
  });
});
