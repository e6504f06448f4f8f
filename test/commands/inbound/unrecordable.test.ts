import { expect } from "chai";
import { createStreamServices } from "#src/commands/handle.ts";
import { fileInbox } from "#src/commands/inbound/filing/fileInbox.ts";
import { releaseHeld } from "#src/commands/inbound/releaseHeldMail.ts";
import { queueSend } from "#src/commands/sends/queueSend.ts";
import { type EventStore, InvalidAppend, type NewEvent, Unavailable } from "#src/eventStore/eventStore.ts";
import { BlobCorrupt } from "#src/platform/blobs/blobs.ts";
import { systemIds } from "#src/platform/clock.ts";
import { ThreadsAway } from "#src/platform/threadPool/faults.ts";
import { idOf } from "#streams/event.ts";
import { cause, createSendWorld, identityId, refusal, type SendWorld, workspaceId } from "#test/processes/sendWorld.ts";
import { Crashed, type StoreFault } from "#test/support/faultyEventStore.ts";
import { receive } from "./filingModel.ts";

type Refused = (event: NewEvent, stream: string) => Error | undefined;

const tooLarge = new InvalidAppend("the data has 700000 bytes");

/** Makes an instance whose store refuses appends that contain such an event, and returns its log of errors. */
function refusing(world: SendWorld, refused: Refused, fault?: StoreFault) {
  const alarms: { delivery: string }[] = [];
  const { faulty } = world.createNode(fault);
  const store: EventStore = {
    ...faulty,
    async append(stream, expected, events) {
      for (const event of events) {
        const error = refused(event as NewEvent, stream);
        if (error) throw error;
      }
      return faulty.append(stream, expected, events);
    },
  };
  const services = createStreamServices({ store, clock: world.clock, ids: systemIds });
  const log = { error: (details: object) => void alarms.push(details as { delivery: string }) };
  return { alarms, faulty, deps: { ...world.createNode(), ...services, store, log } };
}

const id = (number: number) => `<${number}@customer.example>`;

/** Matches the message of this mail, not its marker. */
const messageOf =
  (number: number): Refused =>
  ({ type, data }) =>
    type === "MessageReceived" && data.rfcMessageId === id(number) && !data.quarantined ? tooLarge : undefined;

const eventsOf = (world: SendWorld, type: string) => world.log.all.filter((event) => event.type === type);
const messages = (world: SendWorld) =>
  eventsOf(world, "MessageReceived").map(({ stream, data }) => ({
    number: Number(/\d+/.exec(data.rfcMessageId as string)![0]),
    threadId: idOf(stream),
    quarantined: data.quarantined,
  }));
const quarantines = (world: SendWorld) => eventsOf(world, "MailQuarantined").map(({ data }) => data as any);
const filedUpTo = async (world: SendWorld) => (await world.createNode().filings.load(identityId)).state.filedUpTo;
const file = (deps: Parameters<typeof fileInbox>[0]) => fileInbox(deps, identityId, cause);
const threadOf = (world: SendWorld, number: number) =>
  messages(world).find((message) => message.number === number)?.threadId;

describe("a mail that cannot be recorded", () => {
  it("an unrecordable mail is filed by a marker with an alarm, and later mail is filed in order", async () => {
    const world = await createSendWorld({ deliveries: 1 });
    const { deps, alarms } = refusing(world, messageOf(3));
    await receive(
      world,
      [2, 3, 4].map((number) => ({ number, names: [1] })),
    );
    await receive(world, [{ number: 5, names: [] }]);
    await file(deps);
    expect(messages(world).filter(({ threadId }) => threadId === world.threadId())).to.deep.equal(
      [1, 2, 3, 4].map((number) => ({ number, threadId: world.threadId(), quarantined: number === 3 })),
    );
    expect(threadOf(world, 5)).to.be.a("string").and.not.equal(world.threadId());
    const marker = eventsOf(world, "MessageReceived").find(({ data }) => data.rfcMessageId === id(3))!;
    expect(marker.data).to.deep.include({ body: null, to: [], attachments: [], subject: "My order" });
    expect(quarantines(world)).to.deep.equal([
      {
        number: 3,
        deliveryId: alarms[0]?.delivery,
        reason: "it could not be recorded: it does not fit into an event",
        threadId: null,
      },
    ]);
    expect(alarms).to.have.length(1);
    expect((await world.state.thread()).needsReview).to.equal(true);
    const { length } = world.log.all;
    await file(deps);
    await file(world.createNode());
    expect([world.log.all.length, await filedUpTo(world)]).to.deep.equal([length, 4]);
  });

  const threeMails = [
    { number: 2, names: [1] },
    { number: 3, names: [1] },
    { number: 4, names: [1, 3] },
  ];
  const expectOnce = (world: SendWorld) => {
    expect(messages(world).map(({ number, quarantined }) => [number, quarantined])).to.deep.equal([
      [1, false],
      [2, false],
      [3, true],
      [4, false],
    ]);
    expect(quarantines(world)).to.have.length(1);
  };

  it("a mail whose stored bytes are missing or damaged for ten minutes is filed by its headers, with one alarm", async () => {
    for (const lost of [async () => undefined, async () => Promise.reject(new BlobCorrupt("of another hash"))]) {
      const world = await createSendWorld({ deliveries: 1 });
      await receive(world, [{ number: 2, names: [1] }]);
      const alarms: string[] = [];
      let counted = 0;
      const late = { ...world.clock, now: () => new Date(world.clock.now().getTime() + 11 * 60_000) };
      const broken = {
        blobs: { ...world.createNode().blobs, get: lost },
        log: { error: (_: object, message: string) => void alarms.push(message) },
        countLostMail: () => {
          counted += 1;
        },
      };
      const early = await file({ ...world.createNode(), ...broken }).catch((error: unknown) => error);
      expect([early instanceof Unavailable, alarms]).to.deep.equal([true, []]);
      await file({ ...world.createNode(), ...broken, clock: late });
      await file({ ...world.createNode(), ...broken, clock: late });
      expect(messages(world).map(({ number }) => number)).to.include(2);
      expect([alarms, counted]).to.deep.equal([
        ["the stored bytes of a mail are missing or damaged, quarantining it"],
        1,
      ]);
    }
  });

  it("an unrecordable mail is filed once by two filers at once", async () => {
    const world = await createSendWorld({ deliveries: 1 });
    await receive(world, threeMails);
    await Promise.all([refusing(world, messageOf(3)), refusing(world, messageOf(3))].map(({ deps }) => file(deps)));
    expectOnce(world);
  });

  for (const when of ["before", "after"] as const) {
    it(`an unrecordable mail is filed once after a crash ${when} any append`, async () => {
      for (let at = 1, reached = true; reached; at++) {
        const world = await createSendWorld({ deliveries: 1 });
        await receive(world, threeMails);
        const { deps, faulty } = refusing(world, messageOf(3), { at, when, how: "crash" });
        await file(deps).catch((error: unknown) => expect(error).to.be.instanceOf(Crashed));
        reached = faulty.appends >= at;
        await file(refusing(world, messageOf(3)).deps);
        expectOnce(world);
      }
    });
  }

  it("an unrecordable mail makes a draft stale, even if its decision cannot be recorded", async () => {
    const world = await createSendWorld({ deliveries: 1 });
    const draftId = await world.submit();
    const { deps, alarms } = refusing(world, ({ type, data }) =>
      type === "FilingDecided" && data.rfcMessageId === id(3) && data.disposition === "threaded" ? tooLarge : undefined,
    );
    await receive(world, [
      { number: 2, names: [] },
      { number: 3, names: [1] },
      { number: 4, names: [3] },
    ]);
    await file(deps);
    expect([threadOf(world, 3), threadOf(world, 4)]).to.deep.equal([world.threadId(), world.threadId()]);
    expect(messages(world).filter(({ quarantined }) => quarantined)).to.have.length(1);
    expect(alarms).to.have.length(1);
    expect(await refusal(queueSend(world.node, { draftId, kind: "api_key" }, cause))).to.equal("stale_draft");
  });

  it("customer mail counts on the other threads if one of the threads it joins cannot be merged", async () => {
    const world = await createSendWorld({ deliveries: 1 });
    await receive(world, [
      { number: 2, names: [] },
      { number: 3, names: [] },
    ]);
    await file(world.node);
    const [broken, other] = [threadOf(world, 2)!, threadOf(world, 3)!];
    const { deps } = refusing(world, ({ type, data }) =>
      type === "ThreadAbsorbed" && data.absorbedId === broken ? tooLarge : undefined,
    );
    await receive(world, [{ number: 4, names: [1, 2, 3] }]);
    await file(deps);
    expect(messages(world).at(-1)).to.deep.equal({ number: 4, threadId: world.threadId(), quarantined: true });
    expect((await world.node.threads.load(other)).state.mergedInto).to.equal(world.threadId());
    // A thread whose data cannot be added to the survivor accepts no send.
    expect((await world.node.threads.load(broken)).state.mergedInto).to.equal(world.threadId());
    expect((await world.state.thread()).absorbed).to.deep.equal({ [other]: true });
  });

  it("a mail whose thread takes nothing gets a new thread", async () => {
    const world = await createSendWorld({ deliveries: 1 });
    const { deps, alarms } = refusing(world, (_, stream) =>
      stream === `thread-${world.threadId()}` ? new TypeError("cannot read it") : undefined,
    );
    await receive(world, [
      { number: 2, names: [1] },
      { number: 3, names: [1] },
      { number: 4, names: [] },
    ]);
    let runs = 1;
    for (; (await filedUpTo(world)) < 3 && runs < 100; runs++) {
      await file(deps).catch(() => {});
      world.sleepThrough(500);
    }
    expect(runs).to.be.below(100);
    const late = messages(world).slice(1);
    expect(late.map(({ number, quarantined }) => [number, quarantined])).to.have.deep.members([
      [2, true],
      [3, true],
      [4, false],
    ]);
    expect(new Set([world.threadId(), ...late.map(({ threadId }) => threadId)]).size).to.equal(4);
    expect(quarantines(world).map(({ threadId }) => threadId === null)).to.deep.equal([true, false, true, false]);
    expect(alarms).to.have.length(4);
  });

  it("an unrecordable mail is tried again as long as the cause may be temporary", async () => {
    const world = await createSendWorld({ deliveries: 1 });
    let [failures, pauseMs] = [0, 500];
    const { deps, alarms } = refusing(world, ({ type }) =>
      type === "MessageReceived" && failures-- > 0 ? new TypeError("for now") : undefined,
    );
    const triedInVain = async (times: number) => {
      failures = times;
      for (let tries = 0; tries < times; tries++, world.sleepThrough(pauseMs)) {
        expect(String(await file(deps).catch(String))).to.include("for now");
      }
    };
    await receive(world, [{ number: 2, names: [1] }]);
    await triedInVain(2);
    // Concurrent tries count as one try.
    pauseMs = 0;
    await triedInVain(20);
    await file(deps);
    expect(messages(world).at(-1)).to.include({ number: 2, quarantined: false });
    const away = refusing(world, ({ type }) => (type === "MessageReceived" ? new Unavailable("away") : undefined));
    await receive(world, [{ number: 3, names: [1] }]);
    for (let tries = 0; tries < 20; tries++, world.sleepThrough(500)) {
      expect(String(await file(away.deps).catch(String))).to.include("away");
    }
    expect([...alarms, ...away.alarms, ...quarantines(world)]).to.deep.equal([]);
  });

  it("an unrecordable mail that is held stays held, and is released by a marker", async () => {
    const world = await createSendWorld({ inboundCap: 1, deliveries: 1 });
    const refused: Refused = (event, stream) =>
      event.type === "MessageHeld" && (event.data.from as any)?.name === "Ann" && event.data.number === 2
        ? tooLarge
        : messageOf(2)(event, stream);
    const { deps } = refusing(world, (event, stream) => (failing ? refused(event, stream) : undefined));
    let failing = true;
    await receive(world, [
      { number: 2, names: [1] },
      { number: 3, names: [1] },
    ]);
    // The marker is refused until it is filed on a new thread, which accepts it.
    const sent = file(deps).catch((error: unknown) => error);
    expect(String(await sent)).to.include("700000");
    failing = false;
    await file(deps);
    expect((await deps.filings.load(identityId)).state.held.count).to.equal(2);
    failing = true;
    deps.settings.planLimits = undefined as never;
    await releaseHeld(deps, { workspaceId, identityIds: [identityId] }, cause);
    expect(messages(world).map(({ number, quarantined }) => [number, quarantined])).to.have.deep.members([
      [1, false],
      [2, true],
      [3, false],
    ]);
    expect((await deps.filings.load(identityId)).state.held.count).to.equal(0);
  });
});

describe("a mail that cannot be read", () => {
  const damaged = Object.assign(new Error("invalid page in block 7"), { code: "XX001" });
  const bug = new TypeError("cannot read it");
  /** Makes an instance whose blob store or parser fails for the mails with these numbers. */
  function failing(world: SendWorld, fails: (number: number) => Error | undefined, where: "blobs" | "parser") {
    const { deps, alarms } = refusing(world, () => undefined);
    const failure = (raw: Buffer | undefined) => fails(Number(/^mail (\d+)/.exec(String(raw))?.[1]));
    const { blobs, parser } = deps;
    const get = async (sha256: string) => {
      const raw = await blobs.get(sha256);
      const error = failure(raw);
      if (error) throw error;
      return raw;
    };
    const parse: typeof parser.parse = async (raw, about) => {
      const error = failure(raw);
      if (error) throw error;
      return parser.parse(raw, about);
    };
    return {
      alarms,
      deps: where === "blobs" ? { ...deps, blobs: { ...blobs, get } } : { ...deps, parser: { ...parser, parse } },
    };
  }
  /** Files until everything is filed, and returns the number of runs. */
  async function fileAll(world: SendWorld, deps: Parameters<typeof fileInbox>[0], most = 50): Promise<number> {
    for (let runs = 1; runs <= most; runs++, world.sleepThrough(500)) {
      if (
        await file(deps).then(
          () => true,
          () => false,
        )
      )
        return runs;
    }
    return Number.POSITIVE_INFINITY;
  }

  for (const [what, where, error] of [
    ["whose bytes are damaged", "blobs", damaged],
    ["that its parser fails on", "parser", bug],
  ] as const) {
    it(`a mail ${what} is filed by its headers, and later mail is filed`, async () => {
      const world = await createSendWorld({ deliveries: 1 });
      const draftId = await world.submit();
      const { deps, alarms } = failing(world, (number) => (number === 3 ? error : undefined), where);
      await receive(world, [
        { number: 2, names: [] },
        { number: 3, names: [1] },
        { number: 4, names: [] },
      ]);
      expect(await fileAll(world, deps)).to.equal(4);
      expect(messages(world).map(({ number, quarantined }) => [number, quarantined])).to.deep.equal([
        [1, false],
        [2, false],
        [3, true],
        [4, false],
      ]);
      expect(threadOf(world, 3)).to.equal(world.threadId());
      const decided = eventsOf(world, "FilingDecided").find(({ data }) => data.rfcMessageId === id(3))!;
      expect(decided.data).to.deep.include({ disposition: "quarantined", reason: "it could not be read" });
      expect((await world.state.thread()).needsReview).to.equal(true);
      expect(alarms).to.have.length(1);
      expect(await refusal(queueSend(deps, { draftId, kind: "api_key" }, cause))).to.equal("stale_draft");
    });
  }

  it("an unreadable mail is given up separately, however many fail with it and whenever they began", async () => {
    const world = await createSendWorld({ deliveries: 1 });
    let isLate = false;
    const { deps, alarms } = failing(
      world,
      (number) => (number === 2 || (number === 3 && isLate) ? bug : undefined),
      "parser",
    );
    await receive(
      world,
      [2, 3, 4].map((number) => ({ number, names: [1] })),
    );
    expect(await fileAll(world, deps, 2)).to.equal(Number.POSITIVE_INFINITY);
    isLate = true;
    expect(await fileAll(world, deps)).to.be.below(10);
    expect(messages(world).map(({ quarantined }) => quarantined)).to.deep.equal([false, true, true, false]);
    expect(alarms).to.have.length(2);
  });

  it("an unreadable mail that was read before a crash is filed by a marker", async () => {
    const world = await createSendWorld({ deliveries: 1 });
    await receive(world, [
      { number: 2, names: [1] },
      { number: 3, names: [1] },
    ]);
    const crashing = refusing(world, ({ type }) => (type === "MessageReceived" ? new Crashed("now") : undefined));
    await file(crashing.deps).catch(() => {});
    expect((await world.createNode().filings.load(identityId)).state.pending).to.have.length(2);
    const { deps, alarms } = failing(world, (number) => (number === 2 ? damaged : undefined), "blobs");
    expect(await fileAll(world, deps)).to.be.below(10);
    expect(messages(world).map(({ number, quarantined }) => [number, quarantined])).to.deep.equal([
      [1, false],
      [2, true],
      [3, false],
    ]);
    expect(quarantines(world).map(({ reason }) => reason)).to.deep.equal(["it could not be read"]);
    expect(alarms).to.have.length(2);
  });

  it("a mail that cannot be read for a temporary cause waits, and is then read", async () => {
    for (const error of [new Unavailable("away"), new ThreadsAway("no thread"), damaged]) {
      const world = await createSendWorld({ deliveries: 1 });
      let isAway = true;
      const { deps, alarms } = failing(world, () => (isAway ? error : undefined), "parser");
      await receive(world, [{ number: 2, names: [1] }]);
      const tries = error === damaged ? 3 : 20;
      expect(await fileAll(world, deps, tries)).to.equal(Number.POSITIVE_INFINITY);
      isAway = false;
      await file(deps);
      expect(messages(world).at(-1)).to.include({ number: 2, quarantined: false });
      expect(alarms).to.deep.equal([]);
    }
  });
});
