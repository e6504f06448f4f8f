import { expect } from "chai";
import { inFull } from "#test/support/full.ts";
import { createReport, type Proof, usualSeed } from "../../scripts/soak/proof.ts";

/** A small sample of a long proof, through the very function that `npm run soak` runs at full size. One file each: they run side by side. */
export function sampled(proof: Proof): void {
  describe("the long proofs, sampled", () => {
    it(`${proof.name}: ${proof.title}`, async function () {
      if (inFull) this.timeout(1_800_000);
      const report = createReport();
      await proof.run({ size: inFull ? proof.checked : proof.sample, seed: usualSeed, report });
      expect(report.violations, report.violations.join("\n")).to.deep.equal([]);
      expect(report.figures).to.not.be.empty;
    });
  });
}
