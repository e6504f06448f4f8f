import { readFile } from "node:fs/promises";
import { expect } from "chai";
import { draftMoments, mayLeave, type SendCheck, senderMoments } from "#src/commands/sends/mayLeave.ts";
import {
  type Cell,
  changedAt,
  endOf,
  moments,
  type Question,
  questions,
  standingAt,
  ways,
  worldOf,
} from "./leaveCells.ts";
import { expectSound, requireHuman, send } from "./sendChecks.ts";
import { cause, refusal } from "./sendWorld.ts";
import type { StandingWorld } from "./standingWorld.ts";

/** Events from which a draft's approvers learn the reason. */
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

describe("the table of the send path", () => {
  it("is the same in src/sendPath.md and in the code", async () => {
    const page = await readFile(new URL("../../src/sendPath.md", import.meta.url), "utf8");
    const rows = [...page.matchAll(/^\| ([a-z ]+) \| ([a-z, ]+) \| [^|]+ \| [^|]+ \|$/gm)].map(
      ([, moment = "", asked = ""]) => [moment, asked.split(", ")],
    );
    expect(Object.fromEntries(rows.slice(1))).to.deep.equal({ ...senderMoments, ...draftMoments });
  });

  /** The change that turns the answer to each question, and for whose approval. */
  const turns: Record<
    string,
    { way: (typeof ways)[number]; change: (world: StandingWorld, draftId: string) => Promise<unknown> }
  > = {
    person: { way: "a key", change: requireHuman },
    sender: { way: "a key", change: (world) => world.pause(true) },
    approval: { way: "a signed-in person", change: questions["who approved is removed"]!.change },
    stale: { way: "a key", change: questions["the customer has written again"]!.change },
    plan: { way: "a key", change: questions["the plan has no mail left"]!.change },
    claim: {
      way: "a key",
      async change(world, draftId) {
        const { attemptId } = await world.state.draft(draftId);
        const release = { type: "ReleaseClaim", draftId, attemptId: attemptId as string, because: "test" } as const;
        await world.elsewhere().threads.handle(world.threadId(), release, cause);
      },
    },
    attempt: {
      way: "a key",
      async change(world, draftId) {
        const { attemptId } = await world.state.draft(draftId);
        const ended = { type: "DeliveryUnknown", data: { message: "taken over" } } as const;
        await world
          .elsewhere()
          .deliveries.handle(attemptId as string, { type: "RecordOutcome", outcome: ended }, cause);
      },
    },
  };

  for (const [moment, asked] of Object.entries(draftMoments))
    for (const question of asked)
      it(`turns to "no" by its question: ${moment}, ${question}`, async () => {
        const { way, change } = turns[question]!;
        const world = await worldOf(way);
        const draftId = await standingAt(world, way, moment as SendCheck["moment"]);
        const ask = async () => {
          const draft = await world.state.draft(draftId);
          const { no } = await mayLeave(world.node, { moment: moment as SendCheck["moment"], draftId, draft }, cause);
          return no?.question ?? "yes";
        };
        expect(await ask()).to.equal("yes");
        await change(world, draftId);
        expect(await ask()).to.equal(question);
      });
});

async function meets(question: Question, cell: Cell): Promise<void> {
  const end = question.end(cell);
  // The approver makes no difference where it is not asked about.
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
