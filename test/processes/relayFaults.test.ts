import { expect } from "chai";
import { queueSend } from "#src/commands/sends/queueSend.ts";
import { Unavailable } from "#src/eventStore/eventStore.ts";
import { CredentialsRefused, NoRoom } from "#src/mail/mailProvider.ts";
import { createSmtpProvider, type SmtpTimeouts } from "#src/mail/out/smtpProvider.ts";
import { until } from "#test/support/inProcess.ts";
import {
  type RelayFault,
  type RelayOptions,
  type RelayStage,
  type SmtpRelay,
  startSmtpRelay,
} from "#test/support/smtpRelay.ts";
import { expectSound } from "./sendSoundness.ts";
import { cause, createSendWorld, type SendWorld } from "./sendWorld.ts";

const queued = async () => {
  const world = await createSendWorld();
  const draftId = await world.submit();
  await queueSend(world.node, { draftId, kind: "api_key" }, cause);
  return { world, draftId };
};
const count = (world: SendWorld, type: string) => world.log.all.filter((event) => event.type === type).length;

const patientMs = 60_000;
const patient = { readyMs: patientMs, envelopeMs: patientMs, contentMs: patientMs, answerMs: patientMs };
/** Short limits (ms) only for the stage at which a relay hangs. slowRelay.test.ts tests the real limits with --full. */
const limits = {
  ready: (readyMs: number) => ({ ...patient, readyMs }),
  envelope: (envelopeMs: number) => ({ ...patient, envelopeMs }),
  answer: (answerMs: number) => ({ ...patient, answerMs }),
};
const limitAt = (stage: RelayStage, ms: number) =>
  stage === "MAIL" || stage === "RCPT" || stage === "DATA" ? limits.envelope(ms) : limits.ready(ms);

describe("a faulty relay", () => {
  let relays: SmtpRelay[] = [];
  afterEach(async () => {
    await Promise.all(relays.map((relay) => relay.close()));
    relays = [];
  });

  async function sendThrough(
    faults: RelayFault[],
    { within = patient, ...options }: RelayOptions & { within?: SmtpTimeouts },
  ) {
    const { world, draftId } = await queued();
    const relay = await startSmtpRelay(faults, { password: "secret", ...options });
    relays.push(relay);
    world.sendThrough(createSmtpProvider(`smtp://agent:secret@127.0.0.1:${relay.port}`, within));
    await world.run();
    const { status, failureCode, tries } = await world.state.draft(draftId);
    return { world, relay, end: { status, failureCode, tries, connections: relay.connections } };
  }

  const stages: RelayStage[] = ["connect", "greeting", "EHLO", "AUTH", "MAIL", "RCPT", "DATA"];

  it("a relay that hangs once before the content gets the mail at the next try", async () => {
    const sends = stages.map((at) => sendThrough([{ at, how: "stall", times: 1 }], { within: limitAt(at, 1_000) }));
    for (const [n, { relay, end }] of (await Promise.all(sends)).entries()) {
      expect(end, stages[n]).to.deep.equal({ status: "sent", failureCode: null, tries: 1, connections: 2 });
      expect(relay.mails, stages[n]).to.have.length(1);
    }
  });

  for (const at of stages) {
    it(`a draft fails with everything given back after all tries if the relay always hangs at ${at}`, async () => {
      const { world, relay, end } = await sendThrough([{ at, how: "stall" }], { within: limitAt(at, 150) });
      expect(end).to.include({ status: "failed", failureCode: "provider_unavailable", tries: 2 });
      // On a busy machine a connection may be given up before the relay has noticed it.
      await until(async () => relay.connections >= 3);
      expect([relay.connections, relay.contentBytes]).to.deep.equal([3, 0]);
      expect(await world.state.quota()).to.equal(0);
      expect((await world.state.thread()).claims).to.deep.equal({});
    });
  }

  it("a mail is never tried again after the relay hung at the final dot", async () => {
    const { relay, end } = await sendThrough([{ at: "dot", how: "stall", taken: true }], { within: limits.answer(60) });
    expect(end).to.deep.equal({ status: "failed", failureCode: "unconfirmed", tries: 0, connections: 1 });
    expect(relay.mails).to.have.length(1);
  });

  it("a relay that answers slowly gets the mail at the first try", async () => {
    const answersAfterMs = { greeting: 100, EHLO: 30, AUTH: 30, MAIL: 30, RCPT: 30, DATA: 30, dot: 100 };
    const { world, end } = await sendThrough([], { answersAfterMs });
    expect(end).to.deep.equal({ status: "sent", failureCode: null, tries: 0, connections: 1 });
    expect(count(world, "DraftRequeued")).to.equal(0);
  });
});

describe("a relay that answers 421", () => {
  let relay: SmtpRelay;
  afterEach(() => relay.close());

  it("a relay with no free connection costs no try and gets the mail when it has one", async () => {
    relay = await startSmtpRelay([], { connections: 5 });
    const other = createSmtpProvider(relay.url);
    const held = await Promise.all(Array.from({ length: 5 }, () => other.connect()));
    const { world, draftId } = await queued();
    world.sendThrough(createSmtpProvider(relay.url, { room: { slowAfterMs: 4 } }));
    const began = world.clock.now().getTime();
    await world.run(() => world.clock.now().getTime() - began > 600_000);
    expect(relay.refusedConnections).to.be.greaterThan(5);
    for (const connection of held) connection.discard();
    await relay.idle();
    await world.run();
    const { status, tries } = await world.state.draft(draftId);
    expect({ status, tries, mails: relay.mails.length }).to.deep.equal({ status: "sent", tries: 0, mails: 1 });
    expect([count(world, "DraftRequeued"), count(world, "DeliveryAbandoned")]).to.deep.equal([0, 0]);
  });

  for (const at of ["greeting", "EHLO"] as const) {
    it(`a draft fails after all tries if the relay always answers 421 at ${at}`, async () => {
      relay = await startSmtpRelay([{ at, how: "421 4.3.2 closing" }]);
      const { world, draftId } = await queued();
      world.sendThrough(createSmtpProvider(relay.url, { room: { slowAfterMs: 4, busyForMs: 20 } }));
      await world.run();
      const { failureCode, tries } = await world.state.draft(draftId);
      expect([failureCode, tries]).to.deep.equal(["provider_unavailable", 2]);
      await expectSound(world, [draftId], ["failed"]);
    });
  }
});

describe("a draft whose instance stops", () => {
  /** Stops the instance at this moment, and returns what had begun by then. */
  async function stopped(when: (world: SendWorld, stop: () => void) => void) {
    const { world, draftId } = await queued();
    when(world, () => world.stop());
    expect(await world.run().catch((error) => error.message)).to.equal("shutting down");
    const begun = ["DeliveryStarted", "DeliveryAbandoned", "DraftRequeued"].map((type) => count(world, type));
    const handed = world.hands.length;
    world.onConnect(() => undefined);
    await world.run();
    await expectSound(world, [draftId], ["sent"]);
    expect(count(world, "DraftRequeued")).to.equal(0);
    return { begun, handed };
  }
  const nothing = { begun: [0, 0, 0], handed: 0 };

  it("a draft is not started if its instance stops while connecting, and another instance sends it", async () => {
    expect(await stopped((world, stop) => world.onConnect(stop))).to.deep.equal(nothing);
  });

  it("a draft is not started if its instance stops while the mail is written", async () => {
    const stopsLate = (world: SendWorld, stop: () => void) => {
      const put = world.blobs.put.bind(world.blobs);
      world.blobs.put = async (bytes: Buffer) => {
        if (bytes.includes("Message-ID:")) stop();
        world.blobs.put = put;
        return put(bytes);
      };
    };
    expect(await stopped(stopsLate)).to.deep.equal(nothing);
  });

  it("a draft loses no try if the stop of its instance closes its connection", async () => {
    const refuse = (world: SendWorld, stop: () => void) =>
      world.onConnect(() => {
        stop();
        throw new Unavailable("the connection was closed");
      });
    expect(await stopped(refuse)).to.deep.equal(nothing);
  });
});

describe("a draft without room at the provider", () => {
  const full = (away: boolean, lastFailure?: Unavailable) => () => {
    throw new NoRoom("no room", { away, lastFailure });
  };
  /** Returns the times at which the provider was asked for a connection. */
  function asks(world: SendWorld, answer: () => unknown): number[] {
    const times: number[] = [];
    world.onConnect(() => {
      times.push(world.clock.now().getTime());
      return answer();
    });
    return times;
  }

  it("a draft waits for hours for room at the provider without tries, with growing pauses, and is sent", async () => {
    const { world, draftId } = await queued();
    const times = asks(world, full(false));
    const began = world.clock.now().getTime();
    await world.run(() => world.clock.now().getTime() - began > 3 * 3_600_000);
    expect(times.length).to.be.within(20, 60);
    expect(Math.max(...times.map((at, n) => at - (times[n - 1] ?? began)))).to.be.at.most(600_000);
    world.onConnect(() => undefined);
    await world.run();
    expect([count(world, "DraftRequeued"), count(world, "DeliveryAbandoned")]).to.deep.equal([0, 0]);
    await expectSound(world, [draftId], ["sent"]);
  });

  it("a draft waits without a try while others find out whether the provider is back", async () => {
    const { world, draftId } = await queued();
    const began = world.clock.now().getTime();
    asks(world, full(true));
    await world.run(() => world.clock.now().getTime() - began > 15_000);
    world.onConnect(() => undefined);
    await world.run();
    expect(count(world, "DraftRequeued")).to.equal(0);
    await expectSound(world, [draftId], ["sent"]);
  });

  it("a draft fails after all tries if the provider stays away", async () => {
    const { world, draftId } = await queued();
    const began = world.clock.now().getTime();
    asks(world, full(true));
    await world.run();
    const { failureCode, tries } = await world.state.draft(draftId);
    expect([failureCode, tries]).to.deep.equal(["provider_unavailable", 2]);
    // Three waits of at least half a minute, and two pauses.
    expect(world.clock.now().getTime() - began).to.be.within(90_000, 2 * 90_000);
    await expectSound(world, [draftId], ["failed"]);
  });

  it("a draft without room fails with the failure code that others met", async () => {
    const { world, draftId } = await queued();
    asks(world, full(true, new CredentialsRefused("535")));
    await world.run();
    const { failureCode, tries } = await world.state.draft(draftId);
    expect([failureCode, tries]).to.deep.equal(["provider_credentials", 2]);
  });
});
