import { expect } from "chai";
import { createSingleFlight } from "#src/platform/singleFlight.ts";

describe("single flight", () => {
  it("runs work once at a time for each key, and callers that arrive meanwhile share its outcome", async () => {
    const flight = createSingleFlight<string>();
    const begun: string[] = [];
    const ends: (() => void)[] = [];
    const ask = (key: string) =>
      flight.run(key, async () => {
        begun.push(key);
        await new Promise<void>((resolve) => ends.push(resolve));
        return `${key} ${begun.length}`;
      });
    const asked = [ask("a"), ask("a"), ask("b")];
    expect(begun).to.deep.equal(["a", "b"]);
    expect(flight.underWay("a")).to.equal(asked[0]);
    expect(flight.underWay("c")).to.equal(undefined);
    for (const end of ends) end();
    expect(await Promise.all(asked)).to.deep.equal(["a 2", "a 2", "b 2"]);
    const again = ask("a");
    ends.at(-1)!();
    expect(await again).to.equal("a 3");
  });

  it("tells all who share it that work failed, and runs it again for the next caller", async () => {
    const flight = createSingleFlight<string>();
    const fail = () => flight.run("a", () => Promise.reject(new Error("away")));
    const outcomes = await Promise.allSettled([fail(), fail()]);
    expect(outcomes.map(({ status }) => status)).to.deep.equal(["rejected", "rejected"]);
    expect(flight.underWay("a")).to.equal(undefined);
    expect(await flight.run("a", async () => "there")).to.equal("there");
  });
});
