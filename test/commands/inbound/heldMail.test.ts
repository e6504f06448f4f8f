import { expect } from "chai";
import fc from "fast-check";
import { fileInbox } from "#src/commands/inbound/filing/fileInbox.ts";
import { releaseHeld } from "#src/commands/inbound/releaseHeldMail.ts";
import { countInbound } from "#src/commands/plans/quotas.ts";
import { queueSend } from "#src/commands/sends/queueSend.ts";
import { Unavailable } from "#src/eventStore/eventStore.ts";
import { Rejected } from "#streams/decider.ts";
import { quotaStream } from "#streams/quota/events.ts";
import { cause, createSendWorld, identityId, type SendWorld, workspaceId } from "#test/processes/sendWorld.ts";
import { mailReceived } from "#test/support/examples/index.ts";
import { Crashed } from "#test/support/faultyEventStore.ts";
import { sized } from "#test/support/full.ts";
import { countingReads, expectFiled, graph, receive, type Sent, seed } from "./filingModel.ts";

const setStatus = (world: SendWorld, status: "active" | "disabled") =>
  world.node.identities.handle(identityId, { type: "UpdateIdentity", changes: { status }, mayLoosen: false }, cause);

const dataOf = (world: SendWorld, type: string) =>
  world.log.all.filter((event) => event.type === type).map(({ data }) => data as any);

const inboundUsed = async (world: SendWorld) =>
  (await world.createNode().quotas.load(quotaStream(workspaceId, "inbound-lifetime"))).state.used;

const staleBecauseOf = async (work: Promise<unknown>): Promise<unknown> => {
  const error = await work.catch((thrown: unknown) => thrown);
  expect(error).to.be.instanceOf(Rejected).with.property("code", "stale_draft");
  return (error as Rejected).details.new_message_id;
};

describe("held mail", () => {
  it("held mail of a disabled identity makes drafts stale at once, and again when it is released [d5 held]", async () => {
    const world = await createSendWorld();
    const draftId = await world.submit();
    await setStatus(world, "disabled");
    await world.acknowledge(2, ["<1@customer.example>"]);
    await world.drain();
    const [marker] = dataOf(world, "MessageHeld");
    expect(marker).to.include({ number: 2, opensThread: false }).and.not.have.any.keys("body", "subject");
    expect((await world.state.thread()).newestWord).to.deep.equal({ messageId: marker.messageId, number: 2 });
    await setStatus(world, "active");
    expect(await staleBecauseOf(queueSend(world.node, { draftId, kind: "api_key" }, cause))).to.equal(marker.messageId);
    await world.drain();
    expect(dataOf(world, "MessageReceived").at(-1)).to.include({ messageId: marker.messageId, number: 3 });
    expect((await world.state.thread()).newestWord).to.deep.equal({ messageId: marker.messageId, number: 3 });
    expect(await inboundUsed(world)).to.equal(2);
  });

  it("held mail over the quota is a marker, and a repetition of it is a duplicate that does not count [d5 held] [d10 inbound]", async () => {
    const world = await createSendWorld({ inboundCap: 2 });
    for (const number of [2, 3, 3, 2]) await receive(world, [{ number, names: [1] }]);
    await world.drain();
    const dispositions = dataOf(world, "FilingDecided").map(({ disposition }) => disposition);
    expect(dispositions).to.deep.equal(["threaded", "threaded", "held_over_quota", "duplicate", "duplicate"]);
    expect(await inboundUsed(world)).to.equal(2);
    expect((await world.state.thread()).newestWord?.number).to.equal(3);
  });

  it("held mail is not parsed before it is released, and a repetition never", async () => {
    const world = await createSendWorld({ inboundCap: 2 });
    const { parser } = world.node;
    const { parse } = parser;
    const read: string[] = [];
    parser.parse = (raw, about) => {
      read.push(about.turn);
      return parse(raw, about);
    };
    for (const number of [2, 3, 3, 2]) await receive(world, [{ number, names: [1] }]);
    await fileInbox(world.node, identityId, cause);
    expect(dataOf(world, "FilingDecided")).to.have.length(5);
    expect(read, "the one that is shown").to.deep.equal([identityId]);
  });

  it("held mail of a machine makes nothing stale", async () => {
    const world = await createSendWorld();
    const draftId = await world.submit();
    await setStatus(world, "disabled");
    const mail = mailReceived({ number: 2, references: [], identityId, workspaceId, rawSha256: "none" });
    mail.rawSha256 = await world.node.blobs.put(Buffer.from("out of office"));
    mail.headers = { ...mail.headers, threadIds: ["<1@customer.example>"], classification: "auto_reply" };
    await world.node.inboxes.handle(identityId, { type: "ReceiveMail", mail }, cause);
    await world.drain();
    await setStatus(world, "active");
    expect(dataOf(world, "MessageHeld")).to.have.length(1);
    await queueSend(world.node, { draftId, kind: "api_key" }, cause);
    expect((await world.state.draft(draftId)).status).to.equal("sending");
  });

  it("a send and held mail never miss each other: the mail is there before the claim, or arrived after the request", async () => {
    const world = await createSendWorld();
    const draftId = await world.submit();
    await setStatus(world, "disabled");
    await world.acknowledge(2, ["<1@customer.example>"]);
    await setStatus(world, "active");
    // The mail is acknowledged and not filed yet: the send waits for its marker or its message.
    const [outcome] = await Promise.allSettled([
      queueSend(world.node, { draftId, kind: "api_key" }, cause),
      world.drain(),
    ]);
    expect(outcome.status).to.equal("rejected");
    expect((await world.state.draft(draftId)).status).to.equal("stale");
  });

  const property = (runs: number, check: (world: SendWorld, mails: Sent[], held: boolean[]) => Promise<void>) =>
    fc.assert(
      fc.asyncProperty(graph, fc.array(fc.boolean(), { minLength: 12, maxLength: 12 }), async (mails, held) =>
        check(await createSendWorld({ deliveries: 1 }), mails, held),
      ),
      { seed, numRuns: runs },
    );

  /** Receives and files the mails, some of them while the identity is disabled; afterwards the identity is active. */
  async function fileSome(world: SendWorld, mails: readonly Sent[], held: readonly boolean[]): Promise<void> {
    for (const [index, mail] of mails.entries()) {
      await setStatus(world, held[index] ? "disabled" : "active");
      await receive(world, [mail]);
      await fileInbox(world.node, identityId, cause);
    }
    await setStatus(world, "active");
  }

  const release = (world: SendWorld, node = world.node) =>
    releaseHeld(node, { workspaceId, identityIds: [identityId] }, cause);

  async function expectReleased(world: SendWorld, mails: readonly Sent[]): Promise<void> {
    await expectFiled(world, mails);
    const releases = dataOf(world, "FilingDecided").filter((decision) => decision.releases !== undefined);
    const markers = dataOf(world, "MessageHeld");
    expect(releases.map(({ releases }) => releases.number)).to.deep.equal(
      markers.map(({ number }) => number).sort((a, b) => a - b),
    );
    expect(await inboundUsed(world)).to.equal(dataOf(world, "MessageReceived").length);
  }

  it("held mail is released in order into the threads as merged by then, each message once", () =>
    property(sized(20, 100), async (world, mails, held) => {
      await fileSome(world, mails, held);
      await release(world);
      await expectReleased(world, mails);
      const length = world.log.all.length;
      await release(world, world.createNode());
      expect(world.log.all.length).to.equal(length);
    }));

  it("held mail is released once by two releases at once and a filer", () =>
    property(sized(15, 60), async (world, mails, held) => {
      await fileSome(world, mails, held);
      await receive(world, [{ number: 13, names: [1, 2, 3] }]);
      const other = world.createNode();
      await Promise.all([release(world), release(world, other), fileInbox(world.createNode(), identityId, cause)]);
      await release(world);
      await expectReleased(world, [...mails, { number: 13, names: [1, 2, 3] }]);
    }));

  for (const when of ["before", "after"] as const) {
    for (const how of ["crash", "unavailable"] as const) {
      it(`held mail is released once after a ${how} ${when} any append`, () =>
        property(sized(3, 6), async (_, mails, held) => {
          for (let at = 1, reached = true; reached; at++) {
            const world = await createSendWorld({ deliveries: 1 });
            await fileSome(world, mails, held);
            const faulty = world.createNode({ at, when, how });
            await release(world, faulty).catch((error: unknown) => {
              if (!(error instanceof Crashed || error instanceof Unavailable)) throw error;
            });
            reached = faulty.faulty.appends >= at;
            await release(world, how === "crash" ? world.createNode() : faulty);
            await fileInbox(world.node, identityId, cause);
            await expectReleased(world, mails);
          }
        }));
    }
  }

  it("held mail is released only as far as the plan reaches, oldest first [d10 inbound]", async () => {
    const world = await createSendWorld({ inboundCap: 4, deliveries: 1 });
    await setStatus(world, "disabled");
    await receive(
      world,
      [2, 3, 4, 5, 6].map((number) => ({ number, names: [1] })),
    );
    await fileInbox(world.node, identityId, cause);
    await setStatus(world, "active");
    expect(await release(world)).to.equal(true);
    const received = dataOf(world, "MessageReceived").map(({ rfcMessageId }) => Number(/\d+/.exec(rfcMessageId)![0]));
    expect(received).to.deep.equal([1, 2, 3, 4]);
    expect(await inboundUsed(world)).to.equal(4);
  });

  it("a release of held mail costs what a page costs, however much is held", async () => {
    const count = sized(300, 10_000);
    const world = await createSendWorld({ inboundCap: 1_000_000, deliveries: 1 });
    await setStatus(world, "disabled");
    await receive(
      world,
      Array.from({ length: count }, (_, n) => ({ number: n + 2, names: [1] })),
    );
    await fileInbox(world.node, identityId, cause);
    await setStatus(world, "active");
    const { deps, read } = countingReads(world);
    await deps.filings.load(identityId);
    const folded = read();
    await release(world, deps as never);
    // Each page of held mail reads at most 200 further events of the stream.
    expect(read() - folded).to.be.below((count / 50 + 1) * 200);
    const releases = dataOf(world, "FilingDecided").filter(({ releases }) => releases !== undefined);
    expect(releases.map(({ releases }) => releases.number)).to.deep.equal(
      Array.from({ length: count }, (_, n) => n + 2),
    );
  });

  it("a release of held mail is complete if mail was counted before older mail", async () => {
    const world = await createSendWorld({ inboundCap: 3, deliveries: 1 });
    await setStatus(world, "disabled");
    const mails = [2, 3, 4].map((number) => ({ number, names: [1] }));
    await receive(world, mails);
    await fileInbox(world.node, identityId, cause);
    await setStatus(world, "active");
    const [, , , last] = dataOf(world, "MailReceived");
    // An interrupted filer had counted the last mail.
    await countInbound(world.node, { workspaceId, deliveryIds: [last.deliveryId] }, cause);
    expect(await release(world)).to.equal(true);
    const of = () => dataOf(world, "FilingDecided").flatMap(({ releases }) => releases?.number ?? []);
    expect(of()).to.deep.equal([2]);
    world.node.settings.planLimits = undefined as never;
    expect(await release(world)).to.equal(false);
    expect(of()).to.deep.equal([2, 3, 4]);
  });
});
