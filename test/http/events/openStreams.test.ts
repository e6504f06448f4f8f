import { once } from "node:events";
import { Readable } from "node:stream";
import { expect } from "chai";
import { endlessStream } from "#src/http/events/eventStream.ts";
import { createOpenStreams } from "#src/http/events/openStreams.ts";
import { Rejected } from "#streams/decider.ts";
import { adjustableClock } from "#test/support/adjustableClock.ts";

describe("places for event streams [d11 stream]", () => {
  function places() {
    const clock = adjustableClock();
    const streams = createOpenStreams({ clock });
    const replaced: string[] = [];
    const holders = (key: string) => [
      { name: "this API key", id: key, most: 2 },
      { name: "this workspace", id: "workspace", most: 3 },
    ];
    const open = (name: string, key = "a") =>
      streams.open(holders(key), (signal) => {
        const stream = new Readable({ read() {} });
        signal.addEventListener("abort", () => {
          replaced.push(name);
          stream.destroy();
        });
        return stream;
      });
    const refusal = (key = "a") => {
      try {
        open("refused", key);
      } catch (error) {
        if (error instanceof Rejected) return { holder: /^this \S+( key)?/.exec(error.message)![0], ...error.details };
        throw error;
      }
      return undefined;
    };
    return { clock, open, refusal, replaced };
  }

  it("a stream keeps its place for a minute; then one more stream of its key replaces the oldest", () => {
    const { clock, open, refusal, replaced } = places();
    open("first");
    clock.advance(20_000);
    open("second");
    expect(refusal()).to.deep.equal({ holder: "this API key", retryAfter: 40 });
    clock.advance(40_000);
    open("third");
    expect(replaced).to.deep.equal(["first"]);
    expect(refusal()).to.deep.equal({ holder: "this API key", retryAfter: 20 });
    clock.advance(60_000);
    open("fourth");
    open("fifth");
    expect(replaced).to.deep.equal(["first", "second", "third"]);
  });

  it("a full workspace replaces its oldest stream too, and a refused stream replaces none", () => {
    const { clock, open, refusal, replaced } = places();
    open("a1");
    open("a2");
    clock.advance(60_000);
    open("b1", "b");
    // The key's oldest has had its minute, and is the workspace's oldest too: one goes, not two.
    open("a3");
    expect(replaced).to.deep.equal(["a1"]);
    open("b2", "b");
    expect(replaced).to.deep.equal(["a1", "a2"]);
    expect(refusal("b")).to.deep.equal({ holder: "this API key", retryAfter: 60 });
    expect(refusal("c")).to.deep.equal({ holder: "this workspace", retryAfter: 60 });
    expect(replaced).to.deep.equal(["a1", "a2"]);
  });

  it("a stream that is closed frees its place at once", async () => {
    const { open, refusal, replaced } = places();
    const first = open("first");
    open("second");
    first.destroy();
    await once(first, "close");
    open("third");
    expect(refusal()).to.include({ holder: "this API key" });
    expect(replaced).to.deep.equal([]);
  });

  it("a stream whose client does not read what is ready for it is closed", async () => {
    async function* frames() {
      for (;;) yield "x".repeat(10_000);
    }
    const stream = endlessStream([], frames, 10);
    stream.on("error", () => {});
    stream.once("readable", () => {});
    await once(stream, "close");
    expect(stream.destroyed).to.equal(true);
  });
});
