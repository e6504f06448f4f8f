import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { createStreamServices } from "#src/commands/handle.ts";
import { takeAction } from "#src/commands/rules/ruleActions.ts";
import { draftInput, toTestedMessage } from "#src/commands/rules/ruleFacts.ts";
import { evaluateRules, receivedRunId } from "#src/commands/rules/ruleRuns.ts";
import { type FiledMail, mailAnsweredBy } from "#src/commands/threads/answeredMail.ts";
import type { EventStore } from "#src/eventStore/eventStore.ts";
import type { MailProvider } from "#src/mail/mailProvider.ts";
import { createOutboxProvider } from "#src/mail/out/outboxProvider.ts";
import type { Timer } from "#src/processes/process.ts";
import { runRules } from "#src/processes/runRules.ts";
import { causeOf } from "#src/runtime/work/handlerContext.ts";
import type { Recorded } from "#streams/event.ts";
import { operator } from "#test/support/cause.ts";
import { channelDoubles } from "#test/support/chatDouble.ts";
import { until } from "#test/support/inProcess.ts";
import { fire, tell } from "#test/support/processContext.ts";
import { useRules, when } from "./rulesWorld.ts";

const outlets = (provider: MailProvider) => ({ provider, channels: channelDoubles() });

describe("rules whose events are repeated", () => {
  const rules = useRules();

  /** Makes instances of the process with separate caches; none records an evaluation before all are ready to. */
  const instances = (count: number) => {
    let waiting = count;
    let open = (): void => {};
    const all = new Promise<void>((resolve) => {
      open = resolve;
    });
    return Array.from({ length: count }, () => {
      const { clock, ids } = rules.service.deps;
      const store: EventStore = {
        ...rules.service.deps.store,
        async append(stream, expected, events) {
          if (events.some(({ type }) => type === "RulesEvaluated")) {
            waiting -= 1;
            if (waiting <= 0) open();
            await all;
          }
          return rules.service.deps.store.append(stream, expected, events);
        },
      };
      const deps = { ...rules.service.deps, ...createStreamServices({ store, clock, ids }) };
      return runRules(deps, outlets(createOutboxProvider(rules.service.database)));
    });
  };

  it("a rule runs once on four concurrent instances [races]", async () => {
    const { rule, mail: receive, draft, becomes, settled, get } = await rules.world();
    // A workspace without rules evaluates no submissions, so a rule that never matches here is made.
    await rule("draft.stale", [{ type: "set_priority", priority: "low" }]);
    const { thread, message } = await receive();
    const submitted = await draft({ thread, message });
    const [authenticated] = await rules.eventsOf(`thread-${thread.id}`, "MessageAuthenticated");
    const [event] = await rules.eventsOf(`draft-${submitted.id}`, "DraftSubmitted");
    await until(async () => (await rules.eventsOf(`draft-${submitted.id}`, "DraftRulesApplied")).length > 0);
    // These rules are made after the service's own process has handled the events.
    const received = await rule("email.received", [{ type: "set_thread_status", status: "closed" }]);
    const created = await rule("draft.created", [
      { type: "skip_approval" },
      { type: "set_priority", priority: "high" },
    ]);
    await Promise.all(instances(4).map((process) => tell(process, authenticated!)));
    await Promise.all(instances(4).map((process) => tell(process, event!)));
    await becomes(submitted.id, "sent");
    for (const each of [received, created]) {
      const { id, actions } = await settled(each);
      expect(actions.every((action: any) => action.outcome === "done")).to.equal(true);
      expect(await rules.eventsOf(`ruleRun-${id}`, "RulesEvaluated")).to.have.length(1);
      expect(await rules.eventsOf(`ruleRun-${id}`, "RuleActionTaken")).to.have.length(actions.length);
    }
    for (const type of ["DraftApproved", "DraftRulesApplied", "DraftQueued"]) {
      expect(await rules.eventsOf(`draft-${submitted.id}`, type), type).to.have.length(1);
    }
    const { data } = await get(`/v1/threads?identity_id=${submitted.identity_id}`);
    expect(data[0].priority).to.equal("high");
    expect(await rules.eventsOf(`thread-${thread.id}`, "ThreadPrioritySet")).to.have.length(1);
  });

  it("a rule runs once, however often its event is repeated", async () => {
    const { rule, mail: receive, settled } = await rules.world();
    const to = `lead-${randomUUID()}@example.com`;
    const notify = { type: "notify_channel", channel: "email", config: { to } };
    const received = await rule("email.received", [notify]);
    const { thread } = await receive();
    await settled(received);
    const [authenticated] = await rules.eventsOf(`thread-${thread.id}`, "MessageAuthenticated");
    for (const process of instances(2)) await tell(process, authenticated!);
    await settled(received);
    const told = (await rules.service.outbox.newest(200)).filter((caught) => caught.envelope.to.includes(to));
    expect(told).to.have.length(1);
  });

  it("a rule's notification is tried again after the provider failed [4 action notify_channel] [d9 GET /v1/rules/{id}/evaluations]", async () => {
    const { rule, mail: receive, evaluations, get } = await rules.world();
    const { thread } = await receive();
    const [authenticated] = await rules.eventsOf(`thread-${thread.id}`, "MessageAuthenticated");
    const to = `lead-${randomUUID()}@example.com`;
    const told = await rule("email.received", [
      { type: "notify_channel", channel: "email", config: { to } },
      { type: "set_priority", priority: "low" },
    ]);
    await rule("email.received", [], { conditions: when("message.subject", "Other") });
    const working = createOutboxProvider(rules.service.database);
    let away = true;
    const connect = () => (away ? Promise.reject(new Error("the relay is away")) : working.connect());
    const process = runRules(rules.service.deps, outlets({ ...working, connect }));
    const set: Timer[] = [];
    await tell(process, authenticated!, { timers: set });
    await rules.service.caughtUp();
    const outcomes = async () =>
      (await evaluations(told))[0].actions.map((action: any) => [action.outcome, action.reason]);
    expect(await outcomes()).to.deep.equal([
      ["failed", "the relay is away"],
      ["done", null],
    ]);
    expect(set).to.have.length(1);
    away = false;
    for (const timer of [set[0]!, set[0]!]) await fire(process, timer);
    await rules.service.caughtUp();
    expect(await outcomes()).to.deep.equal([
      ["done", null],
      ["done", null],
    ]);
    const mails = (await rules.service.outbox.newest(200)).filter((caught) => caught.envelope.to.includes(to));
    expect(mails).to.have.length(1);
    const matched = async (value: boolean) => (await get(`/v1/rules/${told.id}/evaluations?matched=${value}`)).total;
    expect([await matched(true), await matched(false)]).to.deep.equal([1, 0]);
  });

  it("a repeated action of a rule does not undo a person's later change", async () => {
    const { rule, mail: receive, settled, ask, get } = await rules.world();
    const close = await rule("email.received", [{ type: "set_thread_status", status: "closed" }]);
    const { thread, message } = await receive();
    const evaluation = await settled(close);
    await ask(`PATCH /v1/threads/${thread.id}`, { json: { status: "open" } });
    const { state: run } = await rules.service.deps.ruleRuns.load(receivedRunId(message.id));
    const planned = run.evaluated?.results[0];
    const because = { ...operator(run.evaluated!.workspaceId), causationId: evaluation.trigger_event_id };
    const provider = createOutboxProvider(rules.service.database);
    const again = { outlets: outlets(provider), run, runId: evaluation.id, rule: planned!, index: 0 };
    const taken = await takeAction(rules.service.deps, again, because);
    expect(taken.outcome).to.equal("done");
    await rules.service.caughtUp();
    expect((await get(`/v1/threads/${thread.id}`)).status).to.equal("open");
  });

  it("a rule does not run again on events that it caused about the same draft [no loops]", async () => {
    const { rule, mail: receive, draft, settled, id, ask } = await rules.world();
    const noted = await rule("draft.approved", [{ type: "set_priority", priority: "high" }]);
    const submitted = await draft(await receive());
    await ask(`POST /v1/drafts/${submitted.id}/approve`);
    const evaluation = await settled(noted);
    const [event] = await rules.eventsOf(`draft-${submitted.id}`, "DraftApproved");
    const { about, trigger } = await lookAlike(submitted.id, event!, id);
    const run = await evaluateRules(rules.service.deps, { trigger, about }, causeOf("test", event!));
    expect(run?.evaluated?.results[0]?.actions[0]?.suppressed).to.contain("has already run on this chain of events");
    const other = { ...causeOf("test", event!), correlationId: randomUUID() };
    const anew = { ...trigger, runId: randomUUID() };
    const free = await evaluateRules(rules.service.deps, { trigger: anew, about }, other);
    expect(free?.evaluated?.results[0]?.actions[0]?.suppressed, "of another cause").to.equal(null);
    expect(evaluation.matched).to.equal(true);
  });

  /** Returns the same trigger under another run, as if an action had caused it. */
  async function lookAlike(draftId: string, event: Recorded, workspaceId: string) {
    const { state } = await rules.service.deps.drafts.load(draftId);
    const { deps } = rules.service;
    const message = async () => toTestedMessage(deps, (await mailAnsweredBy(deps, state)) as FiledMail);
    const about = async () =>
      draftInput(deps, { trigger: "draft.approved", draftId, draft: state, message: await message() });
    const trigger = { trigger: "draft.approved", runId: randomUUID(), triggerEventId: event.id, workspaceId } as const;
    return { about, trigger: { ...trigger, proven: true } };
  }
});
