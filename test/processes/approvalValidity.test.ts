import { generateKeyPairSync } from "node:crypto";
import { expect } from "chai";
import { sendDraft } from "#src/commands/drafts/drafts.ts";
import { systemIds } from "#src/platform/clock.ts";
import { idOf } from "#streams/event.ts";
import { identityStream } from "#streams/identity/events.ts";
import type { RuleSettings } from "#streams/rule/events.ts";
import { slotsStream } from "#streams/slots/events.ts";
import { planLimits } from "#streams/workspace/planLimits.ts";
import { identityCreated } from "#test/support/examples/index.ts";
import { inFull, sized } from "#test/support/full.ts";
import { expectSound, later } from "./sendSoundness.ts";
import { beginningOf, cause, identityId, workspaceId } from "./sendWorld.ts";
import {
  auto,
  createStandingWorld,
  isTrusted,
  manual,
  openStandingWorld,
  type StandingWorld,
  skip,
  typesOf,
} from "./standingWorld.ts";

type Change = (world: StandingWorld, ruleId: string) => Promise<unknown>;
/** What approves, and the changes that end its approval. */
type Approver = { ruleId?: string; setUp(world: StandingWorld): Promise<string>; changes: Record<string, Change> };

const elsewhere: Partial<RuleSettings> = {
  conditions: { operator: "AND", conditions: [{ field: "identity.id", op: "equals", value: "another" }] },
};
const ofRule: Record<string, Change> = {
  "the rule is deleted": (world, id) => world.deleteRule(id),
  "the rule is switched off": (world, id) => world.changeRule(id, { status: "inactive" }),
  "the rule is narrowed": (world, id) => world.changeRule(id, elsewhere),
  "the rule is another identity's": (world, id) => world.changeRule(id, { identityId: "another" }),
  "the contact is no longer trusted": (world) => world.contact("unknown"),
  "a new rule asks for a person": (world) => world.rule({ actions: [manual], priority: 200 }),
};

const approvers: Record<string, Approver> = {
  "the switch": {
    setUp: async () => "",
    changes: {
      "the switch is off": (world) => world.changeIdentity({ autoApproveReplies: false }),
      "a new rule asks for a person": (world) => world.rule({ actions: [manual] }),
      "a new rule of the message asks for a person": (world) =>
        world.rule({ actions: [manual], triggerEvent: "email.received" }),
    },
  },
  "a rule of the draft": {
    setUp: (world) => world.rule({ conditions: isTrusted, actions: [skip] }),
    changes: ofRule,
  },
  "a rule of the message": {
    setUp: (world) => world.rule({ conditions: isTrusted, actions: [auto], triggerEvent: "email.received" }),
    changes: ofRule,
  },
};

const ways = ["straight", "after a retry", "after a pause", "after a restart"] as const;
/** Returns every second way, alternating by turn; in a full run all of them. */
const waysOf = (turn: number) => [...ways.entries()].filter(([number]) => inFull || (number + turn) % 2 === 0);

async function prepared(by: string, deliveries = 2): Promise<{ world: StandingWorld; ruleId: string }> {
  const options = { deliveries };
  const beginning = await beginningOf(`${by}, ${deliveries}`, async () => {
    const world = await createStandingWorld(options);
    await (approvers[by] as Approver).setUp(world);
    await world.contact("trusted");
    await world.authenticate();
    return world;
  });
  const created = beginning.events.find(({ type }) => type === "RuleCreated");
  return { world: openStandingWorld(options, beginning), ruleId: created ? idOf(created.stream) : "" };
}

const submit = (world: StandingWorld, by: string) => world.submit({ autoApproved: by === "the switch" });
const isOver = async (world: StandingWorld, draftId: string) =>
  ["sent", "pending", "failed"].includes((await world.state.draft(draftId)).status);

describe("an automatic approval [d14 grants]", () => {
  for (const [nth, by] of Object.keys(approvers).entries()) {
    it(`a draft approved by ${by} is sent if nothing changes`, async () => {
      const { world } = await prepared(by);
      const draftId = await submit(world, by);
      await world.run();
      await expectSound(world, [draftId], ["sent"]);
      expect(world.hands).to.have.length(1);
    });

    for (const [turn, [what, change]] of Object.entries((approvers[by] as Approver).changes).entries()) {
      it(`a draft approved by ${by} is not sent if ${what} at any earlier append`, async () => {
        for (const [nthWay, [number, way]] of waysOf(nth + turn).entries()) {
          // One way uses every second append, and the next one those between; in a full run each uses all.
          const step = inFull ? 1 : 2;
          for (let at = inFull ? 1 : 1 + ((nthWay + turn) % 2), reached = true; reached; at += step) {
            // Before and after each append alternate: they differ only for a crash.
            const when = (Math.floor(at / step) + number) % 2 === 0 ? "before" : "after";
            reached = await changedAt({ at, when, way }, by, change);
            expect(at).to.be.below(80);
          }
        }
      });

      it(`a draft approved by ${by} is not sent if ${what} right before the first byte`, async () => {
        const { world, ruleId } = await prepared(by);
        let changing: Promise<unknown> | undefined;
        world.onWrite(() => {
          changing ??= change(world, ruleId);
          return changing;
        });
        const draftId = await submit(world, by);
        await world.run();
        await expectSound(world, [draftId], ["failed"]);
        expect((await world.state.draft(draftId)).failureCode).to.equal("approval_withdrawn");
        expect(world.hands).to.deep.equal([]);
        expect(world.log.all.find(({ type }) => type === "DeliveryNotHandedOver")?.data.withheld).to.equal(true);
      });
    }
  }

  /** Returns false if everything was done before that point. */
  async function changedAt(
    { at, when, way }: { at: number; when: "before" | "after"; way: (typeof ways)[number] },
    by: string,
    change: Change,
  ) {
    const { world, ruleId } = await prepared(by, sized(1, 2));
    let handsThen: number | undefined;
    const how = async () => {
      await change(world, ruleId);
      handsThen = world.hands.length;
      return way === "after a restart" ? "crash" : "go on";
    };
    if (way === "after a retry") world.answer(later);
    if (way === "after a pause") await world.pause(true);
    world.useNode(world.createNode({ at, when, how: how as () => Promise<"crash" | "go on"> }));
    const draftId = await submit(world, by).catch(() => undefined);
    const known = draftId ?? world.log.all.find(({ type }) => type === "DraftSubmitted")?.stream.slice("draft-".length);
    if (known === undefined) return true;
    if (way === "after a pause") {
      await world.advance(10_000);
      await world.pause(false);
    }
    await world.run();
    const told = `${way}, ${when} append ${at}: ${typesOf(world, known)}`;
    const { status, failureCode } = await world.state.draft(known);
    expect(await isOver(world, known), told).to.equal(true);
    if (handsThen === undefined) {
      expect(status, told).to.equal("sent");
      return false;
    }
    expect(world.hands.length, `handed over after the change; ${told}`).to.equal(handsThen);
    // A process that died after the start may have handed the mail over.
    const begun = way === "after a restart" && world.log.all.some(({ type }) => type === "DeliveryStarted");
    const codes = begun ? ["approval_withdrawn", "unconfirmed"] : ["approval_withdrawn"];
    if (status === "failed") expect(codes, told).to.include(failureCode);
    if (failureCode !== "unconfirmed") await expectSound(world, [known], ["sent", "pending", "failed"]);
    return true;
  }

  it("an automatic approval withdrawn before the first byte costs no try, and the draft is sent once it is back", async () => {
    const { world } = await prepared("the switch");
    let again: Promise<void> | undefined;
    world.onWrite(async () => {
      if (again) return;
      await world.changeIdentity({ autoApproveReplies: false });
      // Paused before it is recorded that nothing was handed over.
      const { reached, release } = world.node.faulty.pause("delivery");
      again = reached.then(() => world.changeIdentity({ autoApproveReplies: true })).then(release);
    });
    const draftId = await submit(world, "the switch");
    await world.run();
    await again;
    expect(world.log.all.filter(({ type }) => type === "DeliveryNotHandedOver")).to.have.length(1);
    expect((await world.state.draft(draftId)).tries).to.equal(0);
    await expectSound(world, [draftId], ["sent"]);
  });

  it("an automatic approval is checked before the hand-over: withdrawn while connecting, no delivery starts", async () => {
    const { world } = await prepared("the switch");
    world.onConnect(() => world.changeIdentity({ autoApproveReplies: false }));
    const draftId = await submit(world, "the switch");
    await world.run();
    expect(world.log.all.map(({ type }) => type)).to.not.include("DeliveryStarted");
    expect((await world.state.draft(draftId)).failureCode).to.equal("approval_withdrawn");
    await expectSound(world, [draftId], ["failed"]);
  });

  it("an automatic approval by a rule stays valid although the thread's status changed after its evaluation", async () => {
    const { world, ruleId } = await prepared("a rule of the draft");
    const status = { operator: "AND" as const, conditions: [{ field: "thread.status", op: "equals" as const }] };
    const pending = { ...status, conditions: [{ ...status.conditions[0], value: "draft_pending" }] };
    await world.changeRule(ruleId, { conditions: pending as RuleSettings["conditions"] });
    await world.pause(true);
    const draftId = await submit(world, "a rule of the draft");
    await world.advance(10_000);
    expect((await world.state.draft(draftId)).held).to.equal("sending_paused");
    const close = { type: "UpdateThread", status: "closed", because: "test" } as const;
    await world.elsewhere().threads.handle(world.threadId(), close, cause);
    await world.pause(false);
    await world.run();
    await expectSound(world, [draftId], ["sent"]);
  });

  it("an automatic approval is checked at a retry before a new claim", async () => {
    const { world } = await prepared("the switch");
    world.answer(later);
    const draftId = await submit(world, "the switch");
    expect((await world.state.draft(draftId)).status).to.equal("sending");
    await world.changeIdentity({ autoApproveReplies: false });
    await world.run();
    expect((await world.state.draft(draftId)).failureCode).to.equal("approval_withdrawn");
    const claims = world.log.all.filter(({ type }) => type === "SendClaimed");
    expect(claims.map(({ data }) => data.replaces)).to.deep.equal([null]);
    await expectSound(world, [draftId], ["failed"]);
  });

  it("an automatic approval is checked after a pause: withdrawn during it, the draft becomes pending", async () => {
    const { world } = await prepared("the switch");
    await world.pause(true);
    const draftId = await submit(world, "the switch");
    await world.advance(10_000);
    expect(await world.state.draft(draftId)).to.include({ status: "approved", held: "sending_paused" });
    await world.changeIdentity({ autoApproveReplies: false });
    await world.advance(10_000);
    await world.pause(false);
    await world.run();
    expect((await world.state.draft(draftId)).status).to.equal("pending");
    expect(typesOf(world, draftId).at(-1)).to.equal("DraftReturnedToPending");
    expect(world.hands).to.deep.equal([]);
  });

  it("an automatic approval stays valid while one of the two that gave it still does", async () => {
    for (const gone of ["the switch", "the rule"] as const) {
      const { world, ruleId } = await prepared("a rule of the draft");
      await world.pause(true);
      const draftId = await world.submit({ autoApproved: true });
      await world.advance(10_000);
      if (gone === "the switch") await world.changeIdentity({ autoApproveReplies: false });
      else await world.deleteRule(ruleId);
      await world.pause(false);
      await world.run();
      await expectSound(world, [draftId], ["sent"]);
    }
  });

  it("an automatic approval is not kept by a rule that approves now and did not then", async () => {
    const { world, ruleId } = await prepared("a rule of the draft");
    await world.pause(true);
    const draftId = await submit(world, "a rule of the draft");
    await world.advance(10_000);
    await world.deleteRule(ruleId);
    await world.rule({ actions: [skip] });
    await world.pause(false);
    await world.run();
    expect((await world.state.draft(draftId)).status).to.equal("pending");
  });

  it("an automatically approved draft waits for a disabled identity and is checked again when it is active", async () => {
    for (const [change, status] of [
      [{ autoApproveReplies: false }, "pending"],
      [{}, "sent"],
    ] as const) {
      const { world } = await prepared("the switch");
      await world.changeIdentity({ status: "disabled" });
      const draftId = await submit(world, "the switch");
      await world.advance(60_000);
      expect(await world.state.draft(draftId)).to.include({ status: "approved", held: "identity_not_active" });
      await world.changeIdentity(change);
      await world.changeIdentity({ status: "active" });
      await world.run();
      expect((await world.state.draft(draftId)).status).to.equal(status);
    }
  });

  it("an automatically approved draft waits while its domain is unverified or the plan has no room for its identity", async () => {
    type Step = (world: StandingWorld) => Promise<unknown>;
    const at = "2026-01-01T00:00:00.000Z";
    const append = async (world: StandingWorld, stream: string, events: { type: string; data: object }[]) => {
      const last = await world.log.readLast(stream);
      const recorded = events.map((event) => ({ ...event, id: systemIds.uuid(), metadata: { ...cause, at } }));
      await world.log.append(stream, last?.revision ?? -1, recorded as Parameters<typeof world.log.append>[2]);
    };
    const older = Array.from({ length: planLimits.builder_pack.identities }, (_, n) => `older-${n}`);
    const overCap: Step = async (world) => {
      for (const id of older) {
        const type = "IdentityCreated";
        await append(world, identityStream(id), [{ type, data: identityCreated({ workspaceId, emailAddress: id }) }]);
      }
      const taken = [...older, identityId].map((holderId, n) => ({
        type: "SlotTaken",
        data: { holderId, takenAt: `2026-01-01T00:00:${10 + n}.000Z`, vacated: [] },
      }));
      await append(world, slotsStream(workspaceId, "identities"), taken);
    };
    const { privateKey } = generateKeyPairSync("rsa", {
      modulusLength: 1024,
      publicKeyEncoding: { type: "spki", format: "pem" },
      privateKeyEncoding: { type: "pkcs8", format: "pem" },
    });
    const added = { workspaceId, name: "domain.example", mailDomain: "domain.example", selector: "s", privateKey };
    const inDoubt: Step = (world) => append(world, "domain-domain", [{ type: "DomainAdded", data: { ...added, at } }]);
    const obstacles: Record<string, [Step, Step]> = {
      domain: [
        inDoubt,
        (world) => append(world, "domain-domain", [{ type: "DomainVerified", data: { domainName: added.name, at } }]),
      ],
      plan: [
        overCap,
        (world) => world.elsewhere().workspaces.handle(workspaceId, { type: "SetPlan", betaOverride: true }, cause),
      ],
      "another identity": [
        overCap,
        (world) => append(world, "identity-older-0", [{ type: "IdentityDeleted", data: { emailAddress: "older-0" } }]),
      ],
    };
    for (const [what, [comes, goes]] of Object.entries(obstacles)) {
      const { world } = await prepared("the switch");
      await comes(world);
      const draftId = await submit(world, "the switch");
      await world.advance(60_000);
      expect(await world.state.draft(draftId), what).to.include({ status: "approved", held: "identity_not_active" });
      await goes(world);
      await world.run();
      expect((await world.state.draft(draftId)).status, what).to.equal("sent");
    }
    for (const [what, [comes, goes]] of Object.entries(obstacles)) {
      const world = await createStandingWorld();
      const draftId = await world.submit();
      await sendDraft(world.node, { workspaceId, draftId }, cause);
      await comes(world);
      await world.drain();
      expect((await world.state.draft(draftId)).status, what).to.equal("sending");
      expect(world.hands, what).to.deep.equal([]);
      await goes(world);
      // The draft is set aside under the obstacle's stream, so no time has to pass.
      await world.drain();
      await expectSound(world, [draftId], ["sent"]);
    }
  });

  it("a key's send replaces an automatic approval, which is then not checked again", async () => {
    const { world } = await prepared("the switch");
    await world.changeIdentity({ status: "disabled" });
    const draftId = await submit(world, "the switch");
    await world.advance(1_000);
    await world.changeIdentity({ autoApproveReplies: false, status: "active" });
    await sendDraft(world.node, { workspaceId, draftId }, cause);
    const queued = world.log.all.find(({ type }) => type === "DraftQueued");
    expect(queued?.data.authorisation).to.deep.include({ kind: "api_key" });
    await world.rule({ actions: [manual] });
    await world.run();
    await expectSound(world, [draftId], ["sent"]);
  });
});
