import { expect } from "chai";
import { pino } from "pino";
import { compose } from "#src/compose.ts";
import { type Clock, systemClock } from "#src/platform/clock.ts";
import { createSharedClock } from "#src/platform/postgres/sharedClock.ts";
import { loadConfig } from "#src/settings/config.ts";
import { adjustableClock } from "#test/support/adjustableClock.ts";
import { createTestDatabase } from "#test/support/postgres.ts";
import { settingsOn } from "#test/support/settings.ts";
import { eventually, quietLog } from "../../runtime/projections/support.ts";

/** This machine's clock, and a server whose clock is `aheadMs` ahead and whose round trip takes the given time. */
function machineAndServer() {
  let atMs = Date.parse("2026-01-01T00:00:00Z");
  let ticks = 0;
  const pass = (ms: number): void => {
    atMs += ms;
    ticks += ms;
  };
  const own: Clock = { now: () => new Date(atMs), monotonic: () => ticks };
  const server = { aheadMs: 0, thereMs: 0, backMs: 0, away: false, asked: 0 };
  const sql = {
    async query<Row>() {
      server.asked += 1;
      if (server.away) throw new Error("away");
      pass(server.thereMs);
      const now = new Date(atMs + server.aheadMs);
      pass(server.backMs);
      return { rows: [{ now } as Row], rowCount: 1 };
    },
  };
  return { own, sql, server, step: (ms: number) => (atMs += ms), nowMs: () => atMs };
}

describe("the clock that instances share", () => {
  it("the shared clock is the machine's, corrected to the middle of what the database's answer allows", async () => {
    const { own, sql, server, nowMs } = machineAndServer();
    Object.assign(server, { aheadMs: 300_000, thereMs: 10, backMs: 30 });
    const log = quietLog();
    const clock = createSharedClock({ own, sql, log });
    expect(clock.now().getTime() - nowMs()).to.equal(0);
    await clock.start();
    clock.stop();
    expect(clock.now().getTime() - nowMs()).to.equal(300_000 + 10 - 20);
    expect(log.said.map(({ details }) => details)).to.deep.equal([{ offsetMs: 299_990 }]);
  });

  it("the shared clock ignores slow answers that fit, and follows a step of either clock", async () => {
    const { own, sql, server, step, nowMs } = machineAndServer();
    const log = quietLog();
    const clock = createSharedClock({ own, sql, log, everyMs: 1 });
    const measured = () => {
      const before = server.asked;
      return eventually(() => server.asked > before + 1);
    };
    server.away = true;
    await clock.start();
    Object.assign(server, { away: false, thereMs: 900, backMs: 0 });
    await measured();
    expect(clock.now().getTime() - nowMs()).to.equal(0);
    Object.assign(server, { thereMs: 0 });
    step(-60_000);
    server.aheadMs += 60_000;
    await measured();
    expect(clock.now().getTime() - nowMs()).to.equal(60_000);
    clock.stop();
    expect(log.said.map(({ message }) => message).slice(0, 2)).to.deep.equal([
      "cannot compare this machine's clock with PostgreSQL's, retrying",
      "this machine's clock is not PostgreSQL's, whose time counts",
    ]);
  });

  it("the service uses the shared clock, unless a test drives its own", async () => {
    const test = await createTestDatabase();
    const { now } = systemClock;
    systemClock.now = () => new Date(now().getTime() - 300_000);
    try {
      const config = loadConfig(settingsOn(test));
      const driven = adjustableClock();
      const logger = pino({ level: "silent" });
      for (const { more, behindMs } of [
        { more: {}, behindMs: 0 },
        { more: { clock: driven }, behindMs: 300_000 },
      ]) {
        const composition = compose(config, test, { logger, ...more });
        await composition.startClock();
        expect(now().getTime() - composition.deps.clock.now().getTime()).to.be.closeTo(behindMs, 200);
        await composition.close();
      }
    } finally {
      systemClock.now = now;
      await test.drop();
    }
  });
});
