import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { expect } from "chai";
import { ZipFile } from "yazl";
import { originNow, signerOf } from "#src/commands/audit/signHead.ts";
import { runHere } from "#test/support/commandHere.ts";
import type { InProcess } from "#test/support/inProcess.ts";
import { settingsOn } from "#test/support/settings.ts";
import { type StoryTenant, startStory } from "#test/support/story/story.ts";
import { unpackInto } from "../../scripts/support/unpack.ts";

describe("npm run audit", () => {
  let service: InProcess;
  let tenant: StoryTenant;
  let folder: string;
  const audit = (...args: string[]) =>
    runHere("audit", args, { ...settingsOn(service.urls), AUDIT_HEAD_DIR: join(folder, "heads") });

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "countersign-audit-"));
    ({ service, tenant } = await startStory({ AUDIT_HEAD_DIR: join(folder, "heads") }));
  });
  after(async () => {
    await service?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  it("audit draft tells a draft's history, and the signed head that proves it", async () => {
    const draft = await tenant.draft(await tenant.mail());
    await service.caughtUp();
    const { out, err } = await audit("draft", draft.id);
    expect(err).to.equal("");
    expect(out)
      .to.match(/^Not sent: version 1 .*/)
      .and.to.contain("draft submitted, by api_key");
    const head = await service.deps.auditHeads.newest(tenant.id);
    const [origin, size, root] = head!.checkpoint.split("\n");
    expect(out).to.contain(`Proved to the head of ${size} entries of ${origin}, root ${root}, signed `);
  });

  it("audit verify checks evidence, as an archive or as a folder, and ends with 1 if anything is wrong", async () => {
    const draft = await tenant.draft(await tenant.mail());
    const { bytes } = await draft.ask("GET evidence");
    const archive = join(folder, "evidence.zip");
    await writeFile(archive, bytes);
    await unpackInto(join(folder, "evidence"), bytes);
    for (const path of [archive, join(folder, "evidence")]) {
      const { code, out, err } = await audit("verify", path);
      expect([code, err], path).to.deep.equal([0, ""]);
      expect(out, path).to.contain("draft submitted: version 1");
    }
    const expected = await audit("verify", archive, "--expect", join(folder, "evidence", "checkpoint"));
    expect(expected.out).to.contain("The head is the one that you had.");
    const otherKey = await audit("verify", archive, "--key", "AQID");
    expect([otherKey.code, otherKey.err]).to.deep.equal([1, "WRONG: The policy has another key.\n"]);
    await writeFile(join(folder, "evidence", "content.json"), "{}");
    const forged = await audit("verify", join(folder, "evidence"));
    expect(forged.code).to.equal(1);
    expect(forged.err).to.match(/^WRONG: content\.json /);
  });

  it("audit verify says what it cannot read", async () => {
    expect((await audit("verify")).err).to.match(/^verify: expected the name of an archive or a folder/);
    expect((await audit("verify", join(folder, "none"))).err).to.match(/cannot be read: ENOENT/);
    await writeFile(join(folder, "text"), "no archive");
    expect((await audit("verify", join(folder, "text"))).err).to.match(/cannot be unpacked: it is no ZIP archive/);
  });

  it("audit verify refuses an archive that another program could unpack to other files", async () => {
    const archiveOf = async (...names: string[]): Promise<Buffer> => {
      const zip = new ZipFile();
      for (const name of names) zip.addBuffer(Buffer.from(name), name);
      zip.end();
      return buffer(zip.outputStream as NodeJS.ReadableStream);
    };
    const whole = await archiveOf("one", "two");
    const escaping = Buffer.from(
      (await archiveOf("aa/one")).toString("latin1").replaceAll("aa/one", "../one"),
      "latin1",
    );
    const archives: [Buffer, RegExp][] = [
      [await archiveOf("sent.eml", "SENT.EML"), /it has the name "SENT.EML" twice/],
      [Buffer.concat([whole, Buffer.of(0)]), /it has more bytes than one archive/],
      [Buffer.concat([await archiveOf("other"), whole]), /it has more bytes than one archive/],
      [escaping, /the name "\.\.\/one" leads out of the folder/],
    ];
    for (const [bytes, expected] of archives) {
      await writeFile(join(folder, "doubtful.zip"), bytes);
      const { code, err } = await audit("verify", join(folder, "doubtful.zip"));
      expect(code).to.equal(1);
      expect(err).to.match(expected);
    }
  });

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
    expect(missing.err).to.equal("There is no such workspace or audit tree, or it has no event yet.\n");
    expect((await audit("witness-lines", "--workspace", "mine")).err).to.match(/^mine is not the id of a workspace/);
  });
});
