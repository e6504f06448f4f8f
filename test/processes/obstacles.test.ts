import { expect } from "chai";
import { obstacleCategories } from "#streams/obstacleEnds.ts";
import { sized } from "#test/support/full.ts";
import { rotated } from "#test/support/rotated.ts";
import { type End, type Obstacle, obstacles, openObstacleWorld } from "./obstacleCases.ts";
import { attemptsOf, expectSound, isHandingOver } from "./sendSoundness.ts";
import type { SendWorld } from "./sendWorld.ts";

/** Moments at which the obstacle arises: before the approval is handled, or while the draft's connection is opened. */
const moments = ["before it is approved", "while its connection is opened"] as const;
type Case = { obstacle: Obstacle; end: End; moment: (typeof moments)[number] };
/** The append or read at which an obstacle arises or ends. A crash at a read would equal one after the append before. */
type Point = { at: number; of: "append" | "reading"; when: "before" | "after"; how: "go on" | "crash" };

/** The distance between the tried appends and reads of a case; each case starts one later than the one before. */
const apart = { append: sized(2, 1), reading: sized(4, 1) };
let cases = 0;

describe("a draft behind an obstacle, approved by a setting", () => {
  for (const obstacle of obstacles)
    for (const end of obstacle.ends)
      for (const moment of moments)
        it(`a draft ends right: ${obstacle.name} ${moment}, and at any append or read, also with a crash, ${end.name}`, async () => {
          let waited = 0;
          await atEach(async (point) => {
            const { passed, hasWaited } = await endsAt(point, { obstacle, end, moment });
            if (hasWaited) waited += 1;
            return passed;
          });
          expect(waited, "cases in which it waited behind it").to.be.above(0);
        });

  for (const obstacle of obstacles)
    it(`no delivery starts from any append or read on at which ${obstacle.name}`, async () => {
      let held = 0;
      await atEach(async (point) => {
        const { passed, leftBefore } = await arisesAt(point, obstacle);
        if (passed && !leftBefore) held += 1;
        return passed;
      });
      expect(held, "points at which it was not too late").to.be.above(3);
    });
});

/** Tries each append, then each read, as long as there are more; usually with one of the ways in turn. */
async function atEach(passes: (point: Point) => Promise<boolean>): Promise<void> {
  const whens = ["before", "after"] as const;
  const ways = {
    append: whens.flatMap((when) => (["go on", "crash"] as const).map((how) => ({ when, how }))),
    reading: whens.map((when) => ({ when, how: "go on" as const })),
  };
  const first = cases++;
  for (const of of ["append", "reading"] as const) {
    for (let at = 1 + (first % apart[of]), turn = first, more = true; more; at += apart[of], turn++) {
      more = false;
      for (const way of rotated<Omit<Point, "at" | "of">>(ways[of], turn, 1))
        if (await passes({ at, of, ...way })) more = true;
      expect(at).to.be.below(400);
    }
  }
}

/** `hasWaited`: the draft was set aside behind its obstacle. `passed`: the point was reached. */
async function endsAt({ how, ...point }: Point, { obstacle, end, moment }: Case) {
  const world = await openObstacleWorld();
  let [hasArisen, hasEnded, unknown] = [false, false, false];
  const arise = async (): Promise<void> => {
    if (hasArisen) return;
    hasArisen = true;
    for (const happen of obstacle.arises) await happen(world);
  };
  const [first, ...rest] = end.happen;
  const finish = async (): Promise<void> => {
    if (hasEnded) return;
    hasEnded = true;
    await first!(world);
  };
  if (moment === moments[0]) await arise();
  else world.onConnect(arise);
  const submitter = world.createNode();
  const node = world.createNode({
    ...point,
    categories: obstacleCategories,
    async how() {
      if (hasArisen) await finish();
      // A mail that was being handed over when its instance died may have been sent, and is not sent again.
      unknown = how === "crash" && isHandingOver(world);
      return how;
    },
  });
  world.useNode(node);
  const draftId = await world.submit({ autoApproved: true }, submitter);
  const told = `${JSON.stringify(point)}, ${how}`;
  let hasWaited = false;
  for (const happen of [finish, ...rest]) {
    await world.run();
    if (!hasEnded || happen !== finish) {
      hasWaited = true;
      await expectHeld(world, draftId, told);
    }
    await happen(world);
  }
  await world.run();
  await expectEnd(world, draftId, { ...end, unknown, told });
  return { passed: hasPassed(node, point), hasWaited };
}

/** The obstacle arises at this point and ends when nothing is left to do. `leftBefore`: the start was recorded before. */
async function arisesAt({ how, ...point }: Point, obstacle: Obstacle) {
  const world = await openObstacleWorld();
  let [unknown, leftBefore] = [false, false];
  const submitter = world.createNode();
  const node = world.createNode({
    ...point,
    categories: obstacleCategories,
    async how() {
      for (const happen of obstacle.arises) await happen(world);
      unknown = how === "crash" && isHandingOver(world);
      leftBefore = world.log.all.some(({ type }) => type === "DeliveryStarted");
      return how;
    },
  });
  world.useNode(node);
  const draftId = await world.submit({ autoApproved: true }, submitter);
  await world.run();
  const told = `${JSON.stringify(point)}, ${how}`;
  const passed = hasPassed(node, point);
  if (passed && !leftBefore && !obstacle.unanswered) await expectHeld(world, draftId, told);
  for (const happen of passed ? obstacle.ends[0]!.happen : []) {
    await happen(world);
    await world.run();
  }
  await expectEnd(world, draftId, { leaves: true, unknown, told });
  return { passed, leftBefore };
}

const hasPassed = ({ faulty }: SendWorld["node"], { of, at }: Pick<Point, "of" | "at">): boolean =>
  (of === "append" ? faulty.appends : faulty.readings) >= at;

async function expectHeld(world: SendWorld, draftId: string, told: string): Promise<void> {
  expect((await world.state.draft(draftId)).status, told).to.be.oneOf(["approved", "sending"]);
  expect([attemptsOf(world, draftId).size, world.hands.length], told).to.deep.equal([0, 0]);
}

async function expectEnd(
  world: SendWorld,
  draftId: string,
  { leaves, unknown, told }: { leaves: boolean; unknown: boolean; told: string },
) {
  const { status: ended, held, failureCode } = await world.state.draft(draftId);
  if (unknown && failureCode === "unconfirmed") return expectSound(world, [draftId], ["failed"]);
  if (leaves) {
    expect(ended, told).to.equal("sent");
    return expectSound(world, [draftId], ["sent"]);
  }
  expect([attemptsOf(world, draftId).size, world.hands.length], told).to.deep.equal([0, 0]);
  if (ended === "failed") return expectSound(world, [draftId], ["failed"]);
  expect({ ended, held }, told).to.deep.equal({ ended: "approved", held: "identity_not_active" });
  expect(await world.state.quota(), told).to.equal(0);
  expect((await world.state.thread()).claims, told).to.deep.equal({});
}
