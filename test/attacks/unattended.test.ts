import { expect } from "chai";
import type { Authentication } from "#streams/thread/events.ts";
import { ann, claim, proof, trusted, useRules, when } from "#test/processes/rulesWorld.ts";
import { until } from "#test/support/inProcess.ts";

const auto = [{ type: "set_approval_mode", mode: "auto" }];
const skip = [{ type: "skip_approval" }];
const manual = [{ type: "set_approval_mode", mode: "manual" }];
const eve = "eve@evil.example";
/** The customer as sender, with further header fields. */
const annWith = (...fields: string[]) => [`Ann Example <${ann}>`, ...fields].join("\r\n");

describe("attacks on what is sent without a person [d14 grants]", () => {
  const rules = useRules();
  type World = Awaited<ReturnType<typeof rules.world>>;

  /** Expects that the draft stays pending and was never queued. */
  async function staysPending(world: World, draftId: string): Promise<void> {
    await world.rulesApplied(draftId);
    await rules.service.caughtUp();
    expect(await world.status(draftId)).to.equal("pending");
    const { data } = await world.get(`/v1/drafts/${draftId}/history?limit=100`);
    expect(data.map((event: any) => event.type)).to.not.include("DraftQueued");
  }

  /** Expects that the rule matched once and its approval was suppressed. Evaluations without a match are ignored. */
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

  it("a forged mail is not answered although one rule moves its thread and another approves by the thread's status", async () => {
    rules.say(claim);
    const world = await rules.world();
    await world.contact("trusted");
    await world.rule("email.received", [{ type: "set_thread_status", status: "waiting" }], { conditions: trusted });
    const rule = await world.rule("draft.created", skip, { conditions: when("thread.status", "open", "not_equals") });
    const { id } = await world.draft(await world.mail());
    await suppressedBy(world, rule, "unproven_sender");
    await staysPending(world, id);
  });

  it("a mail with an uncovered Reply-To is not answered by a rule on a thread status that its subject caused", async () => {
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

  it("a test of a rule reports a Reply-To that its approval would not cover", async () => {
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

  it("a forged mail is not answered by a rule on a thread status that a key set", async () => {
    rules.say(claim);
    const world = await rules.world();
    const rule = await world.rule("email.received", auto, { conditions: when("thread.status", "closed") });
    const first = await world.mail();
    // The first mail's rules must run before the thread is closed.
    expect((await world.settled(rule)).matched).to.equal(false);
    const closed = await world.ask(`PATCH /v1/threads/${first.thread.id}`, { json: { status: "closed" } });
    expect(closed.status, closed.text).to.equal(200);
    const second = await world.mail({ inReplyTo: first.rfcId });
    // A draft reopens the thread, so the rule must match first.
    await until(async () => (await world.evaluations(rule)).some(({ matched }) => matched));
    const { id } = await world.draft(second);
    await suppressedBy(world, rule, "unproven_sender");
    await staysPending(world, id);
  });

  it("mail of a mailing list proves no sender although it passes DMARC", async () => {
    const world = await rules.world();
    await world.contact("trusted");
    const rule = await world.rule("draft.created", skip, { conditions: trusted });
    const { id } = await world.draft(await world.mail({ from: annWith("List-Id: <all.customer.example>") }));
    await suppressedBy(world, rule, "unproven_sender");
    await staysPending(world, id);
  });

  describe("a rule that approves by the words of a subject", () => {
    const written = { conditions: when("message.subject", "order", "contains") };

    it("a stranger whose subject has a rule's words is answered if the answer goes to the stranger alone", async () => {
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
      it(`a stranger whose subject has a rule's words is not answered if ${what}, even with proof that covers it`, async () => {
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

  describe("a genuine mail replayed with an uncovered Reply-To", () => {
    for (const [trigger, actions] of [
      ["draft.created", skip],
      ["email.received", auto],
    ] as const) {
      it(`a mail with a Reply-To that its signature does not cover is not answered by a rule of ${trigger}`, async () => {
        const world = await rules.world();
        await world.contact("trusted");
        const rule = await world.rule(trigger, [...actions], { conditions: trusted });
        const { id } = await world.draft(await world.mail({ from: annWith(`Reply-To: ${eve}`) }));
        await staysPending(world, id);
        await suppressedBy(world, rule, "recipient_not_covered");
      });
    }

    it("a mail with a Reply-To that its signature covers is answered by a rule", async () => {
      rules.say({ ...proof, covers: ["reply_to"] } as Authentication);
      const world = await rules.world();
      await world.contact("trusted");
      await world.rule("draft.created", skip, { conditions: trusted });
      const { id } = await world.draft(await world.mail({ from: annWith("Reply-To: sales@customer.example") }));
      await world.becomes(id, "sent");
    });
  });

  describe("recipients that the agent adds", () => {
    for (const more of [{ cc: [eve] }, { bcc: [eve] }]) {
      it(`an approval by a rule on proof does not cover recipients that the agent adds: ${Object.keys(more)}`, async () => {
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

    it("an approval by a rule covers recipients on the identity's list, in any letter case", async () => {
      const world = await rules.world({ coveredRecipients: ["Team@customer.example"] });
      await world.contact("trusted");
      await world.rule("draft.created", skip, { conditions: trusted });
      const { id } = await world.draft(await world.mail(), { cc: ["team@CUSTOMER.example"] });
      await world.becomes(id, "sent");
    });

    it("an approval by automatic replies or by a rule without conditions on people covers all recipients", async () => {
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

  it("a forged trusted contact does not escape the rule that asks for a person for strangers", async () => {
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

  describe("an automatic approval whose rule is switched off while sending is paused", () => {
    async function paused(world: World, on: boolean): Promise<void> {
      const answer = await world.ask("PATCH /v1/workspaces/me", { json: { sending_paused: on } });
      expect(answer.status, answer.text).to.equal(200);
    }
    const held = async (world: World, id: string) => {
      await world.becomes(id, "approved");
      await world.rulesApplied(id);
    };

    const path = (world: World) => `PATCH /v1/identities/${world.identity.id}`;

    it("a draft approved by a switch or rule that was changed during a pause becomes pending when sending resumes", async () => {
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

    it("a draft approved during a pause is sent after it, once its identity is active again", async () => {
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
