import { expect } from "chai";
import type { Authentication } from "#streams/thread/events.ts";
import { ann, claim, proof, trusted, useRules, when } from "#test/processes/rulesWorld.ts";
import { until } from "#test/support/inProcess.ts";

const auto = [{ type: "set_approval_mode", mode: "auto" }];
const skip = [{ type: "skip_approval" }];
const manual = [{ type: "set_approval_mode", mode: "manual" }];
const eve = "eve@evil.example";
/** The customer, with further header fields that come along. */
const annWith = (...fields: string[]) => [`Ann Example <${ann}>`, ...fields].join("\r\n");

describe("attacks on what leaves without a person [d14 grants]", () => {
  const rules = useRules();
  type World = Awaited<ReturnType<typeof rules.world>>;

  /** A person is asked, and nothing is on its way. */
  async function staysPending(world: World, draftId: string): Promise<void> {
    await world.rulesApplied(draftId);
    await rules.service.caughtUp();
    expect(await world.status(draftId)).to.equal("pending");
    const { data } = await world.get(`/v1/drafts/${draftId}/history?limit=100`);
    expect(data.map((event: any) => event.type)).to.not.include("DraftQueued");
  }

  /** The rule matched once, and what it grants was suppressed. It may have looked at other mail too, without a match. */
  const suppressedBy = async (world: World, rule: any, code: string) => {
    let matches: any[] = [];
    await until(async () => {
      matches = (await world.evaluations(rule)).filter(({ matched }) => matched);
      return matches.length > 0 && matches.every(({ actions }) => actions.every((a: any) => a.outcome !== "pending"));
    });
    expect(matches).to.have.length(1);
    const { actions } = matches[0];
    const grant = actions.find(({ type }: any) => type === "skip_approval" || type === "set_approval_mode");
    expect(grant?.outcome, JSON.stringify(actions)).to.equal("suppressed");
    expect(grant.reason).to.match(new RegExp(`^${code}: \\w`));
  };

  it("two rules launder a forgery: one moves the thread, the other looks at where it is", async () => {
    rules.say(claim);
    const world = await rules.world();
    await world.contact("trusted");
    await world.rule("email.received", [{ type: "set_thread_status", status: "waiting" }], { conditions: trusted });
    const rule = await world.rule("draft.created", skip, { conditions: when("thread.status", "open", "not_equals") });
    const { id } = await world.draft(await world.mail());
    await suppressedBy(world, rule, "unproven_sender");
    await staysPending(world, id);
  });

  it("a subject moves the thread, a draft's rule grants on where it is, and Reply-To leads elsewhere", async () => {
    rules.say({ ...proof, covers: ["reply_to"] });
    const world = await rules.world();
    const moves = [{ type: "set_thread_status", status: "closed" }];
    await world.rule("email.received", moves, { conditions: when("message.subject", "magic", "contains") });
    const rule = await world.rule("draft.created", skip, { conditions: when("thread.status", "open", "not_equals") });
    const { id } = await world.draft(
      await world.mail({ subject: "magic", from: annWith("Reply-To: sales@customer.example") }),
    );
    await suppressedBy(world, rule, "recipient_not_covered");
    await staysPending(world, id);
  });

  it("a test of a message's rule tells of a Reply-To that its grant would not be for", async () => {
    const world = await rules.world();
    await world.mail({ subject: "magic", from: annWith("Reply-To: sales@customer.example") });
    await rules.service.caughtUp();
    const rule = { trigger_event: "email.received", actions: auto, conditions: when("message.subject", "magic") };
    const { status, json, text } = await world.ask("POST /v1/rules/test", {
      json: { rule: { name: "Rule", ...rule } },
    });
    expect(status, text).to.equal(200);
    expect(text).to.contain("recipient_not_covered: ").and.to.contain("sales@customer.example");
    expect(JSON.stringify(json)).to.contain("suppressed");
  });

  it("a key sets the status that a rule grants on", async () => {
    rules.say(claim);
    const world = await rules.world();
    const rule = await world.rule("email.received", auto, { conditions: when("thread.status", "closed") });
    const first = await world.mail();
    // Rules run a little after a mail is filed: those of the first have run before the thread is closed.
    expect((await world.settled(rule)).matched).to.equal(false);
    const closed = await world.ask(`PATCH /v1/threads/${first.thread.id}`, { json: { status: "closed" } });
    expect(closed.status, closed.text).to.equal(200);
    const second = await world.mail({ inReplyTo: first.rfcId });
    // With a draft the thread is no longer closed.
    await until(async () => (await world.evaluations(rule)).some(({ matched }) => matched));
    const { id } = await world.draft(second);
    await suppressedBy(world, rule, "unproven_sender");
    await staysPending(world, id);
  });

  it("a list's mail passes DMARC and proves nobody", async () => {
    const world = await rules.world();
    await world.contact("trusted");
    const rule = await world.rule("draft.created", skip, { conditions: trusted });
    const { id } = await world.draft(await world.mail({ from: annWith("List-Id: <all.customer.example>") }));
    await suppressedBy(world, rule, "unproven_sender");
    await staysPending(world, id);
  });

  describe("a stranger writes the words that a rule grants on", () => {
    const written = { conditions: when("message.subject", "order", "contains") };

    it("and is answered, alone", async () => {
      rules.say(claim);
      const world = await rules.world();
      const rule = await world.rule("email.received", auto, written);
      const received = await world.mail();
      await world.settled(rule);
      const { id } = await world.draft(received);
      await world.becomes(id, "sent");
      expect((await world.settled(rule)).actions[0]).to.deep.include({ outcome: "done", reason: null });
    });

    for (const [what, from, more] of [
      ["the answer would go elsewhere", annWith(`Reply-To: ${eve}`), {}],
      ["the agent adds a cc", annWith(), { cc: [eve] }],
      ["the agent adds a bcc", annWith(), { bcc: [eve] }],
    ] as const) {
      it(`and is not, where ${what}, also with proof that covers it`, async () => {
        rules.say({ ...proof, covers: ["to", "cc", "reply_to"] } as Authentication);
        const world = await rules.world();
        const rule = await world.rule("email.received", auto, written);
        const received = await world.mail({ from });
        await world.settled(rule);
        const { id } = await world.draft(received, more);
        await staysPending(world, id);
        await suppressedBy(world, rule, "recipient_not_covered");
      });
    }
  });

  describe("a genuine mail is replayed with a Reply-To that its signature does not cover", () => {
    for (const [trigger, actions] of [
      ["draft.created", skip],
      ["email.received", auto],
    ] as const) {
      it(`and nobody is answered by a rule of ${trigger}`, async () => {
        const world = await rules.world();
        await world.contact("trusted");
        const rule = await world.rule(trigger, [...actions], { conditions: trusted });
        const { id } = await world.draft(await world.mail({ from: annWith(`Reply-To: ${eve}`) }));
        await staysPending(world, id);
        await suppressedBy(world, rule, "recipient_not_covered");
      });
    }

    it("but one that it covers is answered", async () => {
      rules.say({ ...proof, covers: ["reply_to"] } as Authentication);
      const world = await rules.world();
      await world.contact("trusted");
      await world.rule("draft.created", skip, { conditions: trusted });
      const { id } = await world.draft(await world.mail({ from: annWith("Reply-To: sales@customer.example") }));
      await world.becomes(id, "sent");
    });
  });

  describe("the agent adds recipients of its own", () => {
    for (const more of [{ cc: [eve] }, { bcc: [eve] }]) {
      it(`${Object.keys(more)}: a grant on proof does not cover them, nor one of the same domain`, async () => {
        const world = await rules.world();
        await world.contact("trusted");
        const rule = await world.rule("draft.created", skip, { conditions: trusted });
        const { id } = await world.draft(await world.mail(), more);
        await staysPending(world, id);
        await suppressedBy(world, rule, "recipient_not_covered");
        const sameDomain = { [Object.keys(more)[0] as string]: ["other@customer.example"] };
        const other = await world.draft(await world.mail({ subject: "Another" }), sameDomain);
        await staysPending(world, other.id);
      });
    }

    it("those on the identity's list are covered, in any letters", async () => {
      const world = await rules.world({ coveredRecipients: ["Team@customer.example"] });
      await world.contact("trusted");
      await world.rule("draft.created", skip, { conditions: trusted });
      const { id } = await world.draft(await world.mail(), { cc: ["team@CUSTOMER.example"] });
      await world.becomes(id, "sent");
    });

    it("where nothing is asked of anybody, and under the switch, it is the operator's word for all of them", async () => {
      rules.say(claim);
      for (const autoApproveReplies of [false, true]) {
        const world = await rules.world({ autoApproveReplies });
        if (!autoApproveReplies) {
          await world.rule("draft.created", skip, { conditions: when("identity.id", world.identity.id) });
        }
        const { id } = await world.draft(await world.mail(), { cc: ["boss@elsewhere.example"] });
        await world.becomes(id, "sent");
      }
    });
  });

  it("somebody forges a trusted contact to escape the rule that asks for a person where others write", async () => {
    rules.say(claim);
    for (const trigger of ["draft.created", "email.received"]) {
      const world = await rules.world({ autoApproveReplies: true });
      await world.contact("trusted");
      const conditions = when("contact.status", "trusted", "not_equals");
      const rule = await world.rule(trigger, manual, { conditions, name: "Strangers" });
      const { id } = await world.draft(await world.mail());
      await staysPending(world, id);
      expect((await world.settled(rule)).matched, trigger).to.equal(false);
      const { data } = await world.get(`/v1/drafts/${id}/history?limit=100`);
      const returned = data.find((event: any) => event.type === "DraftReturnedToPending");
      expect(returned.actor).to.deep.include({ kind: "rule", id: rule.id });
      rules.say(proof);
      const proven = await world.draft(await world.mail({ subject: "Genuine" }));
      await world.becomes(proven.id, "sent");
      rules.say(claim);
    }
  });

  describe("what approved is switched off while sending is paused", () => {
    async function paused(world: World, on: boolean): Promise<void> {
      const answer = await world.ask("PATCH /v1/workspaces/me", { json: { sending_paused: on } });
      expect(answer.status, answer.text).to.equal(200);
    }
    const held = async (world: World, id: string) => {
      await world.becomes(id, "approved");
      await world.rulesApplied(id);
    };

    const path = (world: World) => `PATCH /v1/identities/${world.identity.id}`;

    it("resumed, a person is asked, by the switch, by a rule, and once its identity is not disabled any more", async () => {
      const bySwitch = async () => {
        const world = await rules.world({ autoApproveReplies: true });
        await paused(world, true);
        const { id } = await world.draft(await world.mail());
        await held(world, id);
        const off = await world.ask(path(world), { json: { auto_approve_replies: false } });
        expect(off.status, off.text).to.equal(200);
        return { world, id };
      };
      const byRule = async (line: string, json?: object) => {
        const world = await rules.world();
        await world.contact("trusted");
        const rule = await world.rule("draft.created", skip, { conditions: trusted });
        await paused(world, true);
        const { id } = await world.draft(await world.mail());
        await held(world, id);
        const changed = await world.ask(`${line} /v1/rules/${rule.id}`, json ? { json } : {});
        expect(changed.status, changed.text).to.equal(200);
        return { world, id };
      };
      const disabled = async () => {
        const { world, id } = await bySwitch();
        await world.ask(path(world), { json: { status: "disabled" } });
        await paused(world, false);
        await world.becomesHeld(id, "identity_not_active");
        expect(await world.status(id)).to.equal("approved");
        await world.ask(path(world), { json: { status: "active" } });
        return { world, id };
      };
      const narrowed = { conditions: when("contact.tag", "vip") };
      const changed = [bySwitch(), byRule("DELETE"), byRule("PATCH", narrowed), disabled()];
      await Promise.all(
        changed.map(async (prepared) => {
          const { world, id } = await prepared;
          await paused(world, false);
          await world.becomes(id, "pending");
          await staysPending(world, id);
        }),
      );
    });

    it("but what is granted still leaves, also once its identity is not disabled any more", async () => {
      const world = await rules.world({ autoApproveReplies: true });
      await paused(world, true);
      const { id } = await world.draft(await world.mail());
      await held(world, id);
      await world.ask(path(world), { json: { status: "disabled" } });
      await paused(world, false);
      await world.becomesHeld(id, "identity_not_active");
      await world.ask(path(world), { json: { status: "active" } });
      await world.becomes(id, "sent");
    });
  });
});
