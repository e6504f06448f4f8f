import { expect } from "chai";
import { reportDelivery } from "#src/commands/sends/deliveryReports.ts";
import type { MailProvider, OutgoingMail } from "#src/mail/mailProvider.ts";
import { confirmDelivery } from "#src/processes/confirmDelivery.ts";
import { followBounces } from "#src/processes/followBounces.ts";
import { recordBounces } from "#src/processes/recordBounces.ts";
import { deliveryStream } from "#streams/delivery/events.ts";
import type { Recorded } from "#streams/event.ts";
import { bounceOf } from "#test/support/bounce.ts";
import { asked } from "#test/support/examples/drafts.ts";
import { type InProcess, mail, startInProcess, until } from "#test/support/inProcess.ts";
import { tell } from "#test/support/processContext.ts";
import { failingProvider } from "./failingProvider.ts";
import { cause, createSendWorld, identityId, type SendWorld } from "./sendWorld.ts";

async function sent(world: SendWorld): Promise<{ draftId: string; attemptId: string }> {
  const draftId = await world.submit();
  await world.approve(draftId);
  await world.drain();
  return { draftId, attemptId: (await world.state.draft(draftId)).attemptId as string };
}

const typesOn = (world: SendWorld, stream: string) =>
  world.log.all.filter((event) => event.stream === stream).map(({ type }) => type);

describe("delivery reports", () => {
  it("each delivery report is recorded once, also a bounce after a delivery", async () => {
    const world = await createSendWorld();
    const { attemptId } = await sent(world);
    for (const outcome of ["delivered", "bounced", "delivered", "bounced", "complained"] as const) {
      await reportDelivery(world.node, { attemptId, outcome, evidence: "test" }, cause);
    }
    expect(typesOn(world, deliveryStream(attemptId))).to.deep.equal([
      "DeliveryStarted",
      "DeliveryAccepted",
      "DeliveryDelivered",
      "DeliveryBounced",
      "DeliveryComplained",
    ]);
  });

  it("a report about an attempt that never started records nothing", async () => {
    const world = await createSendWorld();
    const length = world.log.all.length;
    const report = { attemptId: "33333333-3333-7333-8333-333333333333", outcome: "delivered", evidence: "?" } as const;
    expect(await reportDelivery(world.node, report, cause)).to.equal(false);
    expect(world.log.all.length).to.equal(length);
  });

  const unknown = { kind: "unknown", message: "the connection was lost" } as const;
  const conclude = async (world: SendWorld) => {
    const process = world.node.processes.find(({ name }) => name === "deliver")!;
    for (const event of world.log.all) await tell(process, event);
  };

  it("a delivery report settles an unknown hand-over, and the draft is sent", async () => {
    const world = await createSendWorld();
    world.answer(unknown);
    const { draftId, attemptId } = await sent(world);
    await reportDelivery(world.node, { attemptId, outcome: "bounced", evidence: "a bounce" }, cause);
    await conclude(world);
    expect((await world.state.draft(draftId)).status).to.equal("sent");
  });

  it("an approver is told of a bounce that settles an unknown hand-over, after it is sent", async () => {
    const world = await createSendWorld();
    const address = "ann@approvers.example";
    const approvalChannel = { type: "email", config: { to: address } } as const;
    const changes = { type: "UpdateIdentity", changes: { approvalChannel }, mayLoosen: true } as const;
    await world.node.identities.handle(identityId, changes, cause);
    const draftId = await world.submit();
    const notificationId = world.node.ids.uuid();
    const about = asked(notificationId, { version: 1, slot: "primary", address }).data;
    await world.node.drafts.handle(draftId, { type: "AskApprovers", asked: about }, cause);
    await world.node.drafts.handle(draftId, { type: "RecordNotified", notificationId }, cause);
    world.answer(unknown);
    await world.approve(draftId);
    await world.drain();
    const attemptId = (await world.state.draft(draftId)).attemptId as string;
    await reportDelivery(world.node, { attemptId, outcome: "bounced", evidence: "a bounce" }, cause);
    const mails: OutgoingMail[] = [];
    const process = followBounces(world.node, failingProvider(mails, 0));
    const bounce = world.log.all.find(({ type }) => type === "DeliveryBounced")!;
    expect(await tell(process, bounce)).to.have.property("againInMs");
    await conclude(world);
    expect(await tell(process, bounce)).to.equal(undefined);
    expect(mails.map(({ envelope }) => envelope.to)).to.deep.equal([[address]]);
  });

  it("a delivery report about an unconfirmed draft is recorded once as late evidence", async () => {
    const world = await createSendWorld();
    world.answer(unknown);
    const { draftId, attemptId } = await sent(world);
    await world.run();
    expect((await world.state.draft(draftId)).failureCode).to.equal("unconfirmed");
    await reportDelivery(world.node, { attemptId, outcome: "delivered", evidence: "an event" }, cause);
    await conclude(world);
    await conclude(world);
    expect((await world.state.draft(draftId)).status).to.equal("failed");
    expect(world.log.all.filter(({ type }) => type === "LateEvidence")).to.have.length(1);
  });

  it("only a provider that is the mailbox itself reports a delivery at once", async () => {
    for (const isMailbox of [true, undefined] as const) {
      const world = await createSendWorld();
      const { attemptId } = await sent(world);
      const provider = { name: "outbox", ...(isMailbox && { isMailbox }) } as MailProvider;
      const process = confirmDelivery(world.node, provider);
      for (const event of [...world.log.all]) await tell(process, event);
      const delivered = typesOn(world, deliveryStream(attemptId)).includes("DeliveryDelivered");
      expect(delivered).to.equal(isMailbox === true);
    }
  });
});

describe("a bounce of an approval mail", () => {
  it("a bounce of an approval mail waits for the read model of drafts", async () => {
    const world = await createSendWorld();
    const headers = { classification: "bounce", reportedMessageIds: [] };
    const event = {
      ...(world.log.all[0] as Recorded),
      stream: "approvalReply-one",
      type: "ApprovalReplyReceived",
      position: 7,
      data: { deliveryId: "one", headers },
    };
    const told = (isReached: boolean) => tell(recordBounces(world.node), event, { projected: async () => isReached });
    expect(await told(false)).to.deep.equal({ waitFor: 7, of: ["drafts"] });
    expect(await told(true)).to.equal(undefined);
  });
});

describe("delivery_status", () => {
  let service: InProcess;
  before(async () => {
    service = await startInProcess();
  });
  after(() => service.stop());

  it("a sent message becomes delivered and, after a bounce of it, stays bounced [d5 bounce]", async () => {
    const { ask, id } = await service.workspace();
    const identity = await service.identity(id);
    await service.deliver(identity.address, mail({ id: "question@x.example" }));
    const thread = (await ask("GET /v1/threads")).json.data[0];
    const { messages } = (await ask(`GET /v1/threads/${thread.id}`)).json;
    const draft = (
      await ask("POST /v1/drafts", {
        json: {
          thread_id: thread.id,
          identity_id: identity.id,
          based_on_message_id: messages[0].id,
          body_text: "Here.",
        },
      })
    ).json;
    const { status } = await ask(`POST /v1/drafts/${draft.id}/send`);
    expect(status).to.equal(202);
    const outbound = async () =>
      (await ask(`GET /v1/threads/${thread.id}`)).json.messages.find(
        (message: any) => message.direction === "outbound",
      );
    await until(async () => (await outbound())?.delivery_status === "delivered");
    const { rfc_message_id: rfcMessageId, sent_at: sentAt } = await outbound();
    expect(sentAt).to.be.a("string");
    await service.deliver(identity.address, bounceOf(rfcMessageId));
    await until(async () => (await outbound()).delivery_status === "bounced");
    const { attemptId } = service.deps.messageIds.open(rfcMessageId)!;
    await reportDelivery(
      service.deps,
      { attemptId, outcome: "delivered", evidence: "late" },
      { ...cause, workspaceId: id },
    );
    await service.caughtUp();
    expect(await outbound()).to.include({ delivery_status: "bounced", rfc_message_id: rfcMessageId, sent_at: sentAt });
    const { json } = await ask(`GET /v1/drafts/${draft.id}`);
    expect(json.status).to.equal("sent");
    const history = (await ask(`GET /v1/drafts/${draft.id}/history?limit=100`)).json.data.map(({ type }: any) => type);
    expect(history).to.include.members(["DeliveryDelivered", "DeliveryBounced"]);
  });
});
