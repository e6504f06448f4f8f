import { readFile } from "node:fs/promises";
import { expect } from "chai";
import { serviceEnvironment, serviceFlags } from "../../scripts/support/instance.ts";

describe("how the service is started", () => {
  const text = (path: string): Promise<string> => readFile(new URL(`../../${path}`, import.meta.url), "utf8");

  it("is the same by npm and in the image, so what is measured holds for both", async () => {
    const { scripts } = JSON.parse(await text("package.json"));
    const dockerfile = await text("scripts/Dockerfile");
    const image = /^CMD (\[.*\])$/m.exec(dockerfile)?.[1];
    const words = ["node", ...serviceFlags, "scripts/run.mjs", "start"];
    expect(scripts.start.split(" ")).to.deep.equal(words);
    expect(JSON.parse(image ?? "[]")).to.deep.equal(words);
    expect(dockerfile.split("\n"), "compiled for the flags it is started with").to.include(
      `RUN node ${serviceFlags.join(" ")} scripts/run.mjs bundle`,
    );
    for (const [name, value] of Object.entries(serviceEnvironment))
      expect(dockerfile.split("\n")).to.include(`ENV ${name}=${value}`);
  });
});
