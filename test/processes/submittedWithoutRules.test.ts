import { expect } from "chai";
import { pauseInstallation, resumeInstallation } from "#src/commands/installation.ts";
import { queueSend } from "#src/commands/sends/queueSend.ts";
import { operator } from "#test/support/cause.ts";
import { until } from "#test/support/inProcess.ts";
import { useRules } from "./rulesWorld.ts";

describe("an automatically approved draft in a workspace without rules [d4 rules of draft.created]", () => {
  const rules = useRules();

  const typesOf = async (draftId: string) =>
    (await rules.service.deps.store.read(`draft-${draftId}`)).map(({ type }) => type);

  it("160 automatically approved drafts without rules are sent without waiting, and none becomes pending", async () => {
    const { mail: receive, draft } = await rules.world({ autoApproveReplies: true });
    const received = await receive();
    const ids: string[] = [];
    const submit = async (): Promise<void> => {
      while (ids.length < 160) {
        const place = ids.push("") - 1;
        ids[place] = (await draft(received, { body_text: `Answer ${place}.` })).id;
      }
    };
    await Promise.all(Array.from({ length: 8 }, submit));
    // After the longest wait for rules all drafts are still being sent.
    rules.service.clock.advance(301_000);
    await until(async () => {
      const all = await Promise.all(ids.map(async (id) => (await rules.service.deps.drafts.load(id)).state.status));
      return all.every((status) => status === "sent" || status === "stale" || status === "failed");
    }, 120_000);
    for (const id of ids) {
      const types = await typesOf(id);
      expect(types.slice(0, 2), id).to.deep.equal(["DraftSubmitted", "DraftRulesApplied"]);
      expect(types, id).to.not.include("DraftReturnedToPending");
    }
  });

  it("an automatically approved draft becomes pending if a rule that wants a person is made before its claim", async () => {
    const { mail: receive, draft, rule, becomes } = await rules.world({ autoApproveReplies: true });
    const received = await receive();
    await pauseInstallation(rules.service.deps, null, operator());
    try {
      const submitted = await draft(received);
      expect(await typesOf(submitted.id)).to.include.members(["DraftSubmitted", "DraftRulesApplied"]);
      await rule("draft.created", [{ type: "set_approval_mode", mode: "manual" }], { name: "Careful" });
      await resumeInstallation(rules.service.deps, null, operator());
      await becomes(submitted.id, "pending");
      const again = await queueSend(
        rules.service.deps,
        { draftId: submitted.id, kind: "auto" },
        operator(submitted.workspace_id),
      ).catch((error) => error.code);
      expect(again).to.equal("invalid_status");
      expect(await typesOf(submitted.id)).to.not.include("DraftQueued");
    } finally {
      await resumeInstallation(rules.service.deps, null, operator());
    }
  });

  it("an automatically approved draft follows the rules that ran on its message although they were deleted", async () => {
    const { ask, mail: receive, draft, rule, becomes, settled } = await rules.world({ autoApproveReplies: true });
    const manual = await rule("email.received", [{ type: "set_approval_mode", mode: "manual" }]);
    const received = await receive();
    await settled(manual);
    await ask(`DELETE /v1/rules/${manual.id}`);
    const submitted = await draft(received);
    await becomes(submitted.id, "pending");
    const types = await typesOf(submitted.id);
    expect(types.slice(0, 2)).to.deep.equal(["DraftSubmitted", "DraftRulesBegun"]);
    expect(types).to.include("DraftReturnedToPending").and.not.include("DraftQueued");
  });
});
