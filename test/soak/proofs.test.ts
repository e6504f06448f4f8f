import { readdirSync } from "node:fs";
import { expect } from "chai";
import { proofs } from "../../scripts/soak/proofs.ts";

describe("the long proofs", () => {
  it("each long proof has a file in this folder that runs a sample of it", () => {
    const files = readdirSync(import.meta.dirname).filter((name) => name.endsWith(".test.ts"));
    expect(files.sort()).to.deep.equal(
      ["proofs", ...proofs.map(({ name }) => name)].map((name) => `${name}.test.ts`).sort(),
    );
  });
});
