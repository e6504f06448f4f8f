import { expect } from "chai";
import type { ProcessObstacle, SetAside } from "#src/processes/process.ts";
import { idOf } from "#streams/event.ts";
import { tell } from "#test/support/processContext.ts";
import { expectSound } from "./sendSoundness.ts";
import { cause, createSendWorld, identityId, type SendWorld } from "./sendWorld.ts";

type End = { name: string; happens(world: SendWorld): Promise<unknown> };

const enabled: End = { name: "enabled", happens: (world) => world.changeIdentity({ status: "active" }) };
const deleted: End = {
  name: "deleted",
  happens: (world) =>
    world.elsewhere().identities.handle(identityId, { type: "DeleteIdentity", mayLoosen: false }, cause),
};

/** Makes a world with a disabled identity whose setting approves drafts. */
async function disabled(): Promise<SendWorld> {
  // Each event is delivered once. A send that meets an interrupted claim waits for it, 200 ms at each reading of the clock.
  const world = await createSendWorld({ deliveries: 1, tickMs: 200 });
  await world.changeIdentity({ autoApproveReplies: true, status: "disabled" });
  return world;
}

const submitted = ({ log }: SendWorld): string | undefined => {
  const event = log.all.find(({ type }) => type === "DraftSubmitted");
  return event && idOf(event.stream);
};

/** Returns the timers that would send the draft. */
const sendTimers = ({ timers }: SendWorld): string[] => [...timers.keys()].filter((name) => name.endsWith("/again"));

describe("an automatically approved draft of a disabled identity", () => {
  it("a draft of a disabled identity is set aside without a timer and sent at once when it is enabled", async () => {
    const world = await disabled();
    const draftId = await world.submit({ autoApproved: true });
    expect(await world.state.draft(draftId)).to.include({ status: "approved", held: "identity_not_active" });
    expect(sendTimers(world)).to.deep.equal([]);
    await enabled.happens(world);
    await world.drain();
    await expectSound(world, [draftId], ["sent"]);
  });

  it("a draft of a disabled identity stays held after the identity is deleted, and no longer waits", async () => {
    const world = await disabled();
    const draftId = await world.submit({ autoApproved: true });
    await deleted.happens(world);
    await world.run();
    expect(await world.state.draft(draftId)).to.include({ status: "approved", held: "identity_not_active" });
    expect(await answerTo(world, "DraftRulesApplied")).to.equal(undefined);
  });

  it("a draft set aside for its identity names the revision it saw, so that enabling is not missed", async () => {
    const world = await disabled();
    await world.submit({ autoApproved: true });
    const { setAside } = (await answerTo(world, "DraftRulesApplied"))!;
    const hasMoved = ({ stream, revision }: ProcessObstacle) =>
      world.log.all.some((event) => event.stream === stream && event.revision > revision);
    expect(setAside.map(({ stream }) => stream)).to.deep.equal([`identity-${identityId}`]);
    expect(setAside.some(hasMoved)).to.equal(false);
    await enabled.happens(world);
    expect(setAside.some(hasMoved)).to.equal(true);
  });

  it("a draft of a disabled identity is set aside again after another send of it was undone", async () => {
    const world = await disabled();
    const draftId = await world.submit({ autoApproved: true });
    const abandon = { type: "AbandonSend", attemptId: identityId, because: "cut off" } as const;
    await world.elsewhere().drafts.handle(draftId, abandon, cause);
    expect((await answerTo(world, "SendAbandoned"))?.setAside).to.have.length(1);
  });

  it("a draft of a disabled identity is sent by a person's approval that came while it was set aside", async () => {
    const world = await createSendWorld({ deliveries: 1 });
    await world.changeIdentity({ status: "disabled" });
    const draftId = await world.submit();
    const { drafts } = world.elsewhere();
    const approve = { type: "ApproveDraft", ifVersion: null, contentSha256: null, sendRequested: true } as const;
    const byRule = { ...approve, grantedBy: { runId: draftId, ruleId: draftId }, tokenSha256: null };
    await drafts.handle(draftId, byRule, { ...cause, actor: { kind: "rule", id: draftId } });
    await world.drain();
    expect(await world.state.draft(draftId)).to.include({ status: "approved", held: "identity_not_active" });
    await drafts.handle(draftId, { type: "ReturnToPending", because: "edited" }, cause);
    await drafts.handle(draftId, { ...approve, tokenSha256: "a person's" }, cause);
    await enabled.happens(world);
    // The event that set it aside is handled first, as in its lane.
    const process = world.node.processes.find(({ name }) => name === "sendApproved")!;
    await tell(process, world.log.all.find(({ type }) => type === "DraftApproved")!);
    const queued = world.log.all.find(({ type }) => type === "DraftQueued")!;
    expect(queued.data).to.have.nested.property("authorisation.kind", "approval");
  });

  for (const end of [enabled, deleted]) {
    for (const how of ["go on", "crash"] as const) {
      it(`a draft ends the same wherever its identity is ${end.name} meanwhile${how === "crash" ? ", with a crash" : ""}`, async () => {
        for (const when of ["before", "after"] as const) {
          for (let at = 1, reached = true; reached; at++) {
            reached = await endsAt({ at, when, how, end });
            expect(at).to.be.below(40);
          }
        }
      });
    }
  }

  type Point = { at: number; when: "before" | "after"; how: "go on" | "crash"; end: End };

  /** Returns false if there is no such append before the draft waits; then the identity changes afterwards. */
  async function endsAt({ at, when, how, end }: Point): Promise<boolean> {
    const world = await disabled();
    let reached = false;
    const happens = async () => {
      reached = true;
      await end.happens(world);
      return how;
    };
    world.useNode(world.createNode({ at, when, how: happens }));
    await world.submit({ autoApproved: true }).catch(() => undefined);
    await world.drain();
    const isThere = reached;
    if (!isThere) {
      // Later appends of processes are not tested here.
      world.useNode(world.createNode());
      await end.happens(world);
    }
    await world.run();
    const draftId = submitted(world);
    // The submission itself was cut off.
    if (draftId === undefined) return true;
    const told = `${when} append ${at}`;
    if (end === enabled) await expectSound(world, [draftId], ["sent"]);
    else {
      const { status, held } = await world.state.draft(draftId);
      expect({ status, held }, told).to.deep.equal({ status: "approved", held: "identity_not_active" });
      expect(world.hands, told).to.deep.equal([]);
    }
    return isThere;
  }

  async function answerTo(world: SendWorld, type: string): Promise<SetAside | undefined> {
    const process = world.node.processes.find(({ name }) => name === "sendApproved")!;
    const event = world.log.all.findLast((each) => each.type === type)!;
    return (await tell(process, event)) as SetAside | undefined;
  }
});
