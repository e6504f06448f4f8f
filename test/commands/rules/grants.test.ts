import { expect } from "chai";
import fc from "fast-check";
import { rulesInScope } from "#src/commands/rules/ruleRuns.ts";
import type { Facts } from "#streams/rule/evaluate.ts";
import type { Group, Leaf, RuleAction } from "#streams/rule/events.ts";
import { decideApproval } from "#streams/ruleRun/approval.ts";
import { sized } from "#test/support/full.ts";
import { type ModelRule, type ModelWalk, type ModelWorld, unsureConditions, whoLetsItGo } from "./grantModel.ts";

/** Maximum number of unsure conditions: with more, trying all combinations takes too long. */
const maxUnsure = 8;

const statuses = ["open", "waiting", "closed"] as const;
const pools: Record<string, readonly string[]> = {
  "contact.status": ["trusted", "unknown"],
  "contact.tag": ["vip", "late"],
  "contact.domain": ["customer.example", "evil.example"],
  "message.from_email": ["ann@customer.example", "eve@evil.example"],
  "thread.status": statuses,
  "message.subject": ["my order", "refund"],
  "message.body_text": ["where is it", "refund now"],
  "thread.subject": ["my order", "refund"],
  "identity.id": ["mine", "another"],
};
const fieldsOf = {
  received: Object.keys(pools),
  created: Object.keys(pools).filter((field) => !field.startsWith("message.")),
};
const words = new Set(["thread.status", "contact.status"]);

const leaf = (fields: readonly string[]): fc.Arbitrary<Leaf> =>
  fc.constantFrom(...fields).chain((field) => {
    const pool = pools[field] as readonly string[];
    const single = words.has(field)
      ? (["equals", "not_equals"] as const)
      : (["equals", "not_equals", "contains", "not_contains", "starts_with"] as const);
    return fc.oneof(
      fc.record({ field: fc.constant(field), op: fc.constantFrom(...single), value: fc.constantFrom(...pool) }),
      fc.record({ field: fc.constant(field), op: fc.constantFrom("in", "not_in"), value: fc.subarray([...pool]) }),
    ) as fc.Arbitrary<Leaf>;
  });

const operator = fc.constantFrom("AND" as const, "OR" as const);
const tree = (fields: readonly string[]): fc.Arbitrary<Group> =>
  fc.oneof(
    { weight: 2, arbitrary: fc.constant({}) },
    { weight: 4, arbitrary: group(operator, fc.array(leaf(fields), { minLength: 1, maxLength: 2 })) },
    {
      weight: 1,
      arbitrary: group(
        operator,
        fc.tuple(leaf(fields), group(operator, fc.array(leaf(fields), { minLength: 1, maxLength: 2 }))),
      ),
    },
  );
function group(by: fc.Arbitrary<"AND" | "OR">, items: fc.Arbitrary<(Group | Leaf)[]>): fc.Arbitrary<Group> {
  return fc.record({ operator: by, conditions: items });
}

const action: fc.Arbitrary<RuleAction> = fc.oneof(
  { weight: 3, arbitrary: fc.constant({ type: "skip_approval" } as const) },
  { weight: 3, arbitrary: fc.constant({ type: "set_approval_mode", mode: "auto" } as const) },
  { weight: 3, arbitrary: fc.constant({ type: "set_approval_mode", mode: "manual" } as const) },
  {
    weight: 2,
    arbitrary: fc.constantFrom(...statuses).map((status) => ({ type: "set_thread_status", status }) as const),
  },
  { weight: 1, arbitrary: fc.constantFrom("vip", "late").map((tag) => ({ type: "add_tag", tag }) as const) },
  { weight: 1, arbitrary: fc.constant({ type: "set_priority", priority: "high" } as const) },
);

const ruleOf = (fields: readonly string[]): fc.Arbitrary<Omit<ModelRule, "id">> =>
  fc.record({
    conditions: tree(fields),
    actions: fc.array(action, { maxLength: 2 }),
    stopAfterMatch: fc.constantFrom(false, false, true),
    identityId: fc.constantFrom(null, null, null, "mine", "another"),
    assistantId: fc.constantFrom(null, null, null, "helper", "other"),
  });

const known = (field: string) => fc.constantFrom(...(pools[field] as readonly string[])).map((value) => [value]);
const walkOf = (trigger: "received" | "created", maxLength: number): fc.Arbitrary<ModelWalk> =>
  fc.record({
    rules: fc
      .array(ruleOf(fieldsOf[trigger]), { maxLength })
      .map((rules) => rules.map((rule, index) => ({ ...rule, id: `${trigger}-${index}` }))),
    facts: fc
      .record({
        ...Object.fromEntries(fieldsOf[trigger].map((field) => [field, known(field)])),
        "contact.tag": fc.subarray(["vip", "late"]),
        "identity.id": fc.constant<string[]>(["mine"]),
      })
      .map((facts) => facts as Record<string, string[]>),
  });

const ann = "ann@customer.example";
const others = ["bob@x.example", "Carol@x.example", "sales@x.example", "eve@x.example"];
const somebody = fc.constantFrom(ann, ...others);
const some = (maxLength: number) => fc.uniqueArray(somebody, { maxLength });
const mail = fc.record({
  kind: fc.constantFrom("forged" as const, "proven" as const, "proven" as const, "list" as const),
  whose: fc.integer({ min: 0, max: 9 }).map((n) => (n === 0 ? ("program" as const) : ("customer" as const))),
  from: fc.constant(ann),
  to: some(1).map((more) => ["support@agents.localhost", ...more]),
  cc: some(1),
  replyTo: some(1),
  covers: fc.subarray(["to" as const, "cc" as const, "reply_to" as const]),
});

const worlds: fc.Arbitrary<ModelWorld> = fc
  .record({
    received: walkOf("received", 3),
    created: walkOf("created", 3),
    mail: fc.option(mail, { freq: 15 }),
    recipients: fc.record({
      to: fc.oneof(
        { weight: 3, arbitrary: fc.constant<string[]>([ann.toUpperCase()]) },
        { weight: 1, arbitrary: some(1) },
      ),
      cc: fc.oneof({ weight: 3, arbitrary: fc.constant<string[]>([]) }, { weight: 1, arbitrary: some(1) }),
      bcc: fc.oneof({ weight: 5, arbitrary: fc.constant<string[]>([]) }, { weight: 1, arbitrary: some(1) }),
    }),
    coveredRecipients: some(1),
    identityId: fc.constant("mine"),
    assistantId: fc.constantFrom(null, "helper"),
    humanRequired: fc.integer({ min: 0, max: 19 }).map((n) => n === 0),
    switchOn: fc.constantFrom(false, false, true),
  })
  .filter((world) => unsureConditions(world) <= maxUnsure);

/** Returns the service's decision about the same world: the ids of the rules, and `switch`. */
function decided(world: ModelWorld): string[] {
  const { identityId, assistantId, humanRequired, switchOn, mail: answered, recipients, coveredRecipients } = world;
  const about = { subject: { identityId }, assistantId } as Parameters<typeof rulesInScope>[1];
  const asked = ({ rules, facts }: ModelWalk) => ({
    rules: rulesInScope(rules.map(asWorking), about),
    facts: new Map(Object.entries(facts)) as Facts,
  });
  const proof = { forged: "unproven", proven: "proven", list: "list" } as const;
  const { by } = decideApproval({
    received: asked(world.received),
    created: asked(world.created),
    exchange: {
      mail: answered && { ...answered, kind: answered.whose, proof: proof[answered.kind] },
      ...{ recipients, coveredRecipients },
    },
    humanRequired,
    switchOn,
  });
  return by.map((source) => (source.kind === "switch" ? "switch" : source.ruleId));
}

const asWorking = (rule: ModelRule): Parameters<typeof rulesInScope>[0][number] => ({
  ...{ exists: true, deleted: false, workspaceId: "", version: 1, name: rule.id },
  ...{ triggerEvent: "draft.created", status: "active", priority: 1 },
  ...rule,
});

const sorted = (by: readonly string[]): string[] => [...new Set(by)].sort();

describe("the grants of rules and the switch [d14 grants]", () => {
  it("grants equal those of a model that tries every outcome of the unsure conditions", () => {
    const seen = new Set<string>();
    fc.assert(
      fc.property(worlds, (world) => {
        const by = sorted(decided(world));
        expect(by).to.deep.equal(sorted(whoLetsItGo(world)));
        seen.add(by.length === 0 ? "a person" : by.includes("switch") ? "the switch" : "a rule");
      }),
      { numRuns: sized(300, 3_000) },
    );
    expect(seen).to.have.all.keys("a person", "the switch", "a rule");
  });
});
