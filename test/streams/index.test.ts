import { readdirSync } from "node:fs";
import { expect } from "chai";
import { categoryOf } from "#streams/event.ts";
import { streams } from "#streams/index.ts";

const folders = readdirSync(new URL("../../streams/", import.meta.url), { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name);

describe("the list of streams", () => {
  it("the list of streams has every stream once", () => {
    expect(Object.values(streams).map(({ decider }) => decider.category)).to.have.members(folders);
  });

  it("each stream is named by the category that its rules are for", () => {
    const { slots, quotas, ...byId } = streams;
    for (const [noun, { decider, name }] of Object.entries(byId)) {
      expect(categoryOf(name("id-1")), noun).to.equal(decider.category);
    }
    expect(slots.name({ workspaceId: "w", kind: "rules" })).to.equal("slots-w-rules");
    expect(quotas.name("quota-w-lifetime")).to.equal("quota-w-lifetime");
  });
});
