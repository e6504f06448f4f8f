import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "chai";
import { withBug } from "../../scripts/soak/planted/bug.ts";
import { planted, plantedBugs } from "../../scripts/soak/planted.ts";
import { projectRoot } from "../../scripts/support/bundle.mjs";
import { sampled } from "./sampled.ts";

const source = (file: string): Promise<string> => readFile(join(projectRoot, file), "utf8");

describe("bugs to plant", () => {
  for (const bug of plantedBugs) {
    it(`have their place, and tests of that name: ${bug.breaks}`, async () => {
      const before = await source(bug.file);
      expect(withBug(before, bug)).to.not.equal(before);
      expect(await source(bug.foundBy.file)).to.include(bug.foundBy.titles);
    });
  }
});

sampled(planted);
