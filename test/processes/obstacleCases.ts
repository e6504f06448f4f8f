import { generateKeyPairSync } from "node:crypto";
import { pauseInstallation, resumeInstallation } from "#src/commands/installation.ts";
import { domainRecords } from "#streams/domain/events.ts";
import { identityCreated } from "#test/support/examples/index.ts";
import {
  beginningOf,
  cause,
  createSendWorld,
  identityId,
  openSendWorld,
  type SendWorld,
  workspaceId,
} from "./sendWorld.ts";

/** Each event is delivered once. A send that meets an interrupted claim waits for it, 200 ms at each reading of the clock. */
const options = { deliveries: 1, tickMs: 200 };
const otherId = "33333333-3333-7333-8333-333333333333";
const otherDomainId = "44444444-4444-7444-8444-444444444444";
const { domainId } = identityCreated();

export type Change = (world: SendWorld) => Promise<unknown>;
/** `happen`: the changes, one after the other. `leaves`: true if the draft is sent then. */
export type End = { name: string; happen: Change[]; leaves: boolean };
/** `unanswered`: no caller was told of it, so a send that is about to start at that moment may still be made. */
export type Obstacle = { name: string; arises: Change[]; ends: End[]; unanswered?: true };

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
    // Failing checks count if there are hours between them.
    const at = new Date(world.clock.now().getTime() + attempts * 7 * 3_600_000).toISOString();
    const check = { attempt: attempts + 1, at, records, heldBack: null } as never;
    await domains.handle(domainId, { type: "RecordCheck", check }, cause);
  };
const takeSlot =
  (kind: "identities" | "domains", holderId: string, takenAt: string): Change =>
  (world) =>
    world
      .elsewhere()
      .slots.handle({ workspaceId, kind }, { type: "TakeSlot", holderId, takenAt, cap: null, vacated: [] }, cause);
const keys = generateKeyPairSync("rsa", { modulusLength: 512 });
const addDomain =
  (id: string, name: string): Change =>
  (world) => {
    const domain = {
      ...{
        workspaceId,
        name,
        subdomain: null,
        mailDomain: name,
        token: "token",
        sendingToken: "token",
        selector: "s1",
      },
      publicKey: keys.publicKey.export({ type: "spki", format: "der" }).toString("base64"),
      privateKey: keys.privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
    };
    return world.elsewhere().domains.handle(id, { type: "AddDomain", domain, at: "2026-01-01T00:00:00.000Z" }, cause);
  };
const deleteDomain: Change = (world) =>
  world
    .elsewhere()
    .domains.handle(otherDomainId, { type: "DeleteDomain", gone: [], at: "2026-01-02T00:00:00.000Z" }, cause);

const gone: End = { name: "the identity is deleted", happen: [deleted(identityId)], leaves: false };
const roomAgain: End = { name: "it allows more", happen: [uncapped(true)], leaves: true };

/** Single obstacles; the first of the ends reverses the obstacle. */
const single: readonly Obstacle[] = [
  {
    name: "the installation is paused",
    arises: [pauseAll],
    ends: [{ name: "it is resumed", happen: [resumeAll], leaves: true }, gone],
  },
  {
    name: "the workspace has paused sending",
    arises: [sendingPaused(true)],
    ends: [{ name: "it is resumed", happen: [sendingPaused(false)], leaves: true }, gone],
  },
  {
    name: "the identity is disabled",
    arises: [status("disabled")],
    ends: [{ name: "it is enabled", happen: [status("active")], leaves: true }, gone],
  },
  {
    name: "the plan allows fewer identities",
    arises: [uncapped(false)],
    ends: [roomAgain, { name: "the older one is deleted", happen: [deleted(otherId)], leaves: true }, gone],
  },
  {
    name: "the identity's domain is no longer verified",
    unanswered: true,
    arises: [checked("failed"), checked("failed"), checked("failed")],
    ends: [{ name: "it is verified again", happen: [checked("verified")], leaves: true }, gone],
  },
];

const fewerDomains: Obstacle = {
  name: "the plan allows fewer domains",
  arises: [
    deleted(otherId),
    addDomain(otherDomainId, "older.example"),
    takeSlot("domains", otherDomainId, "2025-01-01T00:00:00.000Z"),
    uncapped(false),
  ],
  ends: [roomAgain, { name: "the older one is deleted", happen: [deleteDomain], leaves: true }, gone],
};

/** Combines obstacles, which end one by one: in their order, then in reverse. */
function together(name: string, those: readonly Obstacle[]): Obstacle {
  const ends = those.map(({ ends }) => ends[0]!.happen[0]!);
  return {
    name,
    arises: those.flatMap(({ arises }) => arises),
    ends: [
      { name: "they end one by one", happen: ends, leaves: true },
      { name: "they end one by one, the last one first", happen: ends.toReversed(), leaves: true },
    ],
  };
}

export const obstacles: readonly Obstacle[] = [
  ...single,
  fewerDomains,
  together("all of these obstacles exist", single),
];

/** A workspace with two identities. The newer one sends; its domain is verified, and the plan has no limit yet. */
export const openObstacleWorld = async (): Promise<SendWorld> =>
  openSendWorld(
    options,
    await beginningOf("behind obstacles", async () => {
      const world = await createSendWorld(options);
      const other = identityCreated({ workspaceId, localPart: "other", emailAddress: "other@agents.localhost" });
      await world.elsewhere().identities.handle(otherId, { type: "CreateIdentity", identity: other }, cause);
      await takeSlot("identities", otherId, "2026-01-01T00:00:00.000Z")(world);
      await takeSlot("identities", identityId, "2026-01-02T00:00:00.000Z")(world);
      await addDomain(domainId, "agents.localhost")(world);
      await takeSlot("domains", domainId, "2026-01-02T00:00:00.000Z")(world);
      await checked("verified")(world);
      await uncapped(true)(world);
      await world.drain();
      return world;
    }),
  );
