import { expect } from "chai";
import { fileInbox } from "#src/commands/inbound/filing/fileInbox.ts";
import { systemIds } from "#src/platform/clock.ts";
import type { FilingDecision } from "#streams/filing/events.ts";
import type { MailHeaders } from "#streams/inbox/events.ts";
import { cause, createSendWorld, identityId, type SendWorld, workspaceId } from "#test/processes/sendWorld.ts";
import { mailReceived } from "#test/support/examples/index.ts";

const first = "<1@customer.example>";
const stranger = "<rewritten@relay.example>";

/** A bounce belongs to the thread of the mail that it reports, if that mail is ours; otherwise to the thread that its References name. */
describe("a bounce [d5 threading]", () => {
  const ownId = (world: SendWorld, of: Partial<{ identityId: string; threadId: string; attemptId: string }> = {}) =>
    world.node.messageIds.mint({
      ...{ identityId, threadId: world.threadId(), attemptId: systemIds.uuid(), domain: "agents.localhost" },
      ...of,
    });

  type Mailed = { number: number; references: string[] } & Partial<Omit<MailHeaders, "references">>;

  /** Files a mail and returns the filing decision. */
  async function file(world: SendWorld, { number, references, ...different }: Mailed): Promise<FilingDecision> {
    const rawSha256 = await world.blobs.put(Buffer.from(`mail ${number}`));
    const mail = mailReceived({ number, references, identityId, workspaceId, rawSha256 });
    const received = { ...mail, headers: { ...mail.headers, ...different } };
    await world.node.inboxes.handle(identityId, { type: "ReceiveMail", mail: received }, cause);
    await fileInbox(world.node, identityId, cause);
    return world.log.all.filter(({ type }) => type === "FilingDecided").at(-1)!.data as FilingDecision;
  }
  const bounce = (world: SendWorld, mailed: Mailed) => file(world, { ...mailed, classification: "bounce" });

  it("a bounce that reports a mail of ours joins that mail's thread, whatever else it names", async () => {
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
    it(`a bounce that reports ${what} joins by its References, and its reported id joins nothing later`, async () => {
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

  describe("a bounce of a mail that got another Message-ID on its way", () => {
    const changed = { reportedMessageIds: [stranger], references: [] };

    it("a bounce with a changed id joins by what that mail answered, and no mail of ours counts as bounced", async () => {
      const world = await createSendWorld();
      const decided = await bounce(world, { number: 2, ...changed, reportedReferences: [first] });
      expect(decided).to.include({ threadId: world.threadId(), opensThread: false, bouncedAttemptId: null });
      expect(decided.chainIds).to.deep.equal(["<2@customer.example>", first]);
    });

    it("a bounce with a changed id joins by an earlier mail of ours, which does not count as bounced", async () => {
      const world = await createSendWorld();
      const earlier = ownId(world);
      const decided = await bounce(world, {
        number: 2,
        ...changed,
        reportedReferences: ["<unseen@x.example>", earlier],
      });
      expect(decided).to.include({ threadId: world.threadId(), opensThread: false, bouncedAttemptId: null });
    });

    it("a bounce with a changed id that answers this id joins the same thread, and merges nothing", async () => {
      const world = await createSendWorld();
      const mailed = { ...changed, references: [stranger], reportedReferences: [first] };
      const decided = await bounce(world, { number: 2, ...mailed });
      expect(decided).to.include({ threadId: world.threadId(), opensThread: false });
      expect(decided.absorbs).to.deep.equal([]);
    });

    it("a bounce joins nothing by another identity's mail or ids", async () => {
      const world = await createSendWorld();
      const foreign = ownId(world, { identityId: systemIds.uuid() });
      for (const [index, id] of [foreign, "<known@elsewhere.example>"].entries()) {
        const decided = await bounce(world, { number: 2 + index, ...changed, reportedReferences: [id] });
        expect(decided).to.include({ opensThread: true, bouncedAttemptId: null });
        expect([decided.threadId === world.threadId(), decided.absorbs]).to.deep.equal([false, []]);
      }
    });

    it("a bounce belongs to the mail of ours that it reports, whatever that mail answered", async () => {
      const world = await createSendWorld();
      const other = await file(world, { number: 2, references: [] });
      const own = ownId(world);
      const decided = await bounce(world, {
        number: 3,
        references: [],
        reportedMessageIds: [stranger, own],
        reportedReferences: [other.rfcMessageId],
      });
      expect([decided.threadId, decided.absorbs]).to.deep.equal([world.threadId(), []]);
    });

    it("a bounce takes no more ids than any mail may name", async () => {
      const world = await createSendWorld();
      const many = (prefix: string) => Array.from({ length: 50 }, (_, n) => `<${prefix}${n}@x.example>`);
      const mailed = { reportedMessageIds: [stranger], references: many("a"), reportedReferences: many("b") };
      expect((await bounce(world, { number: 2, ...mailed })).chainIds).to.have.length(51);
    });
  });

  it("a bounce that names nothing is filed by the first id it reports, before and after the mail of that id", async () => {
    for (const earlier of [true, false]) {
      const world = await createSendWorld();
      if (earlier) await file(world, { number: 2, references: [], messageId: stranger });
      const decided = await bounce(world, { number: 3, references: [], reportedMessageIds: [stranger, first] });
      const later = earlier ? decided : await file(world, { number: 2, references: [], messageId: stranger });
      expect([later.opensThread, decided.absorbs, later.absorbs]).to.deep.equal([false, [], []]);
      expect(decided.threadId).to.not.equal(world.threadId());
    }
  });

  it("a bounce that names and reports nothing opens a new thread", async () => {
    const world = await createSendWorld();
    expect((await bounce(world, { number: 2, references: [], reportedMessageIds: [] })).opensThread).to.equal(true);
  });
});
