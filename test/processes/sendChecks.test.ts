import { readFile } from "node:fs/promises";
import { expect } from "chai";
import { checkDraftSendable, draftMoments, type SendCheck, senderMoments } from "#src/commands/sends/sendChecks.ts";
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
import { expectSound, requireHuman, send } from "./sendSoundness.ts";
import { cause, refusal } from "./sendWorld.ts";
import type { StandingWorld } from "./standingWorld.ts";

/** Events that tell a draft's approvers the reason. */
const reasons = ["SendHeld", "DraftReturnedToPending", "DraftEdited", "DraftFailed", "DraftMarkedStale"];

describe("the checks of the send path", () => {
  for (const way of ways)
    it(`a draft approved by ${way} is sent if nothing changes`, async () => {
      const world = await worldOf(way);
      const draftId = await changedAt(world, { way, moment: "queued" }, async () => undefined);
      await expectSound(world, [draftId], ["sent"]);
    });

  for (const [what, question] of Object.entries(questions))
    for (const moment of moments)
      it(`a draft is not sent after "${what}", if that happens at ${moment}, and continues as it should`, async () => {
        for (const way of question.ways ?? ways) await meets(question, { way, moment });
      });
});

describe("the table of checks in src/sendPath.md", () => {
  it("the table of checks in src/sendPath.md is the same as in the code", async () => {
    const page = await readFile(new URL("../../src/sendPath.md", import.meta.url), "utf8");
    const rows = [...page.matchAll(/^\| ([a-z ]+) \| ([a-z, ]+) \| [^|]+ \| [^|]+ \|$/gm)].map(
      ([, moment = "", asked = ""]) => [moment, asked.split(", ")],
    );
    expect(Object.fromEntries(rows.slice(1))).to.deep.equal({ ...senderMoments, ...draftMoments });
  });

  /** For each question the change that makes its answer no, and the way of approval. */
  const turns: Record<
    string,
    { way: (typeof ways)[number]; change: (world: StandingWorld, draftId: string) => Promise<unknown> }
  > = {
    person: { way: "a key", change: requireHuman },
    sender: { way: "a key", change: (world) => world.pause(true) },
    approval: { way: "a signed-in person", change: questions["the approver is removed"]!.change },
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
      it(`the check at ${moment} answers no because of its question: ${question}`, async () => {
        const { way, change } = turns[question]!;
        const world = await worldOf(way);
        const draftId = await standingAt(world, way, moment as SendCheck["moment"]);
        const ask = async () => {
          const draft = await world.state.draft(draftId);
          const { no } = await checkDraftSendable(
            world.node,
            { moment: moment as SendCheck["moment"], draftId, draft },
            cause,
          );
          return no?.question ?? "yes";
        };
        expect(await ask()).to.equal("yes");
        await change(world, draftId);
        expect(await ask()).to.equal(question);
      });
});

async function meets(question: Question, cell: Cell): Promise<void> {
  const end = question.end(cell);
  // The way of approval makes no difference if it is not checked.
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

/** Expects that the draft gave everything back, or is sent once the obstacle has ended. */
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
