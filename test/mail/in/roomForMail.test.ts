import { expect } from "chai";
import { type UnansweredMail, watchRoomForMail, workspacesWithoutRoom } from "#src/mail/in/roomForMail.ts";

const held = (megabytes: Record<string, number>): UnansweredMail[] =>
  Object.entries(megabytes).map(([workspace_id, mb]) => ({ workspace_id, bytes: mb * 1_000_000 }));

describe("room for unanswered mail", () => {
  for (const [what, megabytes, full] of [
    ["nobody where all hold little", { a: 1, b: 10 }, {}],
    ["the one that is above its own bound", { a: 10.5, b: 10 }, { a: 11 }],
    ["nobody at the bound of all", { a: 10, b: 10, c: 10 }, {}],
    [
      "those above an equal share of what the smaller ones leave where all together are above theirs",
      { a: 9, b: 9, c: 8, d: 5 },
      { a: 9, b: 9 },
    ],
    [
      "nobody that others only outnumber",
      { a: 10, b: 10, c: 6, ...Object.fromEntries(Array.from({ length: 10 }, (_, index) => [`small${index}`, 0.5])) },
      { a: 10, b: 10 },
    ],
    [
      "all that hold the same where all together are above theirs",
      { a: 8, b: 8, c: 8, d: 8 },
      { a: 8, b: 8, c: 8, d: 8 },
    ],
  ] as [string, Record<string, number>, Record<string, number>][]) {
    it(`mail is refused to ${what}`, () => {
      expect(Object.fromEntries(workspacesWithoutRoom(held(megabytes), { workspaceMb: 10, allMb: 30 }))).to.deep.equal(
        full,
      );
    });
  }

  it("room for mail is checked repeatedly, changes are logged once, and the last result stays while checks fail", async () => {
    const said: unknown[] = [];
    const log = {
      warn: (what: object, says: string) => said.push([what, says]),
      info: (what: object, says: string) => said.push([what, says]),
    } as never;
    let looked = 0;
    let answer: () => Promise<UnansweredMail[]> = async () => held({ a: 2, b: 1 });
    const room = await watchRoomForMail(
      () => {
        looked++;
        return answer();
      },
      { workspaceMb: 1, allMb: 100 },
      { log, everyMs: 2 },
    );
    const twiceMore = async () => {
      const before = looked;
      while (looked <= before + 1) await new Promise((resolve) => setTimeout(resolve, 2));
    };
    try {
      expect([room.isFull("a"), room.isFull("b")]).to.deep.equal([true, false]);
      expect(room.trouble()).to.match(/\(SMTP_IN_UNANSWERED_MB\): a \(2 MB\)$/);
      answer = () => Promise.reject(new Error("away"));
      await twiceMore();
      expect(room.isFull("a")).to.equal(true);
      answer = async () => held({ b: 1 });
      await twiceMore();
      expect([room.isFull("a"), room.trouble()]).to.deep.equal([false, undefined]);
      expect(said).to.deep.equal([
        [{ workspace_id: "a", mb: 2 }, "a workspace receives no mail: it holds too much unanswered mail"],
        [{ workspace_id: "a" }, "a workspace receives mail again"],
      ]);
    } finally {
      room.close();
    }
  });
});
