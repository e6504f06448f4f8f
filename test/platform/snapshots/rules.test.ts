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

  /** Returns the categories whose hash changes if a line is added to this file. */
  function changedBy(file: string): string[] {
    const before = rules();
    writeFileSync(join(folder, file), `${readFileSync(join(folder, file), "utf8")}\n// another line\n`);
    const after = rules();
    return [...before.keys()].filter((category) => before.get(category) !== after.get(category));
  }

  it("each kind of stream has its own hash of the rules, the same each time", () => {
    const categories = Object.values(streams).map(({ decider }) => decider.category);
    expect([...rulesOfStreams().keys()]).to.have.members(categories);
    expect(new Set(rulesOfStreams().values()).size).to.equal(categories.length);
    expect(rules()).to.deep.equal(rulesOfStreams());
  });

  it("the hash of a stream's rules changes with its own sources, and no other's", () => {
    expect(changedBy("webhook/decider.ts")).to.deep.equal(["webhook"]);
    expect(changedBy("quota/decider.ts")).to.deep.equal(["quota"]);
  });

  it("the hash of a stream's rules changes with every module they import, directly or not", () => {
    expect(changedBy("inbox/mailKinds.ts")).to.include.members(["inbox", "thread"]).and.not.to.include("quota");
    expect(changedBy("quota/rollOver.ts")).to.have.members(["billing", "quota", "workspace"]);
  });

  it("the hash of all streams' rules changes with the upcasters", () => {
    expect(changedBy("upcast.ts")).to.have.length(Object.keys(streams).length);
  });

  it("the hash of a stream's rules does not change with samples", () => {
    expect(changedBy("quota/samples.json")).to.deep.equal([]);
  });
});
