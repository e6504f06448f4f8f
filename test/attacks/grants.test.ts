import { expect } from "chai";
import type { Authentication } from "#streams/thread/events.ts";
import { proof, useRules } from "#test/processes/rulesWorld.ts";

const auto = [{ type: "set_approval_mode", mode: "auto" }];
const manual = [{ type: "set_approval_mode", mode: "manual" }];

describe("attacks on approvals granted by rules", () => {
  const rules = useRules();

  const changes: [string, object | null][] = [
    ["taken back", null],
    ["switched off", { status: "inactive" }],
    ["made to ask for a person", { actions: manual }],
    [
      "narrowed",
      { conditions: { operator: "AND", conditions: [{ field: "message.subject", op: "equals", value: "Another" }] } },
    ],
  ];
  for (const [what, json] of changes) {
    it(`a rule that was ${what} since the message was received does not approve the answer [d9 set_approval_mode]`, async () => {
      const world = await rules.world();
      const rule = await world.rule("email.received", auto);
      // A workspace without rules judges no drafts, so another rule, which never matches here, is kept.
      await world.rule("draft.stale", [{ type: "set_priority", priority: "low" }]);
      const received = await world.mail();
      await world.settled(rule);
      const line = json === null ? "DELETE" : "PATCH";
      const changed = await world.ask(`${line} /v1/rules/${rule.id}`, json === null ? {} : { json });
      expect(changed.status, changed.text).to.equal(200);
      const { id } = await world.draft(received);
      await world.rulesApplied(id);
      await rules.service.caughtUp();
      expect(await world.status(id)).to.equal("pending");
    });
  }

  it("a rule that has not changed since the message was received approves the answer", async () => {
    const world = await rules.world();
    const rule = await world.rule("email.received", auto);
    const received = await world.mail();
    await world.settled(rule);
    const { id } = await world.draft(received);
    await world.becomes(id, "sent");
  });

  it("a draft waits for a person while the proof of its message's sender is late", async () => {
    let found = (_: Authentication): void => {};
    rules.say(new Promise((resolve) => (found = resolve)));
    const world = await rules.world({ autoApproveReplies: true });
    await world.rule("email.received", manual);
    const { id } = await world.draft(await world.mail());
    await world.proofIsLate();
    await world.rulesApplied(id);
    await rules.service.caughtUp();
    found(proof);
    expect(await world.status(id)).to.equal("pending");
    const { data } = await world.get(`/v1/drafts/${id}/history?limit=100`);
    expect(data.map((event: any) => event.type)).to.include("DraftReturnedToPending");
  });
});
