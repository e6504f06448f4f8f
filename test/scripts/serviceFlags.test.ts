import { readFile } from "node:fs/promises";
import { expect } from "chai";
import { serviceFlags } from "../../scripts/support/instance.ts";

describe("how the service is started", () => {
  const text = (path: string): Promise<string> => readFile(new URL(`../../${path}`, import.meta.url), "utf8");

  it("is the same by npm and in the image, so what is measured holds for both", async () => {
    const { scripts } = JSON.parse(await text("package.json"));
    const image = /^CMD (\[.*\])$/m.exec(await text("scripts/Dockerfile"))?.[1];
    const words = ["node", ...serviceFlags, "scripts/run.mjs", "start"];
    expect(scripts.start.split(" ")).to.deep.equal(words);
    expect(JSON.parse(image ?? "[]")).to.deep.equal(words);
  });
});
