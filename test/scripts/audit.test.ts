import { expect } from "chai";
import { originNow, signerOf } from "#src/commands/audit/signHead.ts";
import { runHere } from "#test/support/commandHere.ts";
import { type InProcess, startInProcess } from "#test/support/inProcess.ts";
import { settingsOn } from "#test/support/settings.ts";

describe("npm run audit", () => {
  let service: InProcess;
  const audit = (...args: string[]) => runHere("audit", args, settingsOn(service.urls));

  before(async () => {
    service = await startInProcess();
  });
  after(() => service?.stop());

  it("audit witness-lines prints origin and key of each audit tree, or of one workspace", async () => {
    const [first, second] = [await service.workspace(), await service.workspace()];
    await service.caughtUp();
    const linesOf = async ({ id }: { id: string }) => {
      const { origin } = await originNow(service.deps, id);
      return `vkey ${signerOf(service.deps, origin).verifierKey}\norigin ${origin}\n`;
    };
    const all = await audit("witness-lines");
    expect(all.err).to.equal("");
    expect(all.out).to.match(/^logs\/v0\n\nvkey /);
    expect(all.out)
      .to.contain(await linesOf(first))
      .and.to.contain(await linesOf(second));
    const one = await audit("witness-lines", "--workspace", first.id);
    expect(one.out)
      .to.contain(await linesOf(first))
      .and.not.to.contain(second.id);
    const missing = await audit("witness-lines", "--workspace", "0199aaaa-0000-7000-8000-000000000001");
    expect(missing.err).to.equal("This workspace does not exist, or has no event yet.\n");
    expect((await audit("witness-lines", "--workspace", "mine")).err).to.match(/^mine is not the id of a workspace/);
  });
});
