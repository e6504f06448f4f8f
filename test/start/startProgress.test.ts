import type { WriteStream } from "node:tty";
import { expect } from "chai";
import { startProgress } from "#src/start/startProgress.ts";

describe("the progress of a start", () => {
  /** Shows two steps and the end; returns what was written and what was logged. */
  function shown(isTTY: boolean) {
    let written = "";
    const logged: unknown[] = [];
    const output = {
      isTTY,
      write(text: string) {
        written += text;
      },
    } as unknown as WriteStream;
    const log = { info: (...line: unknown[]) => logged.push(line) } as unknown as Parameters<typeof startProgress>[0];
    const progress = startProgress(log, output);
    progress.step("PostgreSQL");
    progress.step("service");
    progress.end();
    return { written, logged };
  }

  it("the progress of a start is one line on a terminal, which each step rewrites and the end clears", () => {
    const { written, logged } = shown(true);
    const clear = "\r\x1b[K";
    const lines = written.split(clear).filter(Boolean);
    expect(lines).to.deep.equal(["  Starting: PostgreSQL … 0 s", "  Starting: service … 0 s"]);
    expect(written.endsWith(clear)).to.equal(true);
    expect(written).not.to.contain("\n");
    expect(logged).to.deep.equal([]);
  });

  it("the progress of a start is a log line for each step without a terminal", () => {
    const { written, logged } = shown(false);
    expect(written).to.equal("");
    expect(logged).to.deep.equal([
      [{ step: "PostgreSQL" }, "starting"],
      [{ step: "service" }, "starting"],
    ]);
  });
});
