import { expect } from "chai";
import { withoutTag } from "#streams/emailAddress/untagged.ts";

describe("an address without its tag", () => {
  for (const [address, untagged] of [
    ["ada@example.com", "ada@example.com"],
    ["ada+orders@example.com", "ada@example.com"],
    ["ada+orders+2026@example.com", "ada@example.com"],
    ["+15550100@example.com", "+15550100@example.com"],
    ["ada@example.com+orders", "ada@example.com+orders"],
    ["ada+orders", "ada+orders"],
    ["", ""],
  ] as const)
    it(`the address ${JSON.stringify(address)} without its tag is ${JSON.stringify(untagged)}`, () => {
      expect(withoutTag(address)).to.equal(untagged);
    });
});
