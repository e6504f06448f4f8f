import { expect } from "chai";
import Type from "typebox";
import { route } from "#src/http/framework/route.ts";
import { compileAhead } from "#src/http/framework/validation/compileAhead.ts";
import { realRoutes } from "#test/support/realRoutes.ts";

describe("schemas that are compiled ahead", () => {
  const never = new AbortController().signal;

  it("schemas of path, query and body are compiled ahead, one per turn of the event loop", async () => {
    let compiled = 0;
    let turns = 0;
    const mostATurn: number[] = [];
    const each = () => {
      mostATurn[turns] = (mostATurn[turns] ?? 0) + 1;
      compiled += 1;
    };
    const ticking = setInterval(() => turns++, 0);
    await compileAhead([{ compile: [each, each] }, { compile: [] }, { compile: [each] }], never);
    clearInterval(ticking);
    expect(compiled).to.equal(3);
    expect(Math.max(...mostATurn.filter(Boolean))).to.equal(1);
    for (const { checkParams, compile } of realRoutes()) expect(compile).to.have.length(2 * (checkParams ? 3 : 2));
  });

  it("a schema that changes after it was compiled ahead still validates as before the change", async () => {
    const name = { ...Type.String() };
    const body = Type.Object({ name }, { additionalProperties: false });
    const made = route(
      "POST /things",
      { scope: null, limit: "write", summary: "", body, answers: Type.Null() },
      async () => null,
    );
    await compileAhead([made], never);
    Object.assign(name, { type: "number" });
    expect(() => made.checkBody({ name: "a" })).not.to.throw();
  });

  it("compiling ahead ends when the service closes, and continues after a schema that cannot be compiled", async () => {
    const closing = new AbortController();
    const done: string[] = [];
    const fails = () => {
      throw new Error("no schema");
    };
    const last = () => {
      done.push("before");
      closing.abort();
    };
    await compileAhead([{ compile: [fails, last, () => done.push("after")] }], closing.signal);
    expect(done).to.deep.equal(["before"]);
  });
});
