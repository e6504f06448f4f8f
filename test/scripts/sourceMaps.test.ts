import { expect } from "chai";
import { nameSources } from "../../scripts/support/sourceMaps.mjs";

describe("stack traces that name the sources", () => {
  const before = Error.prepareStackTrace;
  beforeEach(() => nameSources());
  afterEach(() => {
    Error.prepareStackTrace = before;
  });

  /** What is shown of an error with frames in these files, and how many of them were written. */
  function shown(error: Error, files: readonly string[]) {
    let written = 0;
    const frames = files.map((file) => ({
      getFileName: () => file,
      getLineNumber: () => 1,
      getColumnNumber: () => 1,
      toString() {
        written += 1;
        return `work (${file}:1:1)`;
      },
    }));
    const text = Error.prepareStackTrace!(error, frames as unknown as NodeJS.CallSite[]);
    return { text, written };
  }

  const reset = () => Object.assign(new Error("aborted"), { code: "ECONNRESET" });

  it("a connection that the other side cut has no frames of Node's own", () => {
    expect(shown(reset(), ["node:net", "node:internal/streams/destroy"])).to.deep.equal({
      text: "Error: aborted",
      written: 0,
    });
  });

  it("one that code outside of Node met has all frames, and so has any other error", () => {
    const files = ["node:net", "/service/src/mail/out/smtp.ts"];
    const text = "Error: aborted\n    at work (node:net:1:1)\n    at work (/service/src/mail/out/smtp.ts:1:1)";
    expect(shown(reset(), files)).to.deep.equal({ text, written: 2 });
    expect(shown(new Error("aborted"), ["node:net"]).text).to.contain("at work (node:net:1:1)");
  });
});
