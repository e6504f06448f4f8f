import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { promisify } from "node:util";
import { expect } from "chai";
import { serviceEnvironment, serviceFlags } from "../../scripts/support/instance.ts";

describe("the flags of Node for the service", () => {
  const text = (path: string): Promise<string> => readFile(new URL(`../../${path}`, import.meta.url), "utf8");

  it("the service is started the same by npm and in the image", async () => {
    const { scripts } = JSON.parse(await text("package.json"));
    const dockerfile = await text("scripts/Dockerfile");
    const image = /^CMD (\[.*\])$/m.exec(dockerfile)?.[1];
    const words = ["node", ...serviceFlags, "scripts/run.mjs", "start"];
    expect(scripts.start.split(" ")).to.deep.equal(words);
    expect(JSON.parse(image ?? "[]")).to.deep.equal(words);
    expect(dockerfile.split("\n"), "compiled for the flags it is started with").to.include(
      `RUN node ${serviceFlags.join(" ")} scripts/run.mjs build`,
    );
    for (const [name, value] of Object.entries(serviceEnvironment))
      expect(dockerfile.split("\n")).to.include(`ENV ${name}=${value}`);
  });

  it("the flags of the service's main thread do not change the limits of its other threads", async () => {
    const heapFlags = `--import=${new URL("../../scripts/support/heapFlags.mjs", import.meta.url).href}`;
    const { stdout } = await promisify(execFile)(process.execPath, [...serviceFlags, heapFlags, "-e", ofBoth]);
    const [main, thread] = stdout.trim().split(" ").map(Number);
    expect(main).to.be.above(8).and.at.most(16);
    expect(thread).to.be.at.most(4);
  });
});

/** Prints how many megabytes of new objects the main thread may hold, and then a thread whose limit is 6. */
const ofBoth = `
const { isMainThread, parentPort, Worker } = require("node:worker_threads");
const { getHeapSpaceStatistics } = require("node:v8");
let kept = [];
for (let n = 0; n < 600_000; n++) {
  kept.push({ n, of: [n] });
  if (kept.length > 60_000) kept = kept.slice(30_000);
}
const { space_size } = getHeapSpaceStatistics().find(({ space_name }) => space_name === "new_space");
const megabytes = space_size / 1024 / 1024;
if (isMainThread)
  new Worker(process.execArgv.at(-1), { eval: true, execArgv: [], resourceLimits: { maxYoungGenerationSizeMb: 6 } })
    .on("message", (ofThread) => console.log(megabytes, ofThread));
else parentPort.postMessage(megabytes);
`;
