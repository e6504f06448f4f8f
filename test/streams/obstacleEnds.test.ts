import { readFileSync } from "node:fs";
import { expect } from "chai";
import type { Recorded } from "#streams/event.ts";
import { canEndObstacle, obstacleCategories } from "#streams/obstacleEnds.ts";

type Sample = { type: string; data: Record<string, unknown> };

const samplesOf = (category: string): Sample[] =>
  JSON.parse(readFileSync(new URL(`../../streams/${category}/samples.json`, import.meta.url), "utf8"));
const canEnd = (category: string, sample: Sample): boolean =>
  canEndObstacle({ ...sample, stream: `${category}-1` } as unknown as Recorded);

describe("the events that can end what prevents a draft from being sent", () => {
  it("the events that can end an obstacle to sending are, of all stored events, those that allow more", () => {
    const ending = obstacleCategories.flatMap((category) =>
      samplesOf(category)
        .filter((sample) => sample.type !== "IdentityUpdated" && canEnd(category, sample))
        .map(({ type }) => type),
    );
    expect([...new Set(ending)].sort()).to.deep.equal(
      ["DomainDeleted", "DomainVerified", "IdentityDeleted", "InstallationResumed", "PlanSet", "SendingResumed"].sort(),
    );
  });

  it("of an identity's changes, only the one that makes it active can end an obstacle", () => {
    const updated = (changes: object) => canEnd("identity", { type: "IdentityUpdated", data: { changes } });
    expect([{ status: "active" }, { status: "disabled" }, { displayName: "Other" }].map(updated)).to.deep.equal([
      true,
      false,
      false,
    ]);
  });

  it("no event of another stream ends an obstacle, and a type that this version does not know is an error", () => {
    expect(canEnd("draft", { type: "DraftApproved", data: {} })).to.equal(false);
    expect(() => canEnd("workspace", { type: "SendingBlessed", data: {} })).to.throw("SendingBlessed");
  });
});
