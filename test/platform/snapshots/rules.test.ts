import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect } from "chai";
import { rulesOfStreams } from "#src/platform/snapshots/rules.ts";
import { streams } from "#streams/index.ts";
import { root } from "#test/support/imports.ts";

describe("the hash of a stream's rules", () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "countersign-rules-"));
    cpSync(join(root, "streams"), folder, { recursive: true });
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  const rules = () => rulesOfStreams(pathToFileURL(`${folder}/`));

  /** The categories whose hash is another one after this file got another line. */
  function changedBy(file: string): string[] {
    const before = rules();
    writeFileSync(join(folder, file), `${readFileSync(join(folder, file), "utf8")}\n// another line\n`);
    const after = rules();
    return [...before.keys()].filter((category) => before.get(category) !== after.get(category));
  }

  it("is there for each kind of stream, each another one, and the same each time", () => {
    const categories = Object.values(streams).map(({ decider }) => decider.category);
    expect([...rulesOfStreams().keys()]).to.have.members(categories);
    expect(new Set(rulesOfStreams().values()).size).to.equal(categories.length);
    expect(rules()).to.deep.equal(rulesOfStreams());
  });

  it("changes with the stream's own sources, and no other's", () => {
    expect(changedBy("webhook/decider.ts")).to.deep.equal(["webhook"]);
    expect(changedBy("quota/decider.ts")).to.deep.equal(["quota"]);
  });

  it("changes with what they import, however far away", () => {
    expect(changedBy("inbox/words.ts")).to.include.members(["inbox", "thread"]).and.not.to.include("quota");
    expect(changedBy("quota/rollOver.ts")).to.have.members(["billing", "quota", "workspace"]);
  });

  it("changes with the upcasters, for all", () => {
    expect(changedBy("upcast.ts")).to.have.length(Object.keys(streams).length);
  });

  it("is not changed by samples", () => {
    expect(changedBy("quota/samples.json")).to.deep.equal([]);
  });
});
