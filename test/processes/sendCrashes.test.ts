import { expect } from "chai";
import { Unavailable } from "#src/eventStore/eventStore.ts";
import { Rejected } from "#streams/decider.ts";
import { Crashed } from "#test/support/faultyEventStore.ts";
import { expectSound, isHandingOver, send } from "./sendSoundness.ts";
import { createSendWorld } from "./sendWorld.ts";

describe("faults at every append of the send path", () => {
  const faults = [
    { when: "before", how: "crash" },
    { when: "after", how: "crash" },
    { when: "before", how: "unavailable" },
    { when: "after", how: "unavailable" },
    { when: "after", how: "conflict" },
  ] as const;
  const endings = { approval: ["sent", "failed"], key: ["sent", "failed", "pending"] };

  for (const { when, how } of faults) {
    for (const by of ["approval", "key"] as const) {
      it(`a send by ${by} with a fault (${how}) ${when} any append ends as it must`, async () => {
        let reached = true;
        for (let at = 1; reached; at++) {
          const world = await createSendWorld({ tickMs: 200 });
          const draftId = await world.submit();
          let begun = false;
          const noting = async () => {
            begun = isHandingOver(world);
            return how;
          };
          const faulty = world.createNode({ at, when, how: how === "unavailable" ? how : noting });
          world.useNode(faulty);
          const start = by === "approval" ? world.approve(draftId, faulty) : send(world, draftId, faulty);
          const failed = await start.then(
            () => false,
            (error: unknown) => {
              // An append that was made is refused the second time.
              const isRefused = how === "conflict" && error instanceof Rejected;
              if (!(error instanceof Crashed || error instanceof Unavailable || isRefused)) throw error;
              return true;
            },
          );
          if (faulty.faulty.crashed) world.useNode(world.createNode());
          if (failed && by === "approval" && at === 1) await world.approve(draftId, world.node).catch(() => undefined);
          await world.run();
          await expectSound(world, [draftId], endings[by]);
          const { status, failureCode } = await world.state.draft(draftId);
          // A draft fails only if a hand-over was begun and has no recorded outcome; all others are sent in the end.
          if (status === "failed") expect([begun, failureCode], `append ${at}`).to.deep.equal([true, "unconfirmed"]);
          reached = faulty.faulty.appends >= at;
          expect(at).to.be.below(60);
        }
      });
    }
  }
});
