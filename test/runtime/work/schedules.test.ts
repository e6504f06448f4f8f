import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { type BackgroundDatabase, connectDatabase, inBackground } from "#src/platform/postgres/database.ts";
import { takeLeases } from "#src/runtime/projections/leases.ts";
import type { Completion } from "#src/runtime/work/completion.ts";
import { recordCompletions } from "#src/runtime/work/completions.ts";
import { type Item, isEventItem } from "#src/runtime/work/items.ts";
import type { LaneClaim } from "#src/runtime/work/lane.ts";
import { type ClaimedLane, claimLanes, extendClaims, makeDueLanesReady } from "#src/runtime/work/lanes.ts";
import { PlanMoved, writePlan } from "#src/runtime/work/plan.ts";
import { markForRetry, retryEveryMs, wakeLanesOfEndedObstacles } from "#src/runtime/work/setAside.ts";
import type { Recorded } from "#streams/event.ts";
import { createRandom } from "../../../scripts/support/random.ts";
import { inFull } from "../../support/full.ts";
import { createTestDatabase, type TestDatabase } from "../../support/postgres.ts";

/** A claim in the hand of a worker, as it believes, and what of it is not done yet. */
type Hand = { lane: LaneClaim; items: Item[]; worker: string };

const nobodyNew = { began: new Map(), ended: [] };
const processes = ["send", "tell"];
const keys = ["a", "b", "c"];
const steps = inFull ? 1_500 : 250;
const seeds = inFull ? 12 : 4;

/**
 * The work table under random schedules: planning, claims, endings, failures, obstacles, timers, crashes and expiring claims, in any order,
 * with the real statements. A model beside it knows the required results.
 */
describe("the work table under random schedules", function () {
  this.timeout(600_000);
  let test: TestDatabase;
  let database: BackgroundDatabase;
  beforeEach(async () => {
    test = await createTestDatabase();
    database = inBackground(connectDatabase(test));
  });
  afterEach(async () => {
    await database.close();
    await test.drop();
  });

  for (let seed = 1; seed <= seeds; seed++) {
    it(`no schedule forgets a lane, lets two hold one, or breaks the order of a key (seed ${seed})`, async () => {
      await createSchedule(database, seed).run();
    });
  }
});

function createSchedule(database: BackgroundDatabase, seed: number) {
  const { below, pick, chance } = createRandom(seed);
  const int = (from: number, to: number): number => from + below(to - from + 1);
  let ms = Date.parse("2026-01-01T00:00:00Z");
  const now = () => new Date(ms);
  let position = 0;
  let planned = 0;
  const log: Recorded[] = [];
  /** Streams in the way, with the revisions of their newest events; closed ones let nothing pass. */
  const obstacles = new Map([1, 2].map((n) => [`workspace-${n}`, { revision: 0, closed: true }]));
  const hands: Hand[] = [];
  /** Items done, by process and key, in the order in which the table recorded them. */
  const done = new Map<string, number[]>();
  const timersSet = new Set<string>();
  const timersDone = new Map<string, number>();
  let lease: { name: string; epoch: number } | undefined;
  let planner = "";

  const laneOf = (process: string, key: string) => `${process}/${key}`;

  async function electPlanner(): Promise<void> {
    planner = randomUUID();
    await database.query("update work.leases set expires_at = '-infinity' where name = 'planning'");
    [lease] = await takeLeases(database, ["planning"], { holder: planner, lastsMs: 3_000_000 });
    for (const name of processes)
      await database.query("insert into work.processes (name, planned) values ($1, 0) on conflict do nothing", [name]);
  }

  function happen(stream: string, revision: number): void {
    position += int(1, 3);
    log.push({
      ...{ type: "Happened", data: {}, id: randomUUID(), schemaVersion: 1, stream, revision, position },
      metadata: {
        workspaceId: stream,
        actor: { kind: "system", id: "t" },
        correlationId: "c",
        causationId: "c",
        at: "",
      },
    });
  }

  /** Plans the next stretch; `dies`: in the middle of it, so that nothing of it may stay. */
  async function plan({ dies = false, by = planner } = {}): Promise<boolean> {
    const events = log.filter((event) => event.position > planned).slice(0, int(1, 6));
    const last = events.at(-1);
    if (!last || !lease) return false;
    const work = events
      .filter(({ stream }) => stream.startsWith("toy-"))
      .flatMap((event) => processes.map((process) => ({ process, key: event.stream.slice("toy-".length), event })));
    const ended = new Map(
      events.filter(({ stream }) => obstacles.has(stream)).map(({ stream, revision }) => [stream, revision]),
    );
    const from = new Map(processes.map((name) => [name, planned]));
    try {
      await database.transaction(async (tx) => {
        await writePlan(
          { ...tx, transaction: (work) => work(tx) },
          { planned: work, from, position: last.position, ended, listeners: nobodyNew },
          { lease: lease!, holder: by },
        );
        if (dies) throw new Error("killed");
      });
      planned = last.position;
      return true;
    } catch (error) {
      if (!(error instanceof PlanMoved) && (error as Error).message !== "killed") throw error;
      return false;
    }
  }

  /** A worker that claimed the lane earlier no longer holds it, even if that worker has not noticed. */
  async function hold({ lane, items }: ClaimedLane, worker: string): Promise<void> {
    const holders = hands.filter((hand) => laneOf(hand.lane.process, hand.lane.key) === laneOf(lane.process, lane.key));
    for (const { lane: held } of holders)
      expect(await extendClaims(database, [held]), "two hold one lane").to.deep.equal(new Set());
    hands.push({ lane, items, worker });
  }

  async function claim(worker: string): Promise<void> {
    const rooms = processes.map((process) => ({ process, lanes: int(1, 2), share: 2, atWork: {} }));
    for (const each of await claimLanes(database, { rooms, holder: worker, now: now() })) await hold(each, worker);
  }

  /** Runs one step of a worker with a claimed lane: an item is done, failed or set aside, or the lane is released. */
  async function work(hand: Hand): Promise<void> {
    const { lane } = hand;
    const item = hand.items.shift();
    if (!item) return end(hand, { lane, next: { how: "go on" } });
    const blocking = [...obstacles].find(([stream], n) => obstacles.get(stream)!.closed && lane.key === keys[n]);
    if (blocking && lane.process === "send" && isEventItem(item)) {
      // The revision that the handler saw may be outdated when it answers.
      const revision = blocking[1].revision;
      if (chance(0.3)) toggle(blocking[0], false);
      if (chance(0.3)) await plan();
      return end(hand, { lane, next: { how: "set aside", obstacles: [{ stream: blocking[0], revision }] } });
    }
    if (chance(0.15)) {
      const failed = { id: item.id, tries: item.tries + 1, failures: item.failures + 1 };
      return end(hand, { lane, failed, next: { how: "retry", at: new Date(ms + int(1, 50)) } });
    }
    const timer = chance(0.1)
      ? { key: pick(keys), name: `t${int(1, 9)}`, dueAt: new Date(ms + int(0, 100)), payload: {} }
      : undefined;
    const ending = { lane, done: item.id, ...(timer && { timers: [{ set: timer }] }) };
    const { held } = await recordCompletions(database, [ending], now());
    if (!held.has(lane.claim)) return drop(hand);
    if (timer) timersSet.add(`${laneOf(lane.process, timer.key)}/${timer.name}`);
    const name = laneOf(lane.process, lane.key);
    if (isEventItem(item)) done.set(name, [...(done.get(name) ?? []), item.position]);
    else timersDone.set(`${name}/${item.timer.name}`, ms);
  }

  async function end(hand: Hand, ending: Completion): Promise<void> {
    await recordCompletions(database, [ending], now());
    drop(hand);
  }

  const drop = (hand: Hand): void => void hands.splice(hands.indexOf(hand), 1);

  function toggle(stream: string, closed: boolean): void {
    const obstacle = obstacles.get(stream)!;
    obstacle.closed = closed;
    obstacle.revision += 1;
    happen(stream, obstacle.revision);
  }

  /** The claims of one worker run out while it sleeps; it may wake and go on with them, and is refused. */
  async function fallAsleep(worker: string): Promise<void> {
    await database.query("update work.lanes set claimed_until = '-infinity' where holder = $1", [worker]);
    if (chance(0.5)) for (const hand of hands.filter((each) => each.worker === worker)) drop(hand);
  }

  const revisions = new Map<string, number>();
  async function step(): Promise<void> {
    const what = int(1, 12);
    if (what <= 3) {
      const key = pick(keys);
      const revision = (revisions.get(key) ?? -1) + 1;
      revisions.set(key, revision);
      happen(`toy-${key}`, revision);
    } else if (what === 4) await plan({ dies: chance(0.2) });
    else if (what === 5) {
      const old = planner;
      if (chance(0.2)) {
        await electPlanner();
        expect(await plan({ by: old }), "a planner of before plans").to.equal(false);
      } else await plan();
    } else if (what === 6) await claim(`w${int(1, 3)}`);
    else if (what <= 9 && hands.length > 0) await work(pick(hands));
    else if (what === 10) {
      ms += int(0, 60);
      await makeDueLanesReady(database, { now: now(), takesOver: true });
      if (chance(0.5)) await wakeLanesOfEndedObstacles(database);
      if (chance(0.2)) {
        ms += retryEveryMs;
        await markForRetry(database, now());
      }
    } else if (what === 11) toggle(pick([...obstacles.keys()]), chance(0.5));
    else if (what === 12 && chance(0.3)) await fallAsleep(chance(0.3) ? planner : `w${int(1, 3)}`);
  }

  /** Ends all obstacles, and expects that every item is then handled. */
  async function settle(): Promise<void> {
    // Ended by events or not: in the second case the periodic retries of lanes have to find out.
    const told = chance(0.5);
    for (const [stream, obstacle] of obstacles) {
      if (told) toggle(stream, false);
      else obstacle.closed = false;
    }
    hands.splice(0);
    await database.query("update work.lanes set claimed_until = '-infinity' where state = 'claimed'");
    while (log.some((event) => event.position > planned)) await plan();
    for (let rounds = 0; ; rounds++) {
      // The rounds together take less than the ten minutes after which a lane that is set aside is tried anyway.
      ms += told || rounds % 20 > 0 ? 200 : retryEveryMs;
      await markForRetry(database, now());
      await wakeLanesOfEndedObstacles(database);
      await makeDueLanesReady(database, { now: now(), takesOver: true });
      await claim("w1");
      while (hands.length > 0) await work(hands[0]!);
      const { rows } = await database.query<{ left: number }>("select count(*) as left from work.lanes");
      if (rows[0]!.left === 0) break;
      expect(
        rounds,
        `a lane was forgotten: ${JSON.stringify((await database.query("select * from work.lanes")).rows)}`,
      ).to.be.below(500);
    }
  }

  return {
    async run(): Promise<void> {
      await electPlanner();
      for (let n = 0; n < steps; n++) await step();
      await settle();
      expect((await database.query("select 1 from work.items")).rows).to.deep.equal([]);
      for (const process of processes) {
        for (const key of keys) {
          const happened = log.filter(({ stream }) => stream === `toy-${key}`).map((event) => event.position);
          expect(done.get(laneOf(process, key)) ?? [], laneOf(process, key)).to.deep.equal(happened);
        }
      }
      for (const timer of timersSet) expect([...timersDone.keys()]).to.include(timer);
    },
  };
}
