import { expect } from "chai";
import { systemIds } from "#src/clock.ts";
import { fileInbox } from "#src/commands/inbound/filing.ts";
import type { FilingDecision } from "#streams/filing/events.ts";
import type { MailHeaders } from "#streams/inbox/events.ts";
import { cause, createSendWorld, identityId, type SendWorld, workspaceId } from "#test/processes/sendWorld.ts";
import { mailReceived } from "#test/support/examples/index.ts";

const first = "<1@customer.example>";
const stranger = "<rewritten@relay.example>";

/** A bounce belongs where the mail of ours is that it reports, else where its References say. */
describe("a bounce [d5 threading]", () => {
  const ownId = (world: SendWorld, of: Partial<{ identityId: string; threadId: string; attemptId: string }> = {}) =>
    world.node.messageIds.mint({
      ...{ identityId, threadId: world.threadId(), attemptId: systemIds.uuid(), domain: "agents.localhost" },
      ...of,
    });

  type Mailed = { number: number; references: string[] } & Partial<Omit<MailHeaders, "references">>;

  /** Files a mail; answers what was decided about it. */
  async function file(world: SendWorld, { number, references, ...different }: Mailed): Promise<FilingDecision> {
    const rawSha256 = await world.blobs.put(Buffer.from(`mail ${number}`));
    const mail = mailReceived({ number, references, identityId, workspaceId, rawSha256 });
    const received = { ...mail, headers: { ...mail.headers, ...different } };
    await world.node.inboxes.handle(identityId, { type: "ReceiveMail", mail: received }, cause);
    await fileInbox(world.node, identityId, cause);
    return world.log.all.filter(({ type }) => type === "FilingDecided").at(-1)!.data as FilingDecision;
  }
  const bounce = (world: SendWorld, mailed: Mailed) => file(world, { ...mailed, classification: "bounce" });

  it("that reports a mail of ours joins its thread, whatever else it names", async () => {
    const world = await createSendWorld();
    const other = await file(world, { number: 2, references: [] });
    const own = ownId(world);
    const decided = await bounce(world, {
      number: 3,
      references: [other.rfcMessageId],
      reportedMessageIds: [stranger, own],
    });
    expect(decided).to.include({ threadId: world.threadId(), opensThread: false });
    expect([decided.absorbs, decided.bouncedAttemptId]).to.deep.equal([[], world.node.messageIds.open(own)!.attemptId]);
    expect(decided.chainIds).to.deep.equal(["<3@customer.example>", own]);
  });

  for (const [what, reported] of [
    ["an unknown id", () => [stranger]],
    ["another identity's mail", (world: SendWorld) => [ownId(world, { identityId: systemIds.uuid() })]],
    ["several unknown ids", () => [stranger, "<more@relay.example>"]],
  ] as const) {
    it(`that reports ${what} joins by its References, and what it reports joins nothing later`, async () => {
      const world = await createSendWorld();
      const ids = reported(world);
      const decided = await bounce(world, { number: 2, references: [first], reportedMessageIds: ids });
      expect(decided).to.include({ threadId: world.threadId(), opensThread: false, bouncedAttemptId: null });
      expect(decided.chainIds).to.deep.equal(["<2@customer.example>", first]);
      for (const [index, id] of ids.entries()) {
        const later = await file(world, { number: 3 + index, references: [id] });
        expect([later.opensThread, later.absorbs]).to.deep.equal([true, []]);
      }
    });
  }

  it("that names nothing goes by the first id it reports, before and after the mail of that id", async () => {
    for (const earlier of [true, false]) {
      const world = await createSendWorld();
      if (earlier) await file(world, { number: 2, references: [], messageId: stranger });
      const decided = await bounce(world, { number: 3, references: [], reportedMessageIds: [stranger, first] });
      const later = earlier ? decided : await file(world, { number: 2, references: [], messageId: stranger });
      expect([later.opensThread, decided.absorbs, later.absorbs]).to.deep.equal([false, [], []]);
      expect(decided.threadId).to.not.equal(world.threadId());
    }
  });

  it("that names nothing and reports nothing opens a thread of its own", async () => {
    const world = await createSendWorld();
    expect((await bounce(world, { number: 2, references: [], reportedMessageIds: [] })).opensThread).to.equal(true);
  });
});
