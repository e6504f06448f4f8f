import { expect } from "chai";
import fc from "fast-check";
import { fileInbox } from "#src/commands/inbound/filing/fileInbox.ts";
import { Unavailable } from "#src/eventStore/eventStore.ts";
import { cause, createSendWorld, identityId, type SendWorld } from "#test/processes/sendWorld.ts";
import { Crashed } from "#test/support/faultyEventStore.ts";
import { sized } from "#test/support/full.ts";
import { countingReads, expectFiled, graph, receive, type Sent, seed } from "./filingModel.ts";

describe("filing", () => {
  const property = (runs: number, check: (world: SendWorld, mails: Sent[]) => Promise<void>) =>
    fc.assert(
      fc.asyncProperty(graph, async (mails) => check(await createSendWorld({ deliveries: 1 }), mails)),
      { seed, numRuns: runs },
    );

  it("filing joins exactly the mails that name each other, in any order, and repeating it changes nothing", () =>
    property(sized(20, 150), async (world, mails) => {
      for (const mail of mails) {
        await receive(world, [mail]);
        if (mail.number % 2) await fileInbox(world.node, identityId, cause);
      }
      await fileInbox(world.node, identityId, cause);
      await expectFiled(world, mails);
      const length = world.log.all.length;
      await fileInbox(world.node, identityId, cause);
      await fileInbox(world.createNode(), identityId, cause);
      expect(world.log.all.length).to.equal(length);
    }));

  it("two filers at once file the same as one", () =>
    property(sized(20, 100), async (world, mails) => {
      const other = world.createNode();
      await receive(world, mails);
      await Promise.all([fileInbox(world.node, identityId, cause), fileInbox(other, identityId, cause)]);
      await expectFiled(world, mails);
    }));

  it("a filer that continues after another one has finished changes nothing", () =>
    property(sized(15, 60), async (world, mails) => {
      await receive(world, mails);
      const slow = world.createNode();
      const { reached, release } = slow.faulty.pause("thread");
      const late = fileInbox(slow, identityId, cause);
      await reached;
      await fileInbox(world.node, identityId, cause);
      release();
      await late;
      await expectFiled(world, mails);
    }));

  for (const when of ["before", "after"] as const) {
    for (const how of ["crash", "unavailable", "conflict"] as const) {
      it(`filing ends the same after "${how}" ${when} any append`, () =>
        property(sized(4, 12), async (_, mails) => {
          for (let at = 1, reached = true; reached; at++) {
            const world = await createSendWorld({ deliveries: 1 });
            await receive(world, mails);
            const faulty = world.createNode({ at, when, how });
            await fileInbox(faulty, identityId, cause).catch((error: unknown) => {
              if (!(error instanceof Crashed || error instanceof Unavailable)) throw error;
            });
            reached = faulty.faulty.appends >= at;
            // The failed instance continues with its cached state, or another instance takes over.
            await fileInbox(how === "crash" ? world.createNode() : faulty, identityId, cause);
            await expectFiled(world, mails);
          }
        }));
    }
  }

  it("filing reads mail that the index does not have yet once, however many pages there are", async () => {
    const world = await createSendWorld({ deliveries: 1, inboundCap: 1_000_000 });
    // The index is empty here. Many of the mails have the same Message-ID, and all of them name the first mail.
    const count = sized(300, 10_000);
    const mails = Array.from({ length: count }, (_, n) => ({ number: n % 2 ? 2 : n + 2, names: [1] }));
    await receive(world, mails, { alike: false });
    const { deps, read } = countingReads(world);
    await fileInbox(deps, identityId, cause);
    const { revision, state } = await world.createNode().filings.load(identityId);
    expect(state.filedUpTo).to.equal(count);
    // The stream is read once for its state, and not once for each page.
    expect(read()).to.be.below(1.5 * revision);
    expect((await world.state.thread()).newestNumber).to.equal(count + 1);
  });
});
