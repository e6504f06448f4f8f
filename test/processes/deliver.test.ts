import { expect } from "chai";
import { pauseInstallation, resumeInstallation } from "#src/commands/installation.ts";
import { queueSend } from "#src/commands/sends/queueSend.ts";
import type { ReadyConnection } from "#src/mail/mailProvider.ts";
import type { ProcessObstacle, SetAside } from "#src/processes/process.ts";
import { causeOf } from "#src/runtime/work/handlerContext.ts";
import { idOf, type Recorded } from "#streams/event.ts";
import { tell } from "#test/support/processContext.ts";
import { expectSound, first, isHandingOver, later, unknown } from "./sendSoundness.ts";
import { cause, createSendWorld, identityId, type SendWorld, workspaceId } from "./sendWorld.ts";

const queued = async (options = {}) => {
  const world = await createSendWorld(options);
  const draftId = await world.submit();
  await queueSend(world.node, { draftId, kind: "api_key" }, cause);
  return { world, draftId };
};
const count = (world: SendWorld, type: string) => world.log.all.filter((event) => event.type === type).length;

const hinder = {
  paused: (world: SendWorld, on: boolean) =>
    world.elsewhere().workspaces.handle(workspaceId, { type: "UpdateWorkspace", sendingPaused: on }, cause),
  "paused by the operator": (world: SendWorld, on: boolean) =>
    on ? pauseInstallation(world.elsewhere(), null, cause) : resumeInstallation(world.elsewhere(), null, cause),
  "disabled for its identity": (world: SendWorld, on: boolean) =>
    world.changeIdentity({ status: on ? "disabled" : "active" }),
};
const hindrances = Object.entries(hinder);

/** Acknowledges and files a customer's mail while the dispatcher is busy with a hand-over. */
async function customerWrites(world: SendWorld, filed = true): Promise<void> {
  await world.acknowledge(2, [first]);
  const event = world.log.all.at(-1)!;
  if (filed) await tell(world.node.processes[0]!, event);
}

const deliverOn = (world: SendWorld, node = world.node) => {
  const event = world.log.all.findLast(({ type }) => type === "DraftQueued" || type === "DraftRequeued")!;
  const process = node.processes.find(({ name }) => name === "deliver")!;
  return tell(process, event)!;
};

/** Gives up as the runner does when the event has failed too often. */
async function giveUpOn({ node }: SendWorld, event: Recorded<any>): Promise<void> {
  const { givingUp } = node.processes.find(({ name }) => name === "deliver")!;
  if (typeof givingUp !== "function") throw new Error("it would just be parked");
  const given = { key: idOf(event.stream), cause: causeOf("deliver", event), error: new Error("again and again") };
  await givingUp(event, given);
}

describe("the check right before a hand-over", () => {
  for (const seconds of [6, 25]) {
    it(`a relay that is ready after ${seconds} s gets the mail once, without another claim`, async () => {
      const { world, draftId } = await queued();
      world.onConnect(() => world.sleepThrough(seconds * 1000));
      await world.run();
      expect(world.hands).to.have.length(1);
      expect([count(world, "DraftRequeued"), count(world, "DeliveryNotHandedOver")]).to.deep.equal([0, 0]);
      await expectSound(world, [draftId], ["sent"]);
    });
  }

  it("fifty drafts that waited for a minute are all sent without another claim", async () => {
    const world = await createSendWorld({ cap: 100, deliveries: 1 });
    const drafts: string[] = [];
    for (let n = 0; n < 50; n++) {
      const draftId = await world.submit();
      await queueSend(world.node, { draftId, kind: "api_key" }, cause);
      drafts.push(draftId);
    }
    world.sleepThrough(60_000);
    await world.run();
    expect(world.hands).to.have.length(50);
    expect(count(world, "DraftRequeued")).to.equal(0);
    await expectSound(world, drafts, ["sent"]);
  });

  it("a draft whose customer writes while the connection is opened becomes stale and gives everything back", async () => {
    const { world, draftId } = await queued();
    world.onConnect(() => customerWrites(world));
    await world.run();
    expect(world.hands).to.deep.equal([]);
    expect([count(world, "DeliveryStarted"), count(world, "DeliveryAbandoned")]).to.deep.equal([0, 1]);
    await expectSound(world, [draftId], ["stale"]);
  });

  it("a hand-over waits for mail that is acknowledged and not yet filed", async () => {
    const { world, draftId } = await queued({ tickMs: 1_000 });
    let writes = 0;
    world.onConnect(() => customerWrites(world, ++writes > 1));
    await world.run();
    expect(world.hands).to.deep.equal([]);
    expect(count(world, "DeliveryStarted")).to.equal(0);
    await expectSound(world, [draftId], ["stale"]);
  });

  it("a hand-over notices mail that is acknowledged and filed while the thread is read", async () => {
    const { world, draftId } = await queued();
    const { threads, store } = world.node;
    // Only fresh states are used.
    Object.assign(store, { guards: false });
    const fresh = threads.fresh.bind(threads);
    world.onConnect(() => {
      let writing: Promise<unknown> | undefined;
      threads.fresh = async (id) => {
        const loaded = await fresh(id);
        writing ??= customerWrites(world);
        await writing;
        return loaded;
      };
    });
    await world.run();
    expect(count(world, "MailReceived")).to.equal(2);
    expect(world.hands).to.deep.equal([]);
    await expectSound(world, [draftId], ["stale"]);
  });

  it("the check before the first byte is repeated after five seconds and finds the customer's new mail", async () => {
    const { world, draftId } = await queued();
    world.onWrite(async () => {
      world.sleepThrough(5_500);
      if (count(world, "MailReceived") === 1) await customerWrites(world);
    });
    await world.run();
    expect(world.hands).to.deep.equal([]);
    expect(world.log.all.find(({ type }) => type === "DeliveryNotHandedOver")?.data.withheld).to.equal(true);
    await expectSound(world, [draftId], ["stale"]);
  });

  it("the check before the first byte is repeated after a slow relay, and the mail is sent at the first try", async () => {
    const { world, draftId } = await queued();
    world.onWrite(() => world.sleepThrough(40_000));
    await world.run();
    expect([count(world, "DeliveryNotHandedOver"), count(world, "DraftRequeued")]).to.deep.equal([0, 0]);
    expect(world.hands).to.have.length(1);
    await expectSound(world, [draftId], ["sent"]);
  });

  it("a try fails without a byte if the repeated check is over ten seconds old too", async () => {
    const { world, draftId } = await queued();
    world.onWrite(() => {
      world.sleepThrough(6_000);
      const { deliveries } = world.node;
      const loadDelivery = deliveries.fresh.bind(deliveries);
      // The process is stopped in the middle of the repeated check.
      deliveries.fresh = async (id) => {
        deliveries.fresh = loadDelivery;
        world.sleepThrough(11_000);
        return loadDelivery(id);
      };
    });
    await world.run();
    expect(world.hands).to.deep.equal([]);
    expect([count(world, "DeliveryNotHandedOver"), count(world, "DraftRequeued")]).to.deep.equal([3, 2]);
    expect((await world.state.draft(draftId)).failureCode).to.equal("provider_unavailable");
    await expectSound(world, [draftId], ["failed"]);
  });

  for (const [what, set] of hindrances) {
    it(`a hand-over writes nothing if sending becomes ${what} while the relay is slow, and is sent afterwards`, async () => {
      const { world, draftId } = await queued();
      let paused = false;
      world.onWrite(async () => {
        if (paused) return;
        paused = true;
        world.sleepThrough(20_000);
        await set(world, true);
      });
      await world.run();
      expect(world.hands).to.deep.equal([]);
      expect(world.log.all.find(({ type }) => type === "DeliveryNotHandedOver")?.data.withheld).to.equal(true);
      await set(world, false);
      await world.run();
      expect((await world.state.draft(draftId)).tries).to.equal(0);
      await expectSound(world, [draftId], ["sent"]);
    });
  }

  it("a hand-over writes nothing if another instance has taken over the attempt", async () => {
    const { world, draftId } = await queued();
    world.onWrite(async () => {
      world.onWrite(() => undefined);
      world.sleepThrough(20_000);
      await deliverOn(world, world.createNode());
    });
    await deliverOn(world);
    expect(world.hands).to.deep.equal([]);
    expect(count(world, "DeliveryUnknown")).to.equal(1);
    await world.run();
    expect(world.hands).to.deep.equal([]);
    expect((await world.state.draft(draftId)).status).to.equal("failed");
  });
});

describe("a later try", () => {
  for (const when of ["before", "after"] as const) {
    it(`a later try that crashes ${when} any append is continued by the next instance`, async () => {
      for (let at = 1, reached = true; reached; at++) {
        const { world, draftId } = await queued();
        world.answer(later);
        await world.drain();
        let begun = false;
        const how = async () => {
          begun = isHandingOver(world);
          return "crash" as const;
        };
        const doomed = world.createNode({ at, when, how });
        world.useNode(doomed);
        await world.run();
        reached = doomed.faulty.appends >= at;
        const { status, tries } = await world.state.draft(draftId);
        expect([status, tries], `append ${at}`).to.deep.equal([begun ? "failed" : "sent", 1]);
        expect(count(world, "DraftRequeued"), `append ${at}`).to.equal(1);
        await expectSound(world, [draftId]);
      }
    });
  }
});

describe("an obstacle to a send", () => {
  for (const [what, set] of hindrances) {
    it(`no delivery starts if sending is ${what} while the connection is opened`, async () => {
      const { world, draftId } = await queued();
      world.onConnect(() => set(world, true));
      await world.run();
      expect(count(world, "DeliveryStarted")).to.equal(0);
      world.onConnect(() => undefined);
      await set(world, false);
      await world.run();
      await expectSound(world, [draftId], ["sent"]);
    });

    it(`no delivery starts if sending is ${what} right before the start is recorded`, async () => {
      const { world, draftId } = await queued();
      const { reached, release } = world.node.faulty.pause("delivery");
      const handled = world.run();
      await reached;
      await set(world, true);
      release();
      await handled;
      expect(count(world, "DeliveryStarted")).to.equal(0);
      await set(world, false);
      await world.run();
      expect(count(world, "DraftRequeued")).to.equal(0);
      await expectSound(world, [draftId], ["sent"]);
    });

    it(`a draft is set aside without a timer while sending is ${what}, and sent when that ends`, async () => {
      const { world, draftId } = await queued();
      await set(world, true);
      await world.drain();
      const ofDeliver = [...world.timers.values()].filter(({ process }) => process === "deliver");
      expect(ofDeliver.filter(({ timer }) => timer.payload.claim === undefined)).to.deep.equal([]);
      await set(world, false);
      await world.drain();
      await expectSound(world, [draftId], ["sent"]);
    });

    it(`a draft set aside because sending is ${what} names the revision it saw, so that the end is not missed`, async () => {
      const { world } = await queued();
      await set(world, true);
      const { setAside } = (await deliverOn(world)) as SetAside;
      const hasMoved = ({ stream, revision }: ProcessObstacle) =>
        world.log.all.some((event) => event.stream === stream && event.revision > revision);
      expect(setAside.some(hasMoved)).to.equal(false);
      await set(world, false);
      expect(setAside.some(hasMoved)).to.equal(true);
    });

    it(`an obstacle that begins and ends before the start is recorded costs no try: ${what}`, async () => {
      const { world, draftId } = await queued();
      const { reached, release } = world.node.faulty.pause("delivery");
      const handled = world.run();
      await reached;
      await set(world, true);
      await set(world, false);
      release();
      await handled;
      expect([count(world, "DeliveryStarted"), count(world, "DraftRequeued")]).to.deep.equal([1, 0]);
      await expectSound(world, [draftId], ["sent"]);
    });
  }

  it("a draft that is set aside fails when its identity is deleted", async () => {
    for (const [, set] of hindrances) {
      const { world, draftId } = await queued();
      await set(world, true);
      await world.drain();
      await world.elsewhere().identities.handle(identityId, { type: "DeleteIdentity", mayLoosen: false }, cause);
      await world.drain();
      expect((await world.state.draft(draftId)).failureCode).to.equal("identity_deleted");
      await expectSound(world, [draftId], ["failed"]);
    }
  });

  it("an approved draft is set aside without a timer during a pause, and sent when that ends", async () => {
    const world = await createSendWorld();
    const draftId = await world.submit();
    await hinder.paused(world, true);
    await world.approve(draftId);
    await world.drain();
    expect((await world.state.draft(draftId)).held).to.equal("sending_paused");
    expect([...world.timers.keys()].filter((name) => name.startsWith("sendApproved/"))).to.deep.equal([]);
    await hinder.paused(world, false);
    await world.drain();
    await expectSound(world, [draftId], ["sent"]);
  });
});

describe("a hand-over that was begun", () => {
  it("a hand-over by an instance that died is unknown at once", async () => {
    const { world, draftId } = await queued();
    world.answer("crash after");
    const before = world.clock.now().getTime();
    const doomed = world.node;
    await deliverOn(world).then(
      () => expect.fail("it should have crashed"),
      () => undefined,
    );
    expect(world.node).to.equal(doomed);
    world.useNode(world.createNode());
    await world.drain();
    expect([count(world, "DeliveryUnknown"), world.clock.now().getTime()]).to.deep.equal([1, before]);
    await world.run();
    expect((await world.state.draft(draftId)).failureCode).to.equal("unconfirmed");
    await expectSound(world, [draftId], ["failed"]);
  });

  it("a hand-over in progress is left alone on its instance; taken over by another, it is settled by its answer", async () => {
    for (const other of [false, true]) {
      const { world, draftId } = await queued();
      let go = () => {};
      const gate = new Promise<void>((resolve) => {
        go = resolve;
      });
      const writing = new Promise<void>((resolve) => {
        world.onWrite(() => {
          resolve();
          return gate;
        });
      });
      const handing = deliverOn(world);
      await writing;
      const second = deliverOn(world, other ? world.createNode() : world.node);
      // The second handler on the same instance ends only with the hand-over.
      await Promise.race([second, new Promise((resolve) => setTimeout(resolve, 20))]);
      go();
      await Promise.all([handing, second]);
      await world.run();
      expect(count(world, "DeliveryUnknown")).to.equal(other ? 1 : 0);
      expect(world.hands).to.have.length(1);
      await expectSound(world, [draftId], ["sent"]);
    }
  });

  it("a hand-over that exceeds its time is unknown, and a late answer settles it", async () => {
    const { world, draftId } = await queued({ handOverSeconds: 0.2 });
    let go = () => {};
    const gate = new Promise<void>((resolve) => {
      go = resolve;
    });
    world.onAnswer(() => gate);
    await deliverOn(world);
    expect(count(world, "DeliveryUnknown")).to.equal(1);
    go();
    await new Promise((resolve) => setImmediate(resolve));
    await world.run(() => count(world, "DeliverySettled") > 0);
    await world.run();
    expect(world.hands).to.have.length(1);
    await expectSound(world, [draftId], ["sent"]);
  });

  it("a hand-over that fails repeatedly is unknown if it was begun, and otherwise fails with everything given back", async () => {
    for (const started of [false, true]) {
      const { world, draftId } = await queued();
      const event = structuredClone(world.log.all.find(({ type }) => type === "DraftQueued")!);
      if (started) {
        world.answer("crash after");
        await deliverOn(world).then(
          () => expect.fail("it should have crashed"),
          () => undefined,
        );
      }
      for (let times = 0; times < 2; times++) await giveUpOn(world, event);
      await world.run();
      expect((await world.state.draft(draftId)).failureCode).to.equal(started ? "unconfirmed" : "internal");
      expect(count(world, "DeliveryUnknown")).to.equal(started ? 1 : 0);
      await expectSound(world, [draftId], ["failed"]);
    }
  });

  it("a settled delivery is handled under its draft's id, or its own if the event names no draft", async () => {
    const { world, draftId } = await queued();
    world.answer(unknown);
    await world.run();
    const settled = structuredClone(world.log.all.find(({ type }) => type === "DeliverySettled")!);
    const process = world.node.processes.find(({ name }) => name === "deliver")!;
    expect(process.keyOf(settled)).to.equal(draftId);
    const { draftId: _, ...before } = settled.data;
    expect(process.keyOf({ ...settled, data: before })).to.equal(settled.stream.slice("delivery-".length));
  });
});

describe("a hand-over that waits for something", () => {
  /** Delays the first call until `come` is called. */
  function delayingFirstCall<T>(ask: () => Promise<T>) {
    let come = (): void => {};
    const arrival = new Promise<void>((resolve) => {
      come = resolve;
    });
    let asked = (): void => {};
    const waitedFor = new Promise<void>((resolve) => {
      asked = resolve;
    });
    let times = 0;
    return {
      waitedFor,
      come,
      async ask(): Promise<T> {
        asked();
        if (++times === 1) await arrival;
        return ask();
      },
    };
  }

  const missing = {
    "the filing of received mail": (world: SendWorld, connect: () => Promise<ReadyConnection>) => {
      world.sendThrough({ name: "outbox", connect, close: async () => {} });
      const { filings } = world.node;
      const fresh = filings.fresh.bind(filings);
      const away = delayingFirstCall(async () => {});
      Object.assign(filings, { kept: () => undefined, fresh: (id: string) => away.ask().then(() => fresh(id)) });
      return away;
    },
    "a connection": (world: SendWorld, connect: () => Promise<ReadyConnection>) => {
      const away = delayingFirstCall(connect);
      world.sendThrough({ name: "outbox", connect: away.ask, close: async () => {} });
      return away;
    },
    "the blob store": (world: SendWorld, connect: () => Promise<ReadyConnection>) => {
      world.sendThrough({ name: "outbox", connect, close: async () => {} });
      const put = world.blobs.put.bind(world.blobs);
      const away = delayingFirstCall(async () => {});
      world.blobs.put = async (bytes) => {
        if (bytes.includes("Message-ID:")) await away.ask();
        return put(bytes);
      };
      return away;
    },
  };

  for (const [what, missIn] of Object.entries(missing)) {
    for (const then of ["sent at the next try", "given up on"] as const) {
      it(`a hand-over ends on request while it waits for ${what}, is ${then}, and starts nothing late`, async () => {
        const { world, draftId } = await queued();
        const event = structuredClone(world.log.all.find(({ type }) => type === "DraftQueued")!);
        const sent: string[] = [];
        let open = 0;
        const away = missIn(world, async () => {
          open += 1;
          return {
            async handOver({ attemptId }, mayWrite) {
              open -= 1;
              if (!(await mayWrite())) return { kind: "not_handed_over", message: "it may not" };
              sent.push(attemptId);
              return { kind: "accepted", response: "250 ok" };
            },
            discard: () => void open--,
          };
        });
        const { node } = world;
        const deliver = node.processes.find(({ name }) => name === "deliver")!;
        const told = new AbortController();
        const handing = tell(deliver, event, { signal: told.signal })!;
        await away.waitedFor;
        told.abort(new Error("it took too long"));
        expect(await handing.catch(({ message }) => message)).to.equal("it took too long");
        expect(open, "connections kept").to.equal(0);
        if (then === "given up on") await giveUpOn(world, event);
        await world.run();
        away.come();
        for (let turns = 0; turns < 20; turns++) await new Promise((resolve) => setImmediate(resolve));
        await world.run();
        const isSent = then === "sent at the next try";
        expect(sent).to.have.length(isSent ? 1 : 0);
        expect([count(world, "DeliveryStarted"), count(world, "DeliveryUnknown")]).to.deep.equal([isSent ? 1 : 0, 0]);
        expect(open, "connections left").to.equal(0);
        const { status, failureCode } = await world.state.draft(draftId);
        expect([status, failureCode]).to.deep.equal(isSent ? ["sent", null] : ["failed", "internal"]);
        expect((await world.state.thread()).claims, "claims left").to.deep.equal({});
        expect(await world.state.quota()).to.equal(isSent ? 1 : 0);
      });
    }
  }
});
