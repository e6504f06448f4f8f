import { expect } from "chai";
import type { OutgoingMail } from "#src/mail/mailProvider.ts";
import type { Timer } from "#src/processes/process.ts";
import { tellApprovers } from "#src/processes/tellApprovers.ts";
import type { IdentitySettings } from "#streams/identity/events.ts";
import { fire, tell } from "#test/support/processContext.ts";
import { failingProvider } from "./failingProvider.ts";
import { cause, createSendWorld, identityId } from "./sendWorld.ts";

const channel = (to: string) => ({ type: "email" as const, config: { to } });
const changesOf = async (...steps: Partial<IdentitySettings>[]) => {
  const world = await createSendWorld();
  for (const changes of steps) {
    const update = { type: "UpdateIdentity", changes, mayLoosen: true } as const;
    await world.node.identities.handle(identityId, update, cause);
  }
  return world;
};

/** The process on a provider that refuses the first `failures` mails. */
function rule(world: Awaited<ReturnType<typeof createSendWorld>>, failures = 0) {
  const sent: OutgoingMail[] = [];
  const timers: Timer[] = [];
  const process = tellApprovers(world.node, failingProvider(sent, failures));
  return {
    sent,
    timers,
    async tellAll() {
      for (const event of world.log.all) {
        if (process.categories.some((category) => event.stream.startsWith(`${category}-`))) {
          await tell(process, event, { timers });
        }
      }
    },
    fire: (timer: Timer) => fire(process, timer, { timers }),
  };
}

const day = 24 * 3_600_000;
const recipients = (sent: OutgoingMail[]) => sent.map(({ envelope }) => envelope.to[0]);

describe("tellApprovers", () => {
  it("the old channel of an identity under human approval is notified of the new one", async () => {
    const world = await changesOf(
      { requireHumanApproval: true, approvalChannel: channel("old@approvers.example") },
      { approvalChannel: channel("new@approvers.example") },
    );
    const { sent, tellAll } = rule(world);
    await tellAll();
    expect(recipients(sent)).to.deep.equal(["old@approvers.example"]);
    expect(sent[0]?.mime.toString()).to.include("approval channel was changed");
  });

  it("the channel is notified that human approval was switched off", async () => {
    const world = await changesOf(
      { requireHumanApproval: true, approvalChannel: channel("old@approvers.example") },
      { requireHumanApproval: false },
    );
    const { sent, tellAll } = rule(world);
    await tellAll();
    expect(recipients(sent)).to.deep.equal(["old@approvers.example"]);
  });

  it("no approver is notified of changes without human approval or without effect on it", async () => {
    const world = await changesOf(
      { requireHumanApproval: false, approvalChannel: channel("old@approvers.example") },
      { approvalChannel: channel("new@approvers.example") },
      { requireHumanApproval: true },
      { displayName: "Another name" },
    );
    const { sent, tellAll } = rule(world);
    await tellAll();
    expect(sent).to.deep.equal([]);
  });

  it("the approver of an unconfirmed reply is notified, with the same Message-ID when repeated", async () => {
    const world = await changesOf({ requireHumanApproval: false, approvalChannel: channel("ann@approvers.example") });
    world.answer({ kind: "unknown", message: "the connection was lost" });
    await world.approve(await world.submit());
    await world.run();
    const { sent, tellAll } = rule(world);
    await tellAll();
    await tellAll();
    expect(recipients(sent)).to.deep.equal(["ann@approvers.example", "ann@approvers.example"]);
    expect(sent[0]?.messageId).to.equal(sent[1]?.messageId);
    expect(sent[0]?.mime.toString()).to.include("We do not know whether an approved reply was sent");
  });

  it("a notification that the provider did not accept is tried again later", async () => {
    const world = await changesOf(
      { requireHumanApproval: true, approvalChannel: channel("old@approvers.example") },
      { approvalChannel: null },
    );
    const { sent, timers, tellAll, fire } = rule(world, 1);
    await tellAll();
    expect(sent).to.deep.equal([]);
    await fire(timers[0] as Timer);
    expect(recipients(sent)).to.deep.equal(["old@approvers.example"]);
  });

  it("a notification older than a day is not sent, whether it is late or was never accepted", async () => {
    const world = await changesOf(
      { requireHumanApproval: true, approvalChannel: channel("old@approvers.example") },
      { approvalChannel: null },
    );
    const { sent, timers, tellAll, fire } = rule(world, 1);
    await tellAll();
    world.sleepThrough(day);
    await tellAll();
    expect(recipients(sent)).to.deep.equal(["old@approvers.example"]);
    world.sleepThrough(1);
    await tellAll();
    await fire(timers[0] as Timer);
    expect(sent).to.have.length(1);
  });
});
