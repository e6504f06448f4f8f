import { expect } from "chai";
import { reduceHtml } from "#src/html/reduce/reduceHtml.ts";
import { pictures } from "./generated.ts";
import { shapes } from "./shapes.ts";

describe("reduceHtml with bodies as people and programs write them", () => {
  for (const { name, given, kept, removed } of shapes) {
    it(`reduceHtml keeps what is readable and names what it removed: ${name}`, () => {
      const result = reduceHtml(given, pictures);
      if ("refused" in result) throw new Error(result.refused);
      expect(result.html).to.equal(kept);
      expect(result.removed.map(({ what, count }) => `${what} ${count}`)).to.deep.equal(removed);
    });
  }
  it("the bodies for reduceHtml are at least sixty, each with a different name", () => {
    expect(new Set(shapes.map(({ name }) => name)).size)
      .to.equal(shapes.length)
      .and.to.be.at.least(60);
  });
});
