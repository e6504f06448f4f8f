import { expect } from "chai";
import { createReport } from "../../scripts/soak/proof.ts";
import { proofs } from "../../scripts/soak/proofs.ts";

/** A sample of every long proof, through the very functions that `npm run soak` runs at full size. */
describe("the long proofs, sampled", () => {
  for (const proof of proofs) {
    it(`${proof.name}: ${proof.title}`, async function () {
      this.timeout(300_000);
      const report = createReport();
      await proof.run(proof.sample, report);
      expect(report.violations).to.deep.equal([]);
      expect(report.figures).to.not.be.empty;
    });
  }
});
