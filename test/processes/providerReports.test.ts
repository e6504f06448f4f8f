import { expect } from "chai";
import { type ProviderEvent, recordProviderEvents } from "#src/commands/sends/providerEvents.ts";
import { queueSend } from "#src/commands/sends/queueSend.ts";
import { isHandingOver, unknown } from "./sendSoundness.ts";
import { cause, createSendWorld, type SendWorld } from "./sendWorld.ts";

describe("provider reports about a mail", () => {
  let world: SendWorld;
  let draftId: string;
  beforeEach(async () => {
    world = await createSendWorld();
    draftId = await world.submit();
  });
  const queue = () => queueSend(world.node, { draftId, kind: "api_key" }, cause);
  const attemptId = () =>
    world.log.all.find(({ type }) => type === "DeliveryStarted")!.stream.slice("delivery-".length);
  const tell = (outcome: ProviderEvent["outcome"], provider = "outbox") => {
    const event = {
      attemptId: attemptId(),
      markedId: null,
      wireId: null,
      outcome,
      recipient: null,
      evidence: `it was ${outcome}`,
    };
    return recordProviderEvents(world.node, { provider, events: [event] }, { ...cause, workspaceId: null });
  };
  const end = async () => {
    const { status, failureCode } = await world.state.draft(draftId);
    const failed = world.log.all.find(({ type }) => type === "DraftFailed");
    return [status, failureCode, failed?.data.message ?? null];
  };
  const count = (type: string) => world.log.all.filter((event) => event.type === type).length;
  const lost = async (andThen: () => unknown) => {
    world.answer(unknown);
    await queue();
    await world.run(() => count("DeliveryUnknown") > 0);
    await andThen();
    await world.run();
  };

  for (const outcome of ["processed", "bounced", "complained"] as const) {
    it(`a report of ${outcome} settles an unknown hand-over as sent`, async () => {
      await lost(() => tell(outcome));
      expect(await end()).to.deep.equal(["sent", null, null]);
      expect([world.hands.length, await world.state.quota()]).to.deep.equal([1, 1]);
    });
  }

  it("a report of dropped fails an unknown hand-over with its reason and gives the quota back", async () => {
    await lost(() => tell("dropped"));
    expect(await end()).to.deep.equal(["failed", "provider_refused", "it was dropped"]);
    expect([world.hands.length, await world.state.quota()]).to.deep.equal([1, 0]);
  });

  it("a report after 15 minutes is recorded once as late evidence, and the draft stays failed", async () => {
    await lost(() => undefined);
    expect((await end())[1]).to.equal("unconfirmed");
    for (const outcome of ["delivered", "delivered", "bounced"] as const) await tell(outcome);
    await world.run();
    expect((await end())[1]).to.equal("unconfirmed");
    const late = world.log.all.filter(({ type }) => type === "LateEvidence");
    expect(late.map(({ data }) => data.outcome)).to.deep.equal(["accepted"]);
  });

  it("a report of dropped after 15 minutes is recorded as late evidence of a refusal", async () => {
    await lost(() => undefined);
    await tell("dropped");
    await world.run();
    const late = world.log.all.filter(({ type }) => type === "LateEvidence");
    expect([(await end())[1], late.map(({ data }) => data.outcome)]).to.deep.equal(["unconfirmed", ["refused"]]);
  });

  it("a report that comes before a lost answer settles the hand-over", async () => {
    world.answer(unknown);
    world.onAnswer(() => tell("processed"));
    await queue();
    await world.run();
    expect(await end()).to.deep.equal(["sent", null, null]);
    expect(count("DeliverySettled")).to.equal(1);
  });

  it("a report settles a hand-over that was cut off before its answer was recorded", async () => {
    world.answer("crash after");
    world.onWrite(() => expect(isHandingOver(world)).to.equal(true));
    await queue();
    await world.run(() => count("DeliveryUnknown") > 0);
    await tell("processed");
    await world.run();
    expect([(await end())[0], count("DeliveryStarted")]).to.deep.equal(["sent", 1]);
  });

  it("a report of another provider does not settle a hand-over", async () => {
    await lost(() => tell("delivered", "sendgrid"));
    expect((await end())[1]).to.equal("unconfirmed");
  });

  it("a refusal with a retry time is not retried before that time", async () => {
    world.answer({ kind: "refused", retryable: true, code: "429", message: "later", retryAfterSeconds: 90 });
    await queue();
    await world.run();
    const times = world.log.all
      .filter(({ type }) => type === "DeliveryStarted")
      .map(({ metadata }) => Date.parse(metadata.at));
    expect(times).to.have.length(2);
    expect(times[1]! - times[0]!).to.be.within(90_000, 100_000);
    expect((await end())[0]).to.equal("sent");
  });

  it("a mail refused for now and reported as processed is not handed over again", async () => {
    for (const type of ["DeliveryRefused", "DeliveryStarted"]) {
      world = await createSendWorld();
      draftId = await world.submit();
      world.answer({ kind: "refused", retryable: true, code: "429", message: "later", retryAfterSeconds: 90 });
      if (type === "DeliveryStarted") world.onAnswer(() => tell("processed"));
      await queue();
      await world.run(() => count("DeliveryRefused") > 0);
      if (type === "DeliveryRefused") await tell("processed");
      await world.run();
      expect([(await end())[0], count("DeliveryStarted")], `reported after ${type}`).to.deep.equal(["sent", 1]);
    }
  });

  it("a draft fails with provider_credentials after as many refused credentials as its schedule has tries", async () => {
    const refused = { kind: "refused", retryable: true, code: "provider_credentials", message: "401" } as const;
    world.answer(refused, refused, refused);
    await queue();
    await world.run();
    expect(await end()).to.deep.equal(["failed", "provider_credentials", "401"]);
    expect(await world.state.quota()).to.equal(0);
  });
});
