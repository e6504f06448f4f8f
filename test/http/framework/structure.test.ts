import { expect } from "chai";
import fc from "fast-check";
import { StructureScan } from "#src/http/framework/body/structure.ts";
import { sized } from "#test/support/full.ts";

describe("the structure scan of a body before it is parsed", () => {
  const faultOf = (...chunks: string[]) => {
    const scan = new StructureScan();
    for (const chunk of chunks) scan.take(Buffer.from(chunk));
    return scan.fault;
  };
  const list = (count: number): string => `[${Array(count).fill("0").join()}]`;

  /** Counts every object, list, string, number and literal. */
  const valuesIn = (value: unknown): number =>
    typeof value === "object" && value !== null
      ? 1 + Object.values(value).reduce((sum: number, inner) => sum + valuesIn(inner), 0)
      : 1;

  it("a body may have 20,000 JSON values, and the scan names the field that has more", () => {
    expect(faultOf(list(19_999))).to.equal(undefined);
    expect(faultOf(list(20_000))).to.deep.equal({
      field: "",
      sentence: "expected a body of at most 20000 JSON values",
    });
    // Counted: the object, "x", the list and its elements. Names of fields do not count.
    expect(faultOf(`{"a":"x","metadata":${list(19_997)}}`)).to.equal(undefined);
    expect(faultOf(`{"a":"x","metadata":${list(19_998)}}`)).to.include({ field: "metadata" });
    expect(faultOf(`[${Array(19_999).fill("{ }").join()}]`)).to.equal(undefined);
    expect(faultOf(`[${Array(20_000).fill("[]").join()}]`)).to.not.equal(undefined);
  });

  it("a body may be 32 levels deep, and the scan names the field that is deeper", () => {
    const nested = (depth: number) => `${'{"a":'.repeat(depth - 1)}{}${"}".repeat(depth - 1)}`;
    expect(faultOf(nested(32))).to.equal(undefined);
    expect(faultOf(`{"x":"y","a \\"b\\"":${nested(32)}}`)).to.deep.equal({
      field: 'a "b"',
      sentence: "expected JSON nested at most 32 levels deep",
    });
    expect(faultOf("[".repeat(1_000_000))).to.include({ field: "" });
  });

  it("brackets, commas and backslashes in strings do not count as structure", () => {
    expect(faultOf(JSON.stringify({ a: `${"[".repeat(100)}\\"${",".repeat(30_000)}` }))).to.equal(undefined);
    expect(faultOf(JSON.stringify({ "\\": "\\", b: "[".repeat(100) }))).to.equal(undefined);
  });

  it("the structure scan counts the values that JSON.parse finds, wherever chunks end", () => {
    fc.assert(
      fc.property(fc.json(), fc.array(fc.nat(30), { maxLength: 6 }), (text, cuts) => {
        const values = valuesIn(JSON.parse(text));
        // Fill up to the limit, then to one above it.
        for (const [more, refused] of [
          [20_000 - 2 - values, false],
          [20_000 - 1 - values, true],
        ] as const) {
          const body = `[${text},${list(more)}]`;
          const bytes = Buffer.from(body);
          const scan = new StructureScan();
          let at = 0;
          for (const cut of cuts) {
            scan.take(bytes.subarray(at, at + cut));
            at += cut;
          }
          scan.take(bytes.subarray(at));
          expect(scan.fault !== undefined, text).to.equal(refused);
        }
      }),
      { numRuns: sized(12, 200) },
    );
  });
});
