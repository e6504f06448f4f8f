import { expect } from "chai";
import { otherAnswers, requireKnownAnswers, withAnswers } from "#streams/thread/answers.ts";

describe("the answers of a thread", () => {
  it("the other answers to a message are those claimed after it arrived, without the draft itself", () => {
    const answers = [
      { draftId: "before", after: 1 },
      { draftId: "own", after: 2 },
      { draftId: "other", after: 2 },
      { draftId: "later", after: 3 },
    ];
    expect(otherAnswers({ answers }, { draftId: "own", basedOnNumber: 2 })).to.deep.equal(["other", "later"]);
  });

  it("a thread keeps its newest 50 answers, each draft once however often it is claimed", () => {
    const known = withAnswers([], [{ draftId: "d0", after: 1 }]);
    expect(withAnswers(known, [{ draftId: "d0", after: 9 }])).to.deep.equal(known);
    const many = Array.from({ length: 60 }, (_, n) => ({ draftId: `d${n}`, after: 1 }));
    expect(withAnswers(known, many).map(({ draftId }) => draftId)).to.deep.equal(
      many.slice(10).map(({ draftId }) => draftId),
    );
  });

  it("a send whose approval does not know of another answer is refused, and the refusal names the answers", () => {
    requireKnownAnswers([], []);
    requireKnownAnswers(["a"], ["b", "a"]);
    expect(() => requireKnownAnswers(["a", "b"], ["a"]))
      .to.throw()
      .with.deep.property("details", { answers: ["a", "b"] });
  });
});
