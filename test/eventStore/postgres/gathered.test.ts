import { expect } from "chai";
import { gathered } from "#src/eventStore/postgres/gathered.ts";

describe("questions to the log that are asked together", () => {
  /** Each statement is answered when the test says so. */
  function world() {
    const statements: { questions: readonly number[]; answer(): void; fail(): void }[] = [];
    const ask = gathered<number, string>(
      (questions) =>
        new Promise((resolve, reject) =>
          statements.push({
            questions,
            answer: () => resolve(questions.map((question) => `answer ${question}`)),
            fail: () => reject(new Error("away")),
          }),
        ),
      { atOnce: 2, most: 3 },
    );
    return { statements, ask };
  }

  it("are asked at once while few are, then with all that came meanwhile, so many at most", async () => {
    const { statements, ask } = world();
    const answers = Array.from({ length: 7 }, (_, n) => ask(n));
    expect(statements.map(({ questions }) => questions)).to.deep.equal([[0], [1]]);
    statements[1]!.answer();
    expect(await answers[1]).to.equal("answer 1");
    expect(statements[2]!.questions).to.deep.equal([2, 3, 4]);
    statements[0]!.answer();
    await answers[0];
    expect(statements[3]!.questions).to.deep.equal([5, 6]);
    for (const { answer } of statements) answer();
    expect(await Promise.all(answers)).to.deep.equal(answers.map((_, n) => `answer ${n}`));
    const later = ask(7);
    expect(statements[4]!.questions).to.deep.equal([7]);
    statements[4]!.answer();
    expect(await later).to.equal("answer 7");
  });

  it("fail together, and those behind them are asked all the same", async () => {
    const { statements, ask } = world();
    const answers = Array.from({ length: 5 }, (_, n) => ask(n).catch((error: Error) => error.message));
    statements[0]!.fail();
    statements[1]!.fail();
    expect(await Promise.all(answers.slice(0, 2))).to.deep.equal(["away", "away"]);
    expect(statements[2]!.questions).to.deep.equal([2, 3, 4]);
    statements[2]!.answer();
    expect(await answers[4]).to.equal("answer 4");
  });
});
