import { expect } from "chai";
import { expireMail, type Retention } from "#src/commands/inbound/expireMail.ts";
import { fileInbox } from "#src/commands/inbound/filing/fileInbox.ts";
import { releaseHeld } from "#src/commands/inbound/releaseHeldMail.ts";
import { queueSend } from "#src/commands/sends/queueSend.ts";
import { expireMail as expiringMail } from "#src/processes/expireMail.ts";
import { Rejected } from "#streams/decider.ts";
import { cause, createSendWorld, identityId, type SendWorld, workspaceId } from "#test/processes/sendWorld.ts";
import { receive } from "./filingModel.ts";

const dayMs = 86_400_000;
const days = (held: Retention["held"], quarantined: Retention["quarantined"] = "never"): Retention => ({
  held,
  quarantined,
});

const setStatus = (world: SendWorld, status: "active" | "disabled") => world.changeIdentity({ status });
const dataOf = (world: SendWorld, type: string) =>
  world.log.all.filter((event) => event.type === type).map(({ data }) => data as any);
const numbersOf = (world: SendWorld, type: string): number[] => dataOf(world, type).map(({ number }) => number);

const expire = (world: SendWorld, retention: Retention, node = world.node) =>
  expireMail(node, { workspaceId, identityId, retention }, cause);
const release = (world: SendWorld) => releaseHeld(world.node, { workspaceId, identityIds: [identityId] }, cause);

/** Receives and files mails while the identity is disabled: each becomes a marker of held mail. */
async function hold(world: SendWorld, ...numbers: number[]): Promise<void> {
  await setStatus(world, "disabled");
  for (const number of numbers) await receive(world, [{ number, names: [1] }]);
  await fileInbox(world.node, identityId, cause);
}

/** Receives and files mails while no mail can be parsed: each is quarantined. */
async function quarantine(world: SendWorld, ...numbers: number[]): Promise<void> {
  const { parser } = world.node;
  const { parse } = parser;
  parser.parse = async (...given) => ({ ...(await parse(...given)), bodyText: null, unreadable: "it is damaged" });
  for (const number of numbers) await receive(world, [{ number, names: [1] }]);
  await fileInbox(world.node, identityId, cause);
  parser.parse = parse;
}

describe("kept mail after the retention days", () => {
  it("held mail expires oldest first and is then never released; younger mail is released", async () => {
    const world = await createSendWorld({ deliveries: 1 });
    await hold(world, 2, 3);
    world.sleepThrough(2 * dayMs);
    await hold(world, 4);
    world.sleepThrough(dayMs - 1);
    expect(await expire(world, days(3))).to.equal("some kept");
    expect(numbersOf(world, "HeldMailExpired")).to.deep.equal([]);
    world.sleepThrough(1);
    expect(await expire(world, days(3))).to.equal("more");
    expect(await expire(world, days(3))).to.equal("some kept");
    const markers = dataOf(world, "MessageHeld");
    expect(dataOf(world, "HeldMailExpired")).to.deep.equal(
      [0, 1].map((n) => ({
        number: markers[n].number,
        deliveryIds: [markers[n].deliveryId],
        afterDays: 3,
        markerRevision: world.log.all.find(
          ({ type, data }) => type === "FilingDecided" && data.number === markers[n].number,
        )?.revision,
      })),
    );
    await setStatus(world, "active");
    await release(world);
    expect(dataOf(world, "MessageReceived").map(({ rfcMessageId }) => rfcMessageId)).to.deep.equal([
      ...["<1@customer.example>", "<4@customer.example>"],
    ]);
    world.sleepThrough(10 * dayMs);
    expect(await expire(world, days(3))).to.equal("nothing kept");
    expect(dataOf(world, "HeldMailExpired")).to.have.length(2);
  });

  it("expired held mail still makes drafts stale, and nothing based on older mail is sent", async () => {
    const world = await createSendWorld({ deliveries: 1 });
    const draftId = await world.submit();
    await hold(world, 2);
    const word = (await world.state.thread()).newestWord;
    expect(word?.number).to.equal(2);
    world.sleepThrough(3 * dayMs);
    await expire(world, days(3));
    await setStatus(world, "active");
    await release(world);
    expect((await world.state.thread()).newestWord).to.deep.equal(word);
    const error = await queueSend(world.node, { draftId, kind: "api_key" }, cause).catch((thrown) => thrown);
    expect(error).to.be.instanceOf(Rejected).with.property("code", "stale_draft");
    expect(error.details.new_message_id).to.equal(word?.messageId);
    expect(dataOf(world, "SendClaimed")).to.deep.equal([]);
  });

  it("quarantined mail expires with its repeated deliveries, and its message stays", async () => {
    const world = await createSendWorld({ deliveries: 1 });
    await quarantine(world, 2, 3);
    await receive(world, [{ number: 2, names: [1] }]);
    await fileInbox(world.node, identityId, cause);
    const told = JSON.stringify(dataOf(world, "MessageReceived"));
    world.sleepThrough(dayMs);
    await quarantine(world, 4);
    world.sleepThrough(dayMs);
    for (const found of ["more", "some kept"]) expect(await expire(world, days(1, 2))).to.equal(found);
    const of = (number: number) =>
      dataOf(world, "FilingDecided")
        .filter(({ rfcMessageId }) => rfcMessageId === `<${number}@customer.example>`)
        .map(({ deliveryId }) => deliveryId);
    expect(of(2)).to.have.length(2);
    expect(dataOf(world, "QuarantinedMailExpired")).to.deep.equal([
      { number: 2, deliveryIds: of(2), afterDays: 2 },
      { number: 3, deliveryIds: of(3), afterDays: 2 },
    ]);
    expect(JSON.stringify(dataOf(world, "MessageReceived").slice(0, 3))).to.equal(told);
    expect(await expire(world, days("never"))).to.equal("some kept");
    world.sleepThrough(dayMs);
    for (const found of ["more", "nothing kept"]) expect(await expire(world, days("never", 2))).to.equal(found);
    expect(numbersOf(world, "HeldMailExpired")).to.deep.equal([]);
  });

  it("the stream decides which mail expires, whatever a read model says", async () => {
    const world = await createSendWorld({ deliveries: 1 });
    const decided = world.log.all.find(({ type }) => type === "FilingDecided")!;
    const { deliveryId: id, messageId: message_id, number: filing_number } = decided.data as any;
    const row = { id, message_id, filing_number, filing_revision: decided.revision };
    const tx = { query: async () => ({ rows: [row] as never[], rowCount: 1 }) };
    world.sleepThrough(9 * dayMs);
    const error = await expire(world, days(1, 1), {
      ...world.node,
      reads: { ...world.node.reads, of: () => tx },
    }).catch((thrown) => thrown);
    expect(error.message).to.match(/does not say at revision 0 that delivery .* is quarantined$/);
    expect(numbersOf(world, "QuarantinedMailExpired")).to.deep.equal([]);
  });

  it("kept mail expires once with two concurrent runs and a release", async () => {
    const world = await createSendWorld({ deliveries: 1 });
    await hold(world, ...[2, 3, 4, 5, 6]);
    world.sleepThrough(3 * dayMs);
    await setStatus(world, "active");
    const [one, other] = [world.createNode(), world.createNode()];
    await Promise.all([expire(world, days(3), one), release(world), expire(world, days(3), other)]);
    const expired = numbersOf(world, "HeldMailExpired");
    const released = dataOf(world, "FilingDecided").flatMap(({ releases }) => releases?.number ?? []);
    expect([...expired, ...released].sort()).to.deep.equal([2, 3, 4, 5, 6]);
    expect(dataOf(world, "MessageReceived")).to.have.length(1 + released.length);
  });

  it("expiry is checked once a day, so that a retention set later takes effect", async () => {
    const world = await createSendWorld({ deliveries: 1 });
    const retention = days("never");
    world.node.processes.push(expiringMail(world.node, retention));
    await hold(world, 2, 3);
    await world.drain();
    const looks = () => [...world.timers.keys()].filter((key) => key.startsWith("expireMail/"));
    expect(looks(), "one for both").to.have.length(1);
    for (let day = 0; day < 5; day++) {
      await world.advance(dayMs);
      expect(looks(), "the next").to.have.length(1);
    }
    expect(numbersOf(world, "HeldMailExpired")).to.deep.equal([]);
    retention.held = 7;
    await world.advance(dayMs);
    expect(numbersOf(world, "HeldMailExpired")).to.deep.equal([]);
    await world.advance(2 * dayMs);
    expect(numbersOf(world, "HeldMailExpired")).to.deep.equal([2, 3]);
    expect(looks(), "nothing is kept any more").to.deep.equal([]);
  });
});
