import { expect } from "chai";
import { searchText } from "#src/platform/threadPool/searchText.ts";
import { collectSearches } from "#streams/rule/evaluate.ts";

describe("searching a text for what rules ask", () => {
  const contains = (value: string) => ({ field: "message.body_text", op: "contains", value }) as const;

  it("a text search answers each question, and none whose time is over", () => {
    const questions = collectSearches("message.body_text", [contains("parcel"), contains("refund")]);
    const answered = searchText({ text: "My Parcel", questions });
    expect([...answered.values()]).to.deep.equal([true, false]);
    expect([...answered.keys()]).to.deep.equal([...questions.keys()]);
    expect(searchText({ text: "My Parcel", questions, withinMs: 0 }).size).to.equal(0);
  });

  it("a text search folds a long text once for all questions", () => {
    const questions = collectSearches("message.body_text", ["a", "b", "c"].map(contains));
    const { toLowerCase } = String.prototype;
    let folds = 0;
    String.prototype.toLowerCase = function () {
      if (this.length > 1_000) folds += 1;
      return toLowerCase.call(this);
    };
    try {
      searchText({ text: "A text. ".repeat(1_000), questions });
    } finally {
      String.prototype.toLowerCase = toLowerCase;
    }
    expect(folds).to.equal(1);
  });
});
