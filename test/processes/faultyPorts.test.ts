import { expect } from "chai";
import { queueSend } from "#src/commands/sends/queueSend.ts";
import { BlobCorrupt } from "#src/platform/blobs/blobs.ts";
import { causeOf } from "#src/runtime/work/handlerContext.ts";
import type { Recorded } from "#streams/event.ts";
import { draftContent } from "#test/support/draftContent.ts";
import { tell } from "#test/support/processContext.ts";
import { expectSound, first } from "./sendSoundness.ts";
import { cause, createSendWorld, type Node, type SendWorld } from "./sendWorld.ts";

const hourMs = 3_600_000;
const count = (world: SendWorld, type: string) => world.log.all.filter((event) => event.type === type).length;

/** The handler of the queued draft, as the runner of this instance calls it. */
const delivering = ({ processes }: Node, { log }: SendWorld) => {
  const queued = log.all.find(({ type }) => type === "DraftQueued")!;
  return tell(processes.find(({ name }) => name === "deliver")!, structuredClone(queued) as Recorded<any>);
};

describe("a send while the clock jumps", () => {
  for (const [way, byMs] of [
    ["back", -hourMs],
    ["ahead", hourMs],
  ] as const) {
    it(`a clock that jumps an hour ${way} before any append of a send delays nothing: it is handed over at once`, async () => {
      for (let at = 1, reached = true; reached; at++) {
        const world = await createSendWorld();
        const draftId = await world.submit();
        const jump = async () => {
          world.jumpClock(byMs);
          return "go on" as const;
        };
        const node = world.createNode({ at, when: "before", how: jump });
        world.useNode(node);
        await world.approve(draftId);
        await world.drain();
        reached = node.faulty.appends >= at;
        expect([world.hands.length, count(world, "DraftRequeued")], `append ${at}`).to.deep.equal([1, 0]);
        await expectSound(world, [draftId], ["sent"]);
      }
    });
  }

  it("a clock that is set back while the relay is slow makes no old check of the thread valid: the draft is stale", async () => {
    const world = await createSendWorld();
    const draftId = await world.submit();
    await queueSend(world.node, { draftId, kind: "api_key" }, cause);
    world.onWrite(async () => {
      if (count(world, "MailReceived") > 1) return;
      world.sleepThrough(5_500);
      world.jumpClock(-hourMs);
      await world.acknowledge(2, [first]);
    });
    await world.run();
    expect(world.hands).to.deep.equal([]);
    await expectSound(world, [draftId], ["stale"]);
  });
});

describe("a send through a late provider", () => {
  it("a provider that asks to write after the hand-over's time writes nothing, and everything is given back", async () => {
    const world = await createSendWorld({ handOverSeconds: 0.05 });
    const draftId = await world.submit();
    await queueSend(world.node, { draftId, kind: "api_key" }, cause);
    let ask = (): void => {};
    const gate = new Promise<void>((resolve) => {
      ask = resolve;
    });
    world.onWrite(() => gate);
    await delivering(world.node, world);
    expect(count(world, "DeliveryUnknown")).to.equal(1);
    ask();
    await new Promise((resolve) => setImmediate(resolve));
    await world.run();
    expect(world.hands).to.deep.equal([]);
    await expectSound(world, [draftId], ["failed"]);
  });
});

describe("a send in a lane that two instances hold", () => {
  for (const late of ["while the first hands over", "after the first is done"]) {
    it(`a lane that two instances hold has its mail handed over once: the second start, ${late}, is refused`, async () => {
      const world = await createSendWorld();
      const draftId = await world.submit();
      await queueSend(world.node, { draftId, kind: "api_key" }, cause);
      const second = world.createNode();
      const { reached, release } = second.faulty.pause("delivery");
      const other = delivering(second, world);
      await reached;
      if (late === "while the first hands over") {
        world.onWrite(async () => {
          world.onWrite(() => undefined);
          release();
          await other;
        });
      }
      await delivering(world.node, world);
      release();
      await other;
      await world.run();
      expect([world.hands.length, count(world, "DeliveryStarted")]).to.deep.equal([1, 1]);
      await expectSound(world, [draftId], ["sent"]);
    });
  }
});

describe("a send while the blob store loses bytes", () => {
  const faults = {
    "has lost": async () => undefined,
    "holds other bytes for": async () => Promise.reject(new BlobCorrupt("the blob holds other bytes")),
  };
  const parts = {
    "a draft's content": async ({ blobs }: SendWorld) => {
      const content = draftContent();
      return { content, stored: { content: null, contentBlob: await blobs.put(Buffer.from(JSON.stringify(content))) } };
    },
    "an attached file": async ({ blobs }: SendWorld) => {
      const sha256 = await blobs.put(Buffer.from("%PDF-1.7"));
      return {
        content: draftContent({ attachments: [{ filename: "a.pdf", content_type: "application/pdf", sha256 }] }),
      };
    },
  };

  for (const [fault, get] of Object.entries(faults)) {
    for (const [part, made] of Object.entries(parts)) {
      /** A queued draft, and its delivery's handler as the runner calls it. */
      const queued = async () => {
        const world = await createSendWorld();
        const draftId = await world.submit(await made(world));
        await queueSend(world.node, { draftId, kind: "api_key" }, cause);
        const rule = world.node.processes.find(({ name }) => name === "deliver")!;
        const event = structuredClone(world.log.all.find(({ type }) => type === "DraftQueued")!) as Recorded<any>;
        const works = { get: world.blobs.get };
        Object.assign(world.blobs, { get });
        const error = await tell(rule, event)!.then(
          () => expect.fail("it handed over"),
          (thrown: Error) => thrown,
        );
        expect(world.hands).to.deep.equal([]);
        return { world, draftId, rule, event, error, mend: () => Object.assign(world.blobs, works) };
      };

      it(`a blob store that ${fault} ${part} until a later try delays the mail, which is handed over once`, async () => {
        const { world, draftId, mend } = await queued();
        mend();
        await world.run();
        expect(world.hands).to.have.length(1);
        await expectSound(world, [draftId], ["sent"]);
      });

      it(`a blob store that ${fault} ${part} for good fails the draft: nothing is handed over, all is given back`, async () => {
        const { world, draftId, rule, event, error } = await queued();
        if (typeof rule.givingUp !== "function") throw new Error("it would just be parked");
        await rule.givingUp(event, { key: draftId, cause: causeOf("deliver", event), error });
        await world.run();
        expect(world.hands).to.deep.equal([]);
        expect((await world.state.draft(draftId)).failureCode).to.equal("internal");
        await expectSound(world, [draftId], ["failed"]);
      });
    }
  }
});
