import { expect } from "chai";
import { fold } from "#streams/decider.ts";
import { draftDecider } from "#streams/draft/decider.ts";
import type { Draft } from "#streams/draft/draft.ts";
import type { DraftEvent } from "#streams/draft/events.ts";
import { type MailKind, mailEffects } from "#streams/inbox/mailKinds.ts";
import type { Facts } from "#streams/rule/evaluate.ts";
import type { Group, RuleAction } from "#streams/rule/events.ts";
import { type ApprovalQuestion, decideApproval, grantedIn, stillGranted } from "#streams/ruleRun/approval.ts";
import type { Covered } from "#streams/ruleRun/grants.ts";
import { planRun, type WalkedRule } from "#streams/ruleRun/plan.ts";
import { approved, edited, queued, submitted } from "#test/support/examples/drafts.ts";
import { given } from "#test/support/given.ts";

const skip: RuleAction = { type: "skip_approval" };
const auto: RuleAction = { type: "set_approval_mode", mode: "auto" };
const manual: RuleAction = { type: "set_approval_mode", mode: "manual" };
const ann = "ann@customer.example";
const when = (field: string, value: string): Group => ({
  operator: "AND",
  conditions: [{ field, op: "equals", value }],
});
const rule = (id: string, actions: RuleAction[], conditions: Group = {}): WalkedRule => ({
  ...{ id, version: 1, name: id, conditions, actions, stopAfterMatch: false },
});
const stopping = (id: string, conditions: Group): WalkedRule => ({ ...rule(id, [], conditions), stopAfterMatch: true });

const facts: Facts = new Map([
  ["contact.domain", ["customer.example"]],
  ["contact.status", ["trusted"]],
  ["thread.status", ["open"]],
  ["thread.subject", ["My order"]],
]);

type Said = {
  received?: WalkedRule[];
  created?: WalkedRule[];
  proof?: "proven" | "unproven" | "list";
  covers?: Covered[];
  to?: string[];
  cc?: string[];
  bcc?: string[];
  listed?: string[];
  kind?: MailKind;
  switchOn?: boolean;
  humanRequired?: boolean;
};

const question = ({ received = [], created = [], proof = "proven", ...said }: Said): ApprovalQuestion => ({
  received: { rules: received, facts },
  created: { rules: created, facts },
  exchange: {
    mail: {
      ...{
        kind: said.kind ?? "customer",
        proof,
        from: ann,
        to: ["support@agents.localhost", "bob@customer.example"],
        cc: ["carol@x.example"],
      },
      ...{ replyTo: ["sales@customer.example"], covers: said.covers ?? [] },
    },
    recipients: { to: said.to ?? [ann], cc: said.cc ?? [], bcc: said.bcc ?? [] },
    coveredRecipients: said.listed ?? [],
  },
  humanRequired: said.humanRequired ?? false,
  switchOn: said.switchOn ?? false,
});

const by = (said: Said): string[] =>
  decideApproval(question(said)).by.map((source) => (source.kind === "switch" ? "switch" : source.ruleId));
const why = (said: Said): string[] => decideApproval(question(said)).refused.map(({ reason }) => reason);

describe("the decision whether a draft is sent without a person [d14 grants]", () => {
  const trusted = when("contact.status", "trusted");
  const stranger = when("contact.status", "unknown");

  it("an automatic approval is granted in order by the switch, the message's rules and the draft's own rules", () => {
    expect(by({ switchOn: true })).to.deep.equal(["switch"]);
    expect(by({ received: [rule("a", [auto])] })).to.deep.equal(["a"]);
    expect(by({ switchOn: true, created: [rule("b", [skip])] })).to.deep.equal(["switch", "b"]);
    expect(by({ switchOn: true, received: [rule("a", [manual])] })).to.deep.equal([]);
    expect(by({ switchOn: true, received: [rule("a", [manual])], created: [rule("b", [skip])] })).to.deep.equal(["b"]);
    expect(by({ received: [rule("a", [auto])], created: [rule("b", [manual])] })).to.deep.equal([]);
    expect(by({ created: [rule("a", [skip, manual])] })).to.deep.equal([]);
    expect(by({ switchOn: true, humanRequired: true, created: [rule("a", [skip])] })).to.deep.equal([]);
  });

  it("a manual rule of the draft that asks who the sender is stops an approval without proof", () => {
    const said = { received: [rule("a", [auto])], created: [rule("b", [manual], stranger)] };
    expect(by(said)).to.deep.equal(["a"]);
    expect(by({ ...said, proof: "unproven" })).to.deep.equal([]);
    expect(why({ ...said, proof: "unproven" })[0]).to.match(/^unproven_sender: /);
    expect(why({ ...said, proof: "list" })[0]).to.match(/^unproven_sender: .*mailing list/);
  });

  it("a proof of the sender covers the recipients that it names and those on the identity's list", () => {
    const said = { created: [rule("a", [skip], trusted)] };
    expect(by({ ...said, to: [ann.toUpperCase()] })).to.deep.equal(["a"]);
    for (const [field, address] of [
      ["to", "bob@customer.example"],
      ["cc", "carol@x.example"],
      ["reply_to", "sales@customer.example"],
    ] as const) {
      for (const place of ["to", "cc", "bcc"]) {
        const one = { ...said, [place]: [address] };
        expect(by(one), `${place} ${field}`).to.deep.equal([]);
        expect(why(one)[0])
          .to.match(/^recipient_not_covered: /)
          .and.to.contain(address);
        expect(by({ ...one, covers: [field] })).to.deep.equal(["a"]);
        expect(by({ ...one, listed: [address.toUpperCase()] })).to.deep.equal(["a"]);
      }
    }
  });

  it("a condition on text that a stranger wrote grants an answer to From alone, whatever is proven or listed", () => {
    const said = { created: [rule("a", [skip], when("thread.subject", "My order"))] };
    for (const proof of ["proven", "unproven"] as const) {
      expect(by({ ...said, proof })).to.deep.equal(["a"]);
      const took = { cc: ["bob@customer.example", ann], bcc: ["carol@x.example"] };
      expect(by({ ...said, ...took, proof, to: [ann] })).to.deep.equal(["a"]);
      const elsewhere = { proof, covers: ["to", "cc", "reply_to"] as Covered[], listed: ["sales@customer.example"] };
      expect(by({ ...said, ...elsewhere, to: ["sales@customer.example"] })).to.deep.equal([]);
      expect(by({ ...said, ...elsewhere, to: ["bob@customer.example"] })).to.deep.equal([]);
      expect(by({ ...said, ...elsewhere, cc: ["sales@customer.example"] })).to.deep.equal([]);
      expect(by({ ...said, ...elsewhere, bcc: ["sales@customer.example"] })).to.deep.equal([]);
    }
  });

  it("a condition on written text that decides about another rule, also by status or tag, grants to From alone", () => {
    const order = when("thread.subject", "My order");
    const other = when("thread.subject", "Another");
    const elsewhere = { to: ["bob@customer.example"], covers: ["to"] as Covered[] };
    const status = rule("s", [{ type: "set_thread_status", status: "waiting" }], order);
    const tag = rule("t", [{ type: "add_tag", tag: "vip" }], order);
    for (const rules of [
      [stopping("stop", other), rule("a", [skip], trusted)],
      [rule("a", [skip], trusted), rule("m", [manual], other)],
      [status, rule("a", [skip], when("thread.status", "waiting"))],
      [tag, rule("a", [skip], when("contact.tag", "vip"))],
    ]) {
      expect(by({ created: rules }), JSON.stringify(rules)).to.deep.equal(["a"]);
      expect(by({ created: rules, ...elsewhere })).to.deep.equal([]);
    }
    expect(by({ created: [rule("a", [skip], trusted)], ...elsewhere })).to.deep.equal(["a"]);
  });

  it("a grant is to From alone where written text changed the thread or a tag in the message's rules", () => {
    const order = when("thread.subject", "My order");
    const elsewhere = { to: ["bob@customer.example"], covers: ["to"] as Covered[] };
    const waiting = when("thread.status", "waiting");
    const others = { conditions: [{ field: "thread.status", op: "not_equals", value: "waiting" }] } as Group;
    const moved = new Map(facts).set("thread.status", ["waiting"]).set("contact.tag", ["vip"]);
    const status: RuleAction[] = [{ type: "set_thread_status", status: "waiting" }];
    const decide = (received: WalkedRule[], created: WalkedRule[], said: Said) => {
      const asked = question({ ...said, received });
      // The contact is looked up anew for both walks, with the tags that the message's rules gave it.
      const before = new Map(facts).set("contact.tag", ["vip"]);
      const walks = { received: { rules: received, facts: before }, created: { rules: created, facts: moved } };
      return decideApproval({ ...asked, ...walks }).by.length > 0;
    };
    const ends = stopping("end", when("thread.subject", "Another"));
    for (const [received, created] of [
      [[rule("s", status, order)], [rule("a", [skip], waiting)]],
      [[rule("s", status, order)], [stopping("stop", others), rule("a", [skip])]],
      [[rule("s", status, order)], [rule("a", [skip]), rule("m", [manual], others)]],
      [[ends, rule("s", status)], [rule("a", [skip], waiting)]],
      [[rule("t", [{ type: "add_tag", tag: "vip" }], order)], [rule("a", [skip], when("contact.tag", "vip"))]],
    ] as const) {
      const told = JSON.stringify([received, created]);
      expect(decide([...received], [...created], {}), told).to.equal(true);
      expect(decide([...received], [...created], elsewhere), told).to.equal(false);
    }
    expect(decide([rule("s", status)], [rule("a", [skip], waiting)], elsewhere)).to.equal(true);
    expect(decide([rule("s", status, order)], [rule("a", [skip], trusted)], elsewhere)).to.equal(true);
  });

  it("no rule and no switch grants an answer to mail of a kind whose answers a person approves", () => {
    const kinds = Object.keys(mailEffects) as MailKind[];
    const granted = kinds.filter((kind) => by({ kind, created: [rule("r", [skip])], switchOn: true }).length > 0);
    expect(granted).to.have.members(["customer", "colleague", "automatic_reply", "report"]);
    const { refused } = decideApproval(question({ kind: "program", received: [rule("r", [auto])] }));
    expect(refused.map(({ reason }) => reason.split(":")[0])).to.deep.equal(["person_required"]);
  });

  it("rules grant nothing if the message's text was not searched in time, and a possibly matching manual rule counts", () => {
    const unsearched: Facts = new Map(facts).set("message.body_text", new Map());
    const decide = (rules: WalkedRule[], switchOn = false) =>
      decideApproval({
        ...question({ created: [rule("a", [skip], trusted)], switchOn }),
        received: { rules, facts: unsearched },
      });
    const inText = when("message.body_text", "refund");
    const granted = decide([rule("t", [], inText)]);
    expect([granted.by, granted.manual]).to.deep.equal([[], null]);
    expect(granted.refused[0]?.reason).to.match(/^not_evaluated: /);
    const careful = decide([rule("m", [manual], inText)], true);
    expect([careful.by, careful.manual?.ruleId]).to.deep.equal([[], "m"]);
    expect(decide([rule("t", [], trusted)]).by).to.deep.equal([{ kind: "rule", ruleId: "a" }]);
  });

  describe("the automatic approval switch without proof of the sender", () => {
    it("without proof, a manual rule that would match another sender counts, at its place in the walk", () => {
      const said = { switchOn: true, proof: "unproven" } as const;
      const careful = rule("m", [manual], stranger);
      expect(by({ ...said, created: [careful] })).to.deep.equal([]);
      expect(decideApproval(question({ ...said, created: [careful] })).manual).to.include({ ruleId: "m" });
      expect(by({ ...said, received: [careful] })).to.deep.equal([]);
      expect(by({ ...said, proof: "list", received: [careful] })).to.deep.equal([]);
      expect(by({ ...said, proof: "proven", created: [careful] })).to.deep.equal(["switch"]);
      expect(by({ ...said, created: [careful, rule("a", [skip])] })).to.deep.equal(["a"]);
    });

    it("without proof, a manual rule that no sender would match, or behind a possible end of the walk, does not count", () => {
      const said = { switchOn: true, proof: "unproven" } as const;
      expect(by({ ...said, created: [rule("m", [manual], when("thread.status", "closed"))] })).to.deep.equal([
        "switch",
      ]);
      expect(by({ ...said, created: [rule("m", [manual], when("thread.subject", "x"))] })).to.deep.equal(["switch"]);
      const ends = stopping("e", trusted);
      expect(by({ ...said, created: [ends, rule("m", [manual])] })).to.deep.equal([]);
      const moves = rule("s", [{ type: "set_thread_status", status: "closed" }], stranger);
      const onClosed = rule("m", [manual], when("thread.status", "closed"));
      expect(by({ ...said, received: [moves], created: [onClosed] })).to.deep.equal([]);
      expect(by({ ...said, received: [{ ...moves, conditions: trusted }], created: [onClosed] })).to.deep.equal([]);
    });
  });

  it("a decision is as certain as it can be however many ways the walk over the rules can go", () => {
    const tags = Array.from({ length: 12 }, (_, n) =>
      rule(`t${n}`, [{ type: "add_tag", tag: `${n}` }], when("thread.subject", "x")),
    );
    const last = rule("a", [skip], when("identity.id", "none"));
    expect(by({ created: [...tags, last] })).to.deep.equal([]);
    expect(by({ created: [...tags, { ...last, conditions: {} }] })).to.deep.equal(["a"]);
    expect(by({ created: [...tags, { ...last, conditions: {} }], cc: ["sales@customer.example"] })).to.deep.equal([]);
  });

  it("a recorded run names the rules that granted, also superseded ones, but none that was taken back", () => {
    const granted = (rules: WalkedRule[]) => {
      const { exchange } = question({});
      const at = { trigger: "draft.created", facts, exchange, humanRequired: false, chainEnded: false } as const;
      return grantedIn(planRun(rules, { ...at, ranBefore: new Set() }));
    };
    expect(granted([rule("a", [skip]), rule("b", [skip])])).to.deep.equal(["a", "b"]);
    expect(granted([rule("a", [skip]), rule("b", [manual]), rule("c", [auto])])).to.deep.equal(["c"]);
    expect(granted([rule("a", [skip]), rule("b", [manual])])).to.deep.equal([]);
    expect(granted([rule("a", [skip], stranger), rule("b", [])])).to.deep.equal([]);
  });

  it("an approval stays valid while one of those that granted it still grants", () => {
    const now = decideApproval(question({ switchOn: true, created: [rule("a", [skip])] }));
    expect(stillGranted(now, [{ kind: "switch" }])).to.equal(true);
    expect(stillGranted(now, [{ kind: "rule", ruleId: "a" }])).to.equal(true);
    expect(stillGranted(now, [{ kind: "rule", ruleId: "b" }])).to.equal(false);
    expect(stillGranted(now, [])).to.equal(false);
  });
});

describe("the origin of a draft's approval [d14 grants]", () => {
  const auto = submitted({ autoApproved: true });
  const grantedBy = { runId: "run", ruleId: "rule" };
  const approvedBy = (different: Partial<ReturnType<typeof approved>["data"]>): DraftEvent => ({
    ...approved(1),
    data: { ...approved(1).data, sendRequested: true, tokenSha256: null, ...different },
  });
  const approvalOf = (...events: DraftEvent[]): Draft["approval"] => fold(draftDecider, events).approval;
  const withdraw = { type: "WithdrawApproval", version: 1, because: "switched off" } as const;
  const returned: DraftEvent = { type: "DraftReturnedToPending", data: { because: "switched off" } };

  it("a draft knows whether a person, a key, a rule or the switch approved it", () => {
    expect(approvalOf(submitted())).to.equal(null);
    expect(approvalOf(auto)).to.deep.equal({ by: "switch" });
    expect(approvalOf(submitted(), approvedBy({ tokenSha256: "t" }))).to.deep.equal({ by: "person" });
    expect(approvalOf(submitted(), approvedBy({ sendRequested: false }))).to.deep.equal({ by: "key" });
    expect(approvalOf(submitted(), approvedBy({ grantedBy }))).to.deep.equal({ by: "rule", ...grantedBy });
    expect(approvalOf(auto, edited(2))).to.equal(null);
    expect(approvalOf(auto, returned)).to.equal(null);
    const byKey = queued(1, { authorisation: { kind: "api_key", approvedVersion: 1 } });
    expect(approvalOf(auto, byKey)).to.deep.equal({ by: "key" });
    expect(approvalOf(auto, queued(1))).to.deep.equal({ by: "switch" });
  });

  it("a rule's approval names the run and the rule that granted it", () => {
    const approve = { type: "ApproveDraft", ifVersion: 1, contentSha256: "hash 1", tokenSha256: null } as const;
    given(draftDecider, submitted())
      .when({ ...approve, sendRequested: true, grantedBy })
      .then(approvedBy({ grantedBy }));
  });

  it("an approval is withdrawn only if the switch or a rule gave it, and only of the named version", () => {
    given(draftDecider, auto).when(withdraw).then(returned);
    given(draftDecider, submitted(), approvedBy({ grantedBy })).when(withdraw).then(returned);
    given(draftDecider, submitted(), approvedBy({ tokenSha256: "t" }))
      .when(withdraw)
      .then();
    given(draftDecider, submitted(), approvedBy({ sendRequested: false }))
      .when(withdraw)
      .then();
    given(draftDecider, auto)
      .when({ ...withdraw, version: 2 })
      .then();
    given(draftDecider, submitted()).when(withdraw).then();
    given(draftDecider, auto, queued(1)).when(withdraw).then();
  });

  it("an automatically approved draft still means to be sent after its identity was disabled", () => {
    const held: DraftEvent = { type: "SendHeld", data: { code: "identity_not_active", message: "disabled" } };
    const goesOn = (...events: DraftEvent[]) => fold(draftDecider, [...events, held]).sendRequested;
    expect(goesOn(auto)).to.equal(true);
    expect(goesOn(submitted(), approvedBy({ grantedBy }))).to.equal(true);
    expect(goesOn(submitted(), approvedBy({ tokenSha256: "t" }))).to.equal(false);
    expect(goesOn(submitted(), approvedBy({ sendRequested: false }))).to.equal(false);
  });
});
