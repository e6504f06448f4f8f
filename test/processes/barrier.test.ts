import { expect } from "chai";
import { fileInbox } from "#src/commands/inbound/filing/fileInbox.ts";
import { queueSend } from "#src/commands/sends/queueSend.ts";
import { Unavailable } from "#src/eventStore/eventStore.ts";
import { expectSound, first, send } from "./sendSoundness.ts";
import { cause, createSendWorld, identityId, refusal, type SendWorld } from "./sendWorld.ts";

const count = (world: SendWorld, type: string) => world.log.all.filter((event) => event.type === type).length;

/** Makes a world without the process that files received mail. */
async function withoutFiling() {
  const world = await createSendWorld({ deliveries: 1, tickMs: 100 });
  const draftId = await world.submit();
  const [filing] = world.node.processes.splice(0, 1);
  expect(filing!.name).to.equal("fileInboundEmail");
  return { world, draftId };
}

describe("a send that waits for unfiled mail", () => {
  it("a send files its identity's mail itself if no other process does, and is sent", async () => {
    const { world, draftId } = await withoutFiling();
    await world.acknowledge(2);
    await send(world, draftId);
    await world.acknowledge(3);
    await world.run();
    expect(count(world, "MessageReceived")).to.equal(3);
    await expectSound(world, [draftId], ["sent"]);
  });

  it("a send is stale because of mail that it filed itself", async () => {
    const { world, draftId } = await withoutFiling();
    await world.acknowledge(2, [first]);
    expect(await refusal(send(world, draftId))).to.equal("stale_draft");
    expect(world.hands).to.deep.equal([]);
  });

  it("a send is stale because of mail that it filed itself right before the hand-over", async () => {
    const { world, draftId } = await withoutFiling();
    await send(world, draftId);
    await world.acknowledge(2, [first]);
    await world.run();
    expect(world.hands).to.deep.equal([]);
    await expectSound(world, [draftId], ["stale"]);
  });

  it("concurrent sends and filings put every mail into its thread once", async () => {
    const { world } = await withoutFiling();
    const drafts = await Promise.all(Array.from({ length: 4 }, () => world.submit()));
    for (const number of [2, 3, 4, 5]) await world.acknowledge(number);
    const others = [world.createNode(), world.createNode()];
    await Promise.all([
      ...drafts.map((draftId, n) => queueSend(others[n % 2]!, { draftId, kind: "api_key" }, cause)),
      fileInbox(world.createNode(), identityId, cause),
    ]);
    const numbers = world.log.all.flatMap(({ type, data }) => (type === "MessageReceived" ? [data.number] : []));
    expect(numbers.sort()).to.deep.equal([1, 2, 3, 4, 5]);
    await world.run();
    await expectSound(world, drafts, ["sent"]);
  });

  it("a send gives up in bounded time while mail cannot be filed, and is sent once it can", async () => {
    const { world, draftId } = await withoutFiling();
    const { blobs } = world;
    const get = blobs.get.bind(blobs);
    await world.acknowledge(2);
    blobs.get = async () => undefined;
    const began = world.clock.monotonic();
    for (let times = 0; times < 3; times++) {
      const error = await queueSend(world.node, { draftId, kind: "approval" }, cause).catch((thrown) => thrown);
      expect(error).to.be.instanceOf(Unavailable);
      // The first send waits for the full time. Nothing is filed afterwards, so the others give up earlier.
      expect(world.clock.monotonic() - began).to.be.below([1_500, 2_000, 2_500][times]!);
    }
    blobs.get = get;
    // The send is tried again as the process does, and files the mail itself.
    for (let tries = 1; ; tries++) {
      const error = await queueSend(world.node, { draftId, kind: "api_key" }, cause).catch((thrown) => thrown);
      if (!(error instanceof Unavailable)) break;
      expect(tries).to.be.below(20);
    }
    await world.run();
    await expectSound(world, [draftId], ["sent"]);
  });
});
