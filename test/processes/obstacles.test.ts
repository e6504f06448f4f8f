import { generateKeyPairSync } from "node:crypto";
import { expect } from "chai";
import { pauseInstallation, resumeInstallation } from "#src/commands/installation.ts";
import { domainRecords } from "#streams/domain/events.ts";
import { identityCreated } from "#test/support/examples/index.ts";
import { rotated } from "#test/support/rotated.ts";
import { attemptsOf, expectSound, isHandingOver } from "./sendChecks.ts";
import {
  beginningOf,
  cause,
  createSendWorld,
  identityId,
  openSendWorld,
  type SendWorld,
  workspaceId,
} from "./sendWorld.ts";

/** Each event comes once: what a handler leaves undone nobody makes up for. Who meets a claim that was cut off waits for it, 200 ms with each look at the clock. */
const options = { deliveries: 1, tickMs: 200 };
const otherId = "33333333-3333-7333-8333-333333333333";
const { domainId } = identityCreated();

type Change = (world: SendWorld) => Promise<unknown>;
/** `ends`: what ends it, one after the other. `leaves`: whether the draft does then. */
type Obstacle = { name: string; arises: Change[]; ends: { name: string; happen: Change[]; leaves: boolean }[] };

const pauseAll: Change = (world) => pauseInstallation(world.elsewhere(), null, cause);
const resumeAll: Change = (world) => resumeInstallation(world.elsewhere(), null, cause);
const sendingPaused =
  (paused: boolean): Change =>
  (world) =>
    world.elsewhere().workspaces.handle(workspaceId, { type: "UpdateWorkspace", sendingPaused: paused }, cause);
const status =
  (is: "active" | "disabled"): Change =>
  (world) =>
    world.changeIdentity({ status: is });
const deleted =
  (id: string): Change =>
  (world) =>
    world.elsewhere().identities.handle(id, { type: "DeleteIdentity", mayLoosen: false }, cause);
const uncapped =
  (betaOverride: boolean): Change =>
  (world) =>
    world.elsewhere().workspaces.handle(workspaceId, { type: "SetPlan", betaOverride }, cause);
const checked =
  (found: "verified" | "failed"): Change =>
  async (world) => {
    const { domains } = world.elsewhere();
    const { attempts } = (await domains.load(domainId)).state;
    const records = Object.fromEntries(domainRecords.map((record) => [record, { status: found, reason: null }]));
    const check = { attempt: attempts + 1, at: world.clock.now().toISOString(), records, heldBack: null } as never;
    await domains.handle(domainId, { type: "RecordCheck", check }, cause);
  };
const resumed = { name: "it is resumed", happen: [resumeAll], leaves: true };
const gone = { name: "the identity is deleted", happen: [deleted(identityId)], leaves: false };

const obstacles: Obstacle[] = [
  { name: "the installation is paused", arises: [pauseAll], ends: [resumed] },
  {
    name: "the workspace has paused sending",
    arises: [sendingPaused(true)],
    ends: [{ name: "it goes on", happen: [sendingPaused(false)], leaves: true }, gone],
  },
  {
    name: "the identity is disabled",
    arises: [status("disabled")],
    ends: [{ name: "it is enabled", happen: [status("active")], leaves: true }, gone],
  },
  {
    name: "the identity's domain is verified no more",
    arises: [checked("failed"), checked("failed"), checked("failed")],
    ends: [{ name: "it is verified again", happen: [checked("verified")], leaves: true }, gone],
  },
  {
    name: "the plan allows fewer identities",
    arises: [uncapped(false)],
    ends: [
      { name: "the older one is deleted", happen: [deleted(otherId)], leaves: true },
      { name: "it allows more", happen: [uncapped(true)], leaves: true },
      gone,
    ],
  },
  {
    name: "the workspace has paused sending and the identity is disabled",
    arises: [sendingPaused(true), status("disabled")],
    ends: [
      { name: "it goes on, then it is enabled", happen: [sendingPaused(false), status("active")], leaves: true },
      { name: "it is enabled, then it goes on", happen: [status("active"), sendingPaused(false)], leaves: true },
    ],
  },
];

/** A workspace with two identities, of which the one that sends came later; its domain is verified, and its plan has no limit so far. */
const start = async (): Promise<SendWorld> =>
  openSendWorld(
    options,
    await beginningOf("behind obstacles", async () => {
      const world = await createSendWorld(options);
      const services = world.elsewhere();
      const other = identityCreated({ workspaceId, localPart: "other", emailAddress: "other@agents.localhost" });
      await services.identities.handle(otherId, { type: "CreateIdentity", identity: other }, cause);
      for (const [n, holderId] of [otherId, identityId].entries()) {
        const takenAt = new Date(Date.UTC(2026, 0, 1 + n)).toISOString();
        const take = { type: "TakeSlot", holderId, takenAt, cap: null, vacated: [] } as const;
        await services.slots.handle({ workspaceId, kind: "identities" }, take, cause);
      }
      const { publicKey, privateKey } = generateKeyPairSync("rsa", { modulusLength: 1024 });
      const domain = {
        ...{ workspaceId, name: "agents.localhost", subdomain: null, mailDomain: "agents.localhost" },
        ...{ token: "token", sendingToken: "token", selector: "s1" },
        publicKey: publicKey.export({ type: "spki", format: "der" }).toString("base64"),
        privateKey: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
      };
      await services.domains.handle(domainId, { type: "AddDomain", domain, at: "2026-01-01T00:00:00.000Z" }, cause);
      await checked("verified")(world);
      await uncapped(true)(world);
      await world.drain();
      return world;
    }),
  );

/** When the obstacle arises: before anybody approves, which sendApproved meets; or while the connection is opened that the draft is to leave by. */
const moments = ["before it is approved", "while its connection is opened"] as const;
type Moment = (typeof moments)[number];
type Case = { obstacle: Obstacle; end: Obstacle["ends"][number]; moment: Moment };
type Point = { at: number; when: "before" | "after"; how: "go on" | "crash" };

describe("a draft behind an obstacle", () => {
  for (const obstacle of obstacles)
    for (const end of obstacle.ends)
      for (const moment of moments)
        it(`comes to its end: ${obstacle.name} ${moment}, and at any append, with a crash there and without, ${end.name}`, async () => {
          let metObstacle = 0;
          for (let at = 1, more = true; more; at++) {
            more = false;
            for (const point of pointsOf(at)) {
              const { met, passed } = await endsAt(point, { obstacle, end, moment });
              more ||= passed;
              if (met) metObstacle += 1;
            }
            expect(at).to.be.below(60);
          }
          expect(metObstacle, "cases in which it was set aside or judged").to.be.above(0);
        });
});

/** All four in full; one of them by turns otherwise. */
function pointsOf(at: number): Point[] {
  const all = (["before", "after"] as const).flatMap((when) =>
    (["go on", "crash"] as const).map((how) => ({ at, when, how })),
  );
  return rotated(all, at, 1);
}

/** `met`: the obstacle stood when its end came. `passed`: there was such an append. */
async function endsAt({ at, when, how }: Point, { obstacle, end, moment }: Case) {
  const world = await start();
  const draftId = await world.submit();
  let [hasArisen, met, unknown] = [false, false, false];
  const arise = async (): Promise<void> => {
    if (hasArisen) return;
    hasArisen = true;
    for (const happen of obstacle.arises) await happen(world);
  };
  const [first, ...rest] = end.happen;
  let hasEnded = false;
  const finish = async (): Promise<void> => {
    if (hasEnded) return;
    hasEnded = true;
    await first!(world);
  };
  if (moment === moments[0]) await arise();
  else world.onConnect(arise);
  const approver = world.createNode();
  const node = world.createNode({
    ...{ at, when },
    async how() {
      met = hasArisen;
      if (hasArisen) await finish();
      // What was handed over when its instance died is not known to have left, and is not sent again.
      unknown = how === "crash" && isHandingOver(world);
      return how;
    },
  });
  world.useNode(node);
  await world.approve(draftId, approver);
  for (const happen of [finish, ...rest]) {
    await world.run();
    await happen(world);
  }
  await world.run();
  await expectEnd(world, draftId, { ...end, unknown, told: `${when} append ${at}, ${how}` });
  return { met, passed: node.faulty.appends >= at };
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
  // It may have left before the identity was deleted.
  if (ended === "sent") return expectSound(world, [draftId], ["sent"]);
  if (ended === "failed") return expectSound(world, [draftId], ["failed"]);
  expect({ ended, held }, told).to.deep.equal({ ended: "approved", held: "identity_not_active" });
  expect(attemptsOf(world, draftId).size, told).to.equal(0);
  expect(world.hands, told).to.deep.equal([]);
  expect(await world.state.quota(), told).to.equal(0);
  expect((await world.state.thread()).claims, told).to.deep.equal({});
}
