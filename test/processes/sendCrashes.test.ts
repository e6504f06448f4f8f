import { expect } from "chai";
import { Unavailable } from "#src/eventStore/eventStore.ts";
import { Crashed, type Fault } from "#test/support/faultyEventStore.ts";
import { expectSound, isHandingOver, send } from "./sendChecks.ts";
import { createSendWorld } from "./sendWorld.ts";

describe("a crash or an outage at every append of the send path", () => {
  const faults: Omit<Fault, "at">[] = [
    { when: "before", how: "crash" },
    { when: "after", how: "crash" },
    { when: "before", how: "unavailable" },
    { when: "after", how: "unavailable" },
  ];
  const endings = { approval: ["sent", "failed"], key: ["sent", "failed", "pending"] };

  for (const { when, how } of faults) {
    for (const by of ["approval", "key"] as const) {
      it(`${how} ${when} an append, sent by ${by}: ends as it must`, async () => {
        let reached = true;
        for (let at = 1; reached; at++) {
          const world = await createSendWorld({ tickMs: 200 });
          const draftId = await world.submit();
          let begun = false;
          const crash = async () => {
            begun = isHandingOver(world);
            return "crash" as const;
          };
          const faulty = world.createNode({ at, when, how: how === "crash" ? crash : how });
          world.useNode(faulty);
          const start = by === "approval" ? world.approve(draftId, faulty) : send(world, draftId, faulty);
          const failed = await start.then(
            () => false,
            (error: unknown) => {
              if (!(error instanceof Crashed || error instanceof Unavailable)) throw error;
              return true;
            },
          );
          if (faulty.faulty.crashed) world.useNode(world.createNode());
          if (failed && by === "approval" && at === 1) await world.approve(draftId, world.node).catch(() => undefined);
          await world.run();
          await expectSound(world, [draftId], endings[by]);
          const { status, failureCode } = await world.state.draft(draftId);
          // Nobody knows only of what was begun and has no recorded outcome: everything else leaves in the end.
          if (status === "failed") expect([begun, failureCode], `append ${at}`).to.deep.equal([true, "unconfirmed"]);
          reached = faulty.faulty.appends >= at;
          expect(at).to.be.below(60);
        }
      }).timeout(120_000);
    }
  }
});
