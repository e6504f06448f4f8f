import { expect } from "chai";
import { applyToDraft, type DraftRow } from "#projections/drafts/queries.ts";
import type { DraftEvent } from "#streams/draft/events.ts";
import type { Recorded } from "#streams/event.ts";
import { approved, edited, overLimit, submitted } from "#test/support/examples/drafts.ts";

const recorded = (event: DraftEvent, n: number): Recorded<DraftEvent> => ({
  ...event,
  ...{ id: `event ${n}`, stream: "draft-1", revision: n, position: n, schemaVersion: 1 },
  metadata: {
    ...{ workspaceId: "workspace", actor: { kind: "system", id: "test" } },
    ...{ correlationId: "test", causationId: "test", at: "2026-01-01T00:00:00.000Z" },
  },
});

/** Returns the warnings of the draft's row after these events. */
function warningsAfter(...events: DraftEvent[]) {
  const row = events.reduce<DraftRow | undefined>((row, event, n) => applyToDraft(row, recorded(event, n)), undefined);
  return row?.version_warnings;
}

describe("the warnings of a draft's row", () => {
  it("a version has the warnings of its own event, and a later version none of them", () => {
    const first = submitted({ warnings: ["new_recipient", "risky_file"] });
    expect(warningsAfter(first)).to.deep.equal(["new_recipient", "risky_file"]);
    expect(warningsAfter(first, edited(2, { warnings: [] }))).to.deep.equal([]);
    expect(warningsAfter(first, edited(2, { warnings: ["forms_differ"] }))).to.deep.equal(["forms_differ"]);
  });

  it("a decision keeps the warnings of the version", () => {
    expect(warningsAfter(submitted({ warnings: ["forms_differ"] }), approved(1))).to.deep.equal(["forms_differ"]);
  });

  it("a version that came back because of the limit of answers has that warning too, once, until the next version", () => {
    const back = (because: string): DraftEvent => ({ type: "DraftReturnedToPending", data: { because } });
    const first = submitted({ warnings: ["forms_differ"] });
    expect(warningsAfter(first, back("its rule is off"))).to.deep.equal(["forms_differ"]);
    const limited = [first, back(overLimit), back(overLimit)];
    expect(warningsAfter(...limited)).to.deep.equal(["forms_differ", "answer_limit"]);
    expect(warningsAfter(...limited, edited(2, { warnings: [] }))).to.deep.equal([]);
  });

  it("a version from before warnings were stored counts as not examined, also after a version with warnings", () => {
    expect(warningsAfter(submitted())).to.deep.equal(["not_examined"]);
    expect(warningsAfter(submitted({ warnings: [] }), edited(2))).to.deep.equal(["not_examined"]);
  });
});
