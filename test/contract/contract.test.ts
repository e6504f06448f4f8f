import { execFile } from "node:child_process";
import { expect } from "chai";

describe("the contract", () => {
  it("the contract has a test for every row, and no test names an unknown row", async () => {
    const { code, said } = await new Promise<{ code: unknown; said: string }>((resolve) => {
      execFile(process.execPath, ["--import", "tsx", "scripts/contract.ts"], (error, _, stderr) =>
        resolve({ code: error ? error.code : 0, said: stderr }),
      );
    });
    expect(code, said).to.equal(0);
  });
});
