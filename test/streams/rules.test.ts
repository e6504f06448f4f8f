import { expect } from "chai";
import fc from "fast-check";
import { Rejected } from "#streams/decider.ts";
import { readActions } from "#streams/rule/actions.ts";
import { readConditions } from "#streams/rule/conditions.ts";
import { contains } from "#streams/rule/contains.ts";
import { type Field, fieldsOf, kindOf } from "#streams/rule/content.ts";
import { ruleDecider } from "#streams/rule/decider.ts";
import { collectSearches, evaluateConditions, type Facts, runSearch } from "#streams/rule/evaluate.ts";
import {
  type Group,
  type Leaf,
  operators,
  type RuleEvent,
  type RuleSettings,
  triggerEvents,
} from "#streams/rule/events.ts";
import { given } from "#test/support/given.ts";

const settings: RuleSettings = {
  name: "Rule",
  triggerEvent: "email.received",
  conditions: {},
  actions: [],
  status: "active",
  priority: 100,
  stopAfterMatch: false,
  identityId: null,
  assistantId: null,
};

describe("a rule", () => {
  const created: RuleEvent = { type: "RuleCreated", data: { ...settings, workspaceId: "w", version: 1 } };
  const deleted: RuleEvent = { type: "RuleDeleted", data: { version: 2 } };
  const create = { type: "CreateRule", workspaceId: "w", settings } as const;
  const update = (changes: Partial<RuleSettings>) => ({ type: "UpdateRule", changes }) as const;

  it("a rule is made once, changed version by version, and deleted once [3 rule status]", () => {
    given(ruleDecider).when(create).then(created);
    given(ruleDecider, created).when(create).then();
    given(ruleDecider, created)
      .when(update({ status: "inactive" }))
      .then({ type: "RuleUpdated", data: { version: 2, changes: { status: "inactive" } } });
    given(ruleDecider, created)
      .when(update({ ...settings }))
      .then();
    given(ruleDecider, created).when({ type: "DeleteRule" }).then(deleted);
    given(ruleDecider, created, deleted).when({ type: "DeleteRule" }).thenRejected("not_found");
    given(ruleDecider, created, deleted)
      .when(update({ name: "x" }))
      .thenRejected("not_found");
    given(ruleDecider)
      .when(update({ name: "x" }))
      .thenRejected("not_found");
  });
});

const refusal = (work: () => unknown): string => {
  try {
    work();
  } catch (error) {
    if (error instanceof Rejected) return `${error.code} ${error.message}`;
    throw error;
  }
  return "taken";
};

describe("the validation of a rule's conditions [4 condition tree] [d9 bounds]", () => {
  const judge = (value: unknown, trigger = triggerEvents[0] as (typeof triggerEvents)[number]) =>
    refusal(() => readConditions(trigger, value, "conditions"));
  const leaf = { field: "message.subject", op: "contains", value: "x" };
  const nested = (depth: number): unknown => {
    let tree: unknown = { operator: "AND", conditions: [leaf] };
    for (let made = 1; made < depth; made++) tree = { operator: "OR", conditions: [tree] };
    return tree;
  };
  const wide = (count: number) => ({ operator: "AND", conditions: Array.from({ length: count }, () => leaf) });
  const one = (item: unknown) => ({ operator: "AND", conditions: [item] });

  it("valid conditions of a rule are accepted", () => {
    for (const good of [{}, { operator: "OR", conditions: [] }, one(leaf), one({}), nested(8), wide(100)])
      expect(judge(good)).to.equal("taken");
    expect(judge(one({ field: "contact.status", op: "in", value: ["trusted", "unknown"] }))).to.equal("taken");
  });

  const bad: [what: string, value: unknown, answer: RegExp][] = [
    ["no object", [], /^invalid_request conditions: expected an object/],
    ["a leaf at the root", leaf, /^invalid_request conditions\.field: unknown field/],
    ["an unknown operator", { operator: "XOR", conditions: [] }, /conditions\.operator: expected one of AND, OR/],
    ["no list", { operator: "AND" }, /conditions\.conditions: expected an array/],
    ["a surplus field", { operator: "AND", conditions: [], not: 1 }, /conditions\.not: unknown field/],
    ["9 nested groups", nested(9), /expected groups nested at most 8 levels deep/],
    ["101 conditions", wide(101), /conditions\.conditions\[100\]: expected at most 100 conditions in total/],
    [
      "another trigger's field",
      one({ ...leaf, field: "message.to_emails" }),
      /conditions\[0\]\.field: expected one of/,
    ],
    ["__proto__ as a field", one({ ...leaf, field: "__proto__" }), /conditions\[0\]\.field: expected one of/],
    ["constructor as a field", one({ ...leaf, field: "constructor" }), /conditions\[0\]\.field: expected one of/],
    ["an unknown op", one({ ...leaf, op: "matches" }), /conditions\[0\]\.op: expected one of/],
    ["in with a string", one({ ...leaf, op: "in" }), /conditions\[0\]\.value: expected a list of strings/],
    ["equals with a list", one({ ...leaf, op: "equals", value: ["x"] }), /conditions\[0\]\.value: expected a string/],
    ["a number in a list", one({ ...leaf, op: "in", value: ["x", 1] }), /\.value\[1\]: expected a string/],
    ["part of an enum", one({ field: "thread.status", op: "contains", value: "o" }), /conditions\[0\]\.op: expected/],
    ["no such status", one({ field: "thread.status", op: "equals", value: "Open" }), /value: expected one of open/],
    ["no value", one({ field: "message.subject", op: "equals" }), /conditions\[0\]\.value: expected a string/],
    ["a null", one(null), /conditions\[0\]: expected an object/],
  ];
  for (const [what, value, answer] of bad)
    it(`conditions of a rule are refused: ${what}`, () => expect(judge(value)).to.match(answer));

  it("conditions are accepted only for the trigger of their field [4 fields email.received] [4 fields draft.created] [4 fields draft.approved] [4 fields draft.stale]", () => {
    for (const trigger of triggerEvents) {
      for (const field of Object.values(fieldsOf).flat()) {
        const kind = kindOf(field);
        const value = typeof kind === "string" ? "x" : kind[0];
        const judged = judge(one({ field, op: "equals", value }), trigger);
        expect(judged === "taken", `${field} at ${trigger}`).to.equal(fieldsOf[trigger].includes(field));
      }
    }
  });
});

describe("the validation of a rule's actions [d9 actions]", () => {
  const judge = (...actions: unknown[]) => refusal(() => readActions(actions, "actions"));

  it("valid actions of a rule are accepted", () => {
    const good = [
      { type: "set_thread_status", status: "closed" },
      { type: "set_approval_mode", mode: "auto" },
      { type: "skip_approval" },
      { type: "notify_channel", channel: "email", config: { to: "lead@example.com" } },
      { type: "notify_channel", channel: "telegram", config: { bot_token: "1:a", chat_id: "2" } },
      { type: "notify_channel", channel: "slack", config: { webhook_url: "https://hooks.slack.com/x" } },
      { type: "add_tag", tag: "vip" },
      { type: "set_priority", priority: "urgent" },
    ];
    expect(judge(...good)).to.equal("taken");
    expect(readActions(good, "actions")).to.deep.equal(good);
  });

  const bad: [what: string, action: unknown, answer: RegExp][] = [
    ["no object", "skip_approval", /^invalid_request actions\[0\]: expected an object/],
    ["an unknown type", { type: "forward" }, /actions\[0\]\.type: expected one of set_thread_status/],
    ["toString as a type", { type: "toString" }, /actions\[0\]\.type: expected one of/],
    ["no status", { type: "set_thread_status" }, /actions\[0\]\.status: expected one of open/],
    ["an unknown mode", { type: "set_approval_mode", mode: "off" }, /actions\[0\]\.mode: expected one of manual, auto/],
    ["params where there are none", { type: "skip_approval", mode: "auto" }, /actions\[0\]\.mode: unknown field/],
    ["an unknown channel", { type: "notify_channel", channel: "fax", config: {} }, /actions\[0\]\.channel: expected/],
    ["no config", { type: "notify_channel", channel: "email" }, /actions\[0\]\.config: expected an object/],
    [
      "no address",
      { type: "notify_channel", channel: "email", config: { to: "a, b@x" } },
      /config\.to: expected one plain/,
    ],
    [
      "another channel's config",
      { type: "notify_channel", channel: "email", config: { chat_id: "1" } },
      /chat_id: unknown/,
    ],
    ["an empty tag", { type: "add_tag", tag: "" }, /actions\[0\]\.tag: expected/],
    ["a tag too long", { type: "add_tag", tag: "x".repeat(65) }, /actions\[0\]\.tag: expected/],
    ["no such priority", { type: "set_priority", priority: 1 }, /actions\[0\]\.priority: expected one of low/],
  ];
  for (const [what, action, answer] of bad)
    it(`an action of a rule is refused: ${what}`, () => expect(judge(action)).to.match(answer));
});

/** Evaluates a leaf independently, by the contract's table. */
function expected(item: Group | Leaf, facts: Record<string, string[]>): boolean {
  if (!("field" in item)) {
    const truths = (item.conditions ?? []).map((inner) => expected(inner, facts));
    if (truths.length === 0) return true;
    return item.operator === "AND" ? !truths.includes(false) : truths.includes(true);
  }
  const lower = (text: string) => text.toLowerCase();
  const isAddress = ["message.from_email", "message.to_emails", "contact.domain"].includes(item.field);
  const list = Array.isArray(item.value) ? item.value : [item.value];
  const same = (a: string, b: string) => a === b || (isAddress && lower(a) === lower(b));
  const has = facts[item.field] ?? [];
  const any = (test: (fact: string, value: string) => boolean) => has.some((fact) => list.some((v) => test(fact, v)));
  const table: Record<Leaf["op"], boolean> = {
    equals: any(same),
    not_equals: !any(same),
    in: any(same),
    not_in: !any(same),
    contains: any((fact, value) => lower(fact).indexOf(lower(value)) >= 0),
    not_contains: !any((fact, value) => lower(fact).indexOf(lower(value)) >= 0),
    starts_with: any((fact, value) => lower(fact).slice(0, lower(value).length) === lower(value)),
    ends_with: any((fact, value) => value === "" || lower(fact).slice(-lower(value).length) === lower(value)),
  };
  return table[item.op];
}

describe("the evaluation of conditions [4 condition tree]", () => {
  const walk = (item: Group | Leaf, facts: Record<string, string[]>) =>
    evaluateConditions(item, new Map(Object.entries(facts)) as Facts);

  it("conditions compare like a small independent model, whatever the tree [4 op equals] [4 op not_equals] [4 op contains] [4 op not_contains] [4 op starts_with, ends_with] [4 op in, not_in]", () => {
    const words = fc.constantFrom("", "a", "A", "ab", "Ab@x.example", "ab@X.EXAMPLE", "vip", "VIP", "open", "ß", "İ");
    const field = fc.constantFrom<Field>(
      "message.from_email",
      "message.subject",
      "contact.tag",
      "contact.domain",
      "thread.status",
    );
    const leaf = fc
      .record({ field, op: fc.constantFrom(...operators), value: words })
      .chain((one) =>
        one.op === "in" || one.op === "not_in"
          ? fc.array(words, { maxLength: 3 }).map((value) => ({ ...one, value }) as Leaf)
          : fc.constant(one as Leaf),
      );
    const { tree } = fc.letrec<{ tree: Group; item: Group | Leaf }>((tie) => ({
      tree: fc.record({
        operator: fc.constantFrom("AND" as const, "OR" as const),
        conditions: fc.array(tie("item"), { maxLength: 4 }),
      }),
      item: fc.oneof({ depthSize: "small", maxDepth: 5 }, leaf, tie("tree"), fc.constant({})),
    }));
    const facts = fc.dictionary(field, fc.array(words, { maxLength: 3 }));
    fc.assert(
      fc.property(tree, facts, (group, known) => {
        expect(walk(group, known)).to.equal(expected(group, known));
      }),
      { numRuns: 2_000 },
    );
  });

  it("addresses, domains, ids and parts of a text compare in any case, other values exactly [d9 comparison]", () => {
    const is = (leaf: [string, Leaf["op"], string | string[]], fact: string) => {
      const [field, op, value] = leaf;
      return walk({ field, op, value }, { [field]: [fact] });
    };
    expect(is(["message.from_email", "equals", "ANN@Customer.example"], "ann@customer.EXAMPLE")).to.equal(true);
    expect(is(["contact.domain", "in", ["CUSTOMER.example"]], "customer.example")).to.equal(true);
    expect(
      is(["identity.id", "equals", "0193A0AA-0000-7000-8000-00000000000D"], "0193a0aa-0000-7000-8000-00000000000d"),
    ).to.equal(true);
    expect(is(["message.subject", "equals", "Order"], "order")).to.equal(false);
    expect(is(["contact.tag", "in", ["VIP"]], "vip")).to.equal(false);
    expect(is(["message.subject", "contains", "ORDER"], "My order")).to.equal(true);
    expect(is(["message.subject", "not_contains", "ORDER"], "My order")).to.equal(false);
    expect(is(["contact.tag", "starts_with", "VI"], "vip")).to.equal(true);
    expect(is(["thread.subject", "ends_with", "NOW"], "Call me now")).to.equal(true);
  });

  it("a condition matches any tag; a missing value matches the negative operators only", () => {
    const tagged = { "contact.tag": ["vip", "beta"] };
    expect(walk({ field: "contact.tag", op: "equals", value: "beta" }, tagged)).to.equal(true);
    expect(walk({ field: "contact.tag", op: "not_equals", value: "beta" }, tagged)).to.equal(false);
    expect(walk({ field: "contact.tag", op: "not_in", value: ["gold"] }, tagged)).to.equal(true);
    for (const op of operators) {
      const value = op === "in" || op === "not_in" ? [""] : "";
      expect(walk({ field: "contact.tag", op, value }, {}), op).to.equal(op.startsWith("not_"));
    }
  });

  it("contains finds the parts that a plain search finds, however long", () => {
    const letters = (constraints: fc.StringConstraints) =>
      fc.string({ unit: fc.constantFrom("a", "b"), ...constraints });
    const property = (text: string, from: number, part: string) => {
      const inside = text.slice(from, from + 100);
      for (const one of [inside, part, inside + part]) expect(contains(text, one)).to.equal(text.includes(one));
    };
    fc.assert(
      fc.property(letters({ minLength: 200, maxLength: 400 }), fc.nat(100), letters({ maxLength: 90 }), property),
    );
  });

  it("contains ends quickly, whatever the searched part is made of", () => {
    const facts: Facts = new Map([["message.body_text", ["a".repeat(1024 * 1024)]]]);
    const value = `${"a".repeat(4000)}b${"a".repeat(4000)}`;
    const hostile = { field: "message.body_text", op: "contains", value } as const;
    for (let rule = 0; rule < 20; rule++) expect(evaluateConditions(hostile, facts)).to.equal(false);
  });

  it("a condition finds nothing on a prototype", () => {
    for (const field of ["__proto__", "constructor", "toString"]) {
      expect(walk({ field, op: "contains", value: "" }, {})).to.equal(false);
    }
    const odd = JSON.parse('{"__proto__": {"conditions": [{"field": "thread.status", "op": "equals", "value": "x"}]}}');
    expect(evaluateConditions(odd, new Map())).to.equal(true);
  });

  it("conditions have the same result where the text was searched before, each question asked once", () => {
    const leaf = (op: Leaf["op"], value: Leaf["value"]): Leaf => ({ field: "message.body_text", op, value });
    const texts = ["Where is my Parcel?"];
    const leaves = [
      leaf("contains", "parcel"),
      leaf("not_contains", "parcel"),
      leaf("contains", "refund"),
      leaf("not_contains", "refund"),
      leaf("in", ["a", "b"]),
    ];
    const questions = collectSearches("message.body_text", [{ operator: "OR", conditions: leaves }]);
    expect(questions.size).to.equal(3);
    const answers = new Map([...questions].map(([key, one]) => [key, runSearch("message.body_text", one, texts)]));
    for (const one of leaves) {
      const searched = evaluateConditions(one, new Map([["message.body_text", answers]]));
      expect(searched, one.op).to.equal(walk(one, { "message.body_text": texts }));
      expect(evaluateConditions(one, new Map([["message.body_text", new Map<string, boolean>()]]))).to.equal(undefined);
    }
  });
});
