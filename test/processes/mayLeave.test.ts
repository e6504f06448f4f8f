import { expect } from "chai";
import { type Cell, changedAt, endOf, moments, type Question, questions, ways, worldOf } from "./leaveCells.ts";
import { expectSound, send } from "./sendChecks.ts";
import { refusal } from "./sendWorld.ts";
import type { StandingWorld } from "./standingWorld.ts";

/** What a draft's approvers learn the reason from. */
const reasons = ["SendHeld", "DraftReturnedToPending", "DraftEdited", "DraftFailed", "DraftMarkedStale"];

describe("a draft whose send is asked about at each moment", () => {
  for (const way of ways)
    it(`is sent if nothing changes: approved by ${way}`, async () => {
      const world = await worldOf(way);
      const draftId = await changedAt(world, { way, moment: "queued" }, async () => undefined);
      await expectSound(world, [draftId], ["sent"]);
    });

  for (const [what, question] of Object.entries(questions))
    for (const moment of moments)
      it(`is not sent from a moment on that asks: ${what}, ${moment}`, async () => {
        for (const way of question.ways ?? ways) await meets(question, { way, moment });
      });
});

async function meets(question: Question, cell: Cell): Promise<void> {
  const end = question.end(cell);
  // Who approved makes no difference where it is not asked.
  if (end === "sent" && cell.way !== "a key") return;
  const told = `approved by ${cell.way}`;
  const world = await worldOf(cell.way);
  const draftId = await changedAt(world, cell, question.change);
  expect(endOf(await world.state.draft(draftId)), told).to.equal(end);
  if (end === "sent") return;
  expect(
    world.hands.filter(({ outcome }) => outcome.kind === "accepted"),
    told,
  ).to.deep.equal([]);
  const said = world.log.all.filter(({ stream, type }) => stream === `draft-${draftId}` && reasons.includes(type));
  if (end !== "sending" && end !== "held null") expect(said, told).not.to.deep.equal([]);
  await goesOn(world, draftId, question);
}

/** Nothing is stuck: what it held is given back, or it is sent when nothing prevents it any more. */
async function goesOn(world: StandingWorld, draftId: string, { undone }: Question): Promise<void> {
  const { status } = await world.state.draft(draftId);
  if (status !== "sending" && status !== "approved") {
    return expectSound(world, [draftId], ["pending", "failed", "stale"]);
  }
  if (!undone) return expectSound(world, [draftId], ["approved"]);
  await undone(world);
  await world.run();
  if ((await world.state.draft(draftId)).status === "approved") {
    expect(await refusal(send(world, draftId))).to.equal("not refused");
  }
  await world.run();
  expect((await world.state.draft(draftId)).status).to.equal("sent");
}
