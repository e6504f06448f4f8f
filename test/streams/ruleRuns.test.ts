import { expect } from "chai";
import type { Field } from "#streams/rule/content.ts";
import type { Facts } from "#streams/rule/evaluate.ts";
import type { Group } from "#streams/rule/events.ts";
import { approvalModeOf, ruleRunDecider } from "#streams/ruleRun/decider.ts";
import type { RuleRunEvent } from "#streams/ruleRun/events.ts";
import type { AnsweredMail } from "#streams/ruleRun/grants.ts";
import { type Circumstances, planRun, type WalkedRule } from "#streams/ruleRun/plan.ts";
import { given } from "#test/support/given.ts";

describe("a run of rules [4 rule evaluation] [d8 grants]", () => {
  const rule = (id: string, different: Partial<WalkedRule> = {}): WalkedRule => ({
    ...{ id, version: 1, name: id, conditions: {}, actions: [], stopAfterMatch: false },
    ...different,
  });
  const facts: Facts = new Map([
    ["contact.domain", ["customer.example"]],
    ["contact.tag", []],
    ["thread.status", ["open"]],
  ]);
  const ann = "ann@customer.example";
  const mailOf = (proof: AnsweredMail["proof"]): AnsweredMail => ({
    ...{ kind: "customer", proof, from: ann, to: ["support@agents.localhost"], cc: [], replyTo: [], covers: [] },
  });
  const at = ({ proven = false, ...different }: Partial<Circumstances> & { proven?: boolean } = {}): Circumstances => ({
    ...({ trigger: "draft.created", facts, humanRequired: false } as const),
    exchange: {
      mail: mailOf(proven ? "proven" : "unproven"),
      recipients: { to: [ann], cc: [], bcc: [] },
      coveredRecipients: [],
    },
    ...{ ranBefore: new Set<string>(), chainEnded: false },
    ...different,
  });
  const leaf = (field: string, value: string): Group => ({
    operator: "AND",
    conditions: [{ operator: "OR", conditions: [{ field, op: "equals", value }] }],
  });
  const suppressed = (rules: WalkedRule[], circumstances: Circumstances) =>
    planRun(rules, circumstances).map(({ actions }) => actions.map((action) => action.suppressed));

  it("a run of rules ends at a matching rule that says so", () => {
    const results = planRun(
      [
        rule("a", { conditions: leaf("thread.status", "closed"), stopAfterMatch: true }),
        rule("b", { stopAfterMatch: true }),
        rule("c"),
      ],
      at(),
    );
    expect(results.map(({ ruleId, matched }) => [ruleId, matched])).to.deep.equal([
      ["a", false],
      ["b", true],
    ]);
  });

  describe("a run with a condition on text that was not searched in time", () => {
    const inText = (value: string): Group => leaf("message.body_text", value);
    /** Only "known" was looked for, and found. */
    const answers = new Map([[JSON.stringify(["equals", "known"]), true]]);
    const unanswered = at({ trigger: "email.received", facts: new Map([...facts, ["message.body_text", answers]]) });
    const auto = { type: "set_approval_mode", mode: "auto" } as const;
    const manual = { type: "set_approval_mode", mode: "manual" } as const;
    const tag = { type: "add_tag", tag: "vip" } as const;

    it("an unanswered condition counts as matched, only its rule's manual action is done, and the run continues", () => {
      const unsure = rule("a", { conditions: inText("other"), actions: [tag, manual], stopAfterMatch: true });
      const results = planRun([unsure, rule("b", { conditions: inText("known"), actions: [tag] })], unanswered);
      expect(results.map(({ matched }) => matched)).to.deep.equal([true, true]);
      const [[why, stands], [done]] = results.map(({ actions }) => actions.map((action) => action.suppressed)) as any;
      expect(why).to.match(/^not_evaluated: /);
      expect([stands, done]).to.deep.equal([null, null]);
    });

    it("a run with an unanswered condition grants nothing, whichever rule grants", () => {
      const grant = rule("g", { actions: [auto] });
      const unsure = rule("u", { conditions: inText("other") });
      for (const rules of [
        [grant, unsure],
        [unsure, grant],
      ]) {
        const reasons = suppressed(rules, unanswered).flat();
        expect(reasons).to.have.length(1);
        expect(reasons[0]).to.match(/^not_evaluated: /);
      }
      expect(suppressed([grant, rule("k", { conditions: inText("known") })], unanswered)).to.deep.equal([[null], []]);
    });

    it("a run with an unanswered condition still knows what follows from either answer", () => {
      const either: Group = { operator: "OR", conditions: [inText("other"), inText("known")] };
      expect(suppressed([rule("a", { conditions: either, actions: [tag] })], unanswered)).to.deep.equal([[null]]);
      const none: Group = { operator: "AND", conditions: [inText("other"), leaf("thread.status", "closed")] };
      expect(planRun([rule("a", { conditions: none, actions: [tag] })], unanswered)[0]?.matched).to.equal(false);
    });
  });

  it("a run shows each rule what the rules before it did", () => {
    const results = planRun(
      [
        rule("a", {
          actions: [
            { type: "set_thread_status", status: "closed" },
            { type: "add_tag", tag: "vip" },
          ],
        }),
        rule("b", { conditions: leaf("thread.status", "closed") }),
        rule("c", { conditions: leaf("contact.tag", "vip") }),
      ],
      at(),
    );
    expect(results.map(({ matched }) => matched)).to.deep.equal([true, true, true]);
    expect(facts.get("thread.status")).to.deep.equal(["open"]);
  });

  for (const field of ["contact.domain", "contact.status", "contact.tag", "message.from_email", "thread.status"]) {
    it(`a condition on ${field} grants only with proof of the sender`, () => {
      const known: Facts = new Map(facts).set(field as Field, ["x"]);
      const claims = { conditions: leaf(field, "x") };
      for (const trigger of ["email.received", "draft.created"] as const) {
        for (const [action, grants] of [
          [{ type: "set_approval_mode", mode: "auto" }, true],
          [{ type: "set_approval_mode", mode: "manual" }, false],
          [{ type: "set_priority", priority: "high" }, false],
        ] as const) {
          const rules = [rule("a", { ...claims, actions: [action] })];
          const [[unproven]] = suppressed(rules, at({ trigger, facts: known })) as [[string | null]];
          expect(unproven === null, `${trigger} ${JSON.stringify(action)}`).to.equal(!grants);
          if (grants) expect(unproven).to.match(/^unproven_sender: .*DMARC/);
          expect(suppressed(rules, at({ trigger, facts: known, proven: true }))).to.deep.equal([[null]]);
        }
      }
      const skip = [rule("a", { ...claims, actions: [{ type: "skip_approval" }, { type: "add_tag", tag: "x" }] })];
      const [actions] = suppressed(skip, at({ facts: known })) as [(string | null)[]];
      expect(actions[0], "the grant").to.contain("DMARC");
      expect(actions[1], "the rest runs").to.equal(null);
    });
  }

  describe("a grant that depends on another rule's condition on the sender", () => {
    const trusted: Facts = new Map(facts).set("contact.status", ["trusted"]);
    const isTrusted = leaf("contact.status", "trusted");
    const isStranger: Group = { conditions: [{ field: "contact.status", op: "not_equals", value: "trusted" }] };
    const skip = rule("skip", { actions: [{ type: "skip_approval" }] });
    const manual = rule("manual", { actions: [{ type: "set_approval_mode", mode: "manual" }] });
    const setsStatus = rule("status", {
      conditions: isTrusted,
      actions: [{ type: "set_thread_status", status: "waiting" }],
    });
    const grantOf = (rules: WalkedRule[], proven: boolean) =>
      planRun(rules, at({ facts: trusted, proven })).find(({ ruleId }) => ruleId === "skip")?.actions[0]?.suppressed;
    for (const [what, rules] of Object.entries({
      "of a rule before it that would have ended the run": [
        rule("a", { conditions: isStranger, stopAfterMatch: true }),
        skip,
      ],
      "of a rule after it that would have asked for a person": [skip, { ...manual, conditions: isStranger }],
      "of a rule that ended the run before a person was asked for": [
        skip,
        rule("a", { conditions: isTrusted, stopAfterMatch: true }),
        manual,
      ],
      "of a rule that set the status it asks about": [
        setsStatus,
        { ...skip, conditions: leaf("thread.status", "waiting") },
      ],
    })) {
      it(`without proof of the sender, nothing is granted by a condition ${what}`, () => {
        expect(grantOf(rules, true), "proven").to.equal(null);
        expect(grantOf(rules, false), "claimed").to.contain("DMARC");
      });
    }

    it("a grant needs no proof if the result is the same for every sender", () => {
      const elsewhere: Group = {
        conditions: [...(isStranger.conditions ?? []), { field: "identity.id", op: "equals", value: "another" }],
      };
      const tags = rule("tags", { conditions: isTrusted, actions: [{ type: "add_tag", tag: "x" }] });
      for (const rules of [
        [{ ...manual, conditions: isStranger }, skip],
        [skip, { ...manual, conditions: elsewhere }],
        [rule("a", { conditions: elsewhere, stopAfterMatch: true }), tags, skip],
      ]) {
        expect(grantOf(rules, false)).to.equal(null);
      }
    });
  });

  it("a grant needs no proof if no condition asks who the sender is", () => {
    const rules = [rule("a", { conditions: leaf("identity.id", "i"), actions: [{ type: "skip_approval" }] })];
    const known: Facts = new Map(facts).set("identity.id", ["i"]);
    expect(suppressed(rules, at({ facts: known }))).to.deep.equal([[null]]);
  });

  it("a run grants nothing if human approval is required, if the rule already ran, or at the end of a chain", () => {
    const rules = [rule("a", { actions: [{ type: "skip_approval" }] })];
    expect(String(suppressed(rules, at({ humanRequired: true, proven: true })))).to.match(/requires human approval/);
    expect(String(suppressed(rules, at({ ranBefore: new Set(["a"]) })))).to.contain("has already run");
    expect(String(suppressed(rules, at({ chainEnded: true })))).to.contain("too many");
  });

  it("the last action about an approval decides", () => {
    const rules = [
      rule("a", { actions: [{ type: "skip_approval" }] }),
      rule("b", { actions: [{ type: "set_approval_mode", mode: "manual" }] }),
    ];
    const results = suppressed(rules, at());
    expect(results[0]?.[0]).to.contain("a later action");
    expect(results[1]).to.deep.equal([null]);
  });

  it("a run and its actions are recorded once, and its mode goes to one draft", () => {
    const evaluated: Extract<RuleRunEvent, { type: "RulesEvaluated" }>["data"] = {
      workspaceId: "w",
      triggerEvent: "email.received",
      triggerEventId: "t",
      subject: {
        identityId: "i",
        threadId: "t",
        messageId: "m",
        draftId: null,
        draftVersion: null,
        contactEmail: null,
      },
      results: planRun(
        [rule("a", { actions: [{ type: "set_approval_mode", mode: "auto" }] })],
        at({ trigger: "email.received" }),
      ),
      facts: {},
    };
    const told: RuleRunEvent = { type: "RulesEvaluated", data: evaluated };
    const taken = (outcome: "done" | "failed"): RuleRunEvent => ({
      type: "RuleActionTaken",
      data: { ruleId: "a", index: 0, outcome, reason: null },
    });
    const take = (outcome: "done" | "failed") =>
      ({ type: "RecordAction", ruleId: "a", index: 0, outcome, reason: null }) as const;
    given(ruleRunDecider).when({ type: "RecordEvaluation", evaluated }).then(told);
    given(ruleRunDecider, told).when({ type: "RecordEvaluation", evaluated }).then();
    given(ruleRunDecider, told).when(take("failed")).then(taken("failed"));
    given(ruleRunDecider, told, taken("failed")).when(take("failed")).then();
    given(ruleRunDecider, told, taken("failed")).when(take("done")).then(taken("done"));
    given(ruleRunDecider, told, taken("done")).when(take("failed")).then();
    const used: RuleRunEvent = { type: "ApprovalModeUsed", data: { draftId: "d" } };
    given(ruleRunDecider, told).when({ type: "UseMode", draftId: "d" }).then(used);
    given(ruleRunDecider, told, used).when({ type: "UseMode", draftId: "e" }).then();
    given(ruleRunDecider).when({ type: "UseMode", draftId: "d" }).then();
    expect(approvalModeOf({ evaluated })?.mode).to.equal("auto");
  });
});
