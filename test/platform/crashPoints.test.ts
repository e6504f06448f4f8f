import { expect } from "chai";
import { crashPoints } from "#src/platform/crashPoints.ts";
import { sourceFiles, textOf } from "#test/support/imports.ts";

const section = (heading: string): string =>
  textOf("test/README.md").split(`## ${heading}\n`)[1]?.split("\n#")[0] ?? "";

describe("crash points", () => {
  it("test/README.md lists the crash points, these and no others, in order", () => {
    const listed = [...section("Crash points").matchAll(/`([a-z]+:[a-z-]+)`/g)].map(([, point]) => point);
    expect(listed).to.deep.equal([...crashPoints]);
  });

  it("each crash point is passed somewhere in the code", () => {
    const code = sourceFiles("src").map(textOf).join("\n");
    const passed = (point: string): boolean =>
      code.includes(`crashPoint("${point}")`) || code.includes(`recorded: "${point}"`);
    expect(crashPoints.filter((point) => !passed(point))).to.deep.equal([]);
  });
});
