import { expect } from "chai";
import { createRule } from "#src/commands/rules/rules.ts";
import { categoryOf } from "#streams/event.ts";
import type { RuleAction, RuleSettings, TriggerEvent } from "#streams/rule/events.ts";
import { type InboundMessage, threadStream } from "#streams/thread/events.ts";
import {
  cause,
  createSendWorld,
  identityId,
  type Node,
  type SendWorld,
  workspaceId,
} from "#test/processes/sendWorld.ts";
import { inboundMessage, messageAuthenticated } from "#test/support/examples/index.ts";
import { sized } from "#test/support/full.ts";

/** Counts the events of threads that this instance reads from now on. */
function countThreadReads({ faulty }: Node): () => number {
  const { read } = faulty;
  let count = 0;
  faulty.read = async (stream, ...asked) => {
    const events = await read(stream, ...asked);
    if (categoryOf(stream) === "thread") count += events.length;
    return events;
  };
  return () => count;
}

async function makeRule({ node }: SendWorld, triggerEvent: TriggerEvent, actions: RuleAction[]): Promise<void> {
  const settings: RuleSettings = {
    ...{ name: "Rule", triggerEvent, conditions: {}, actions, status: "active", priority: 1, stopAfterMatch: false },
    ...{ identityId: null, assistantId: null },
  };
  await createRule(node, { workspaceId, given: settings }, cause);
}

describe("rules for a long thread", () => {
  it("rules for a long thread read its state and single messages, and no others", async () => {
    const long = sized(600, 5_000);
    const world = await createSendWorld();
    const { log } = world;
    const threadId = world.threadId();
    await makeRule(world, "email.received", [{ type: "set_approval_mode", mode: "manual" }]);
    await makeRule(world, "draft.created", [
      { type: "set_thread_status", status: "closed" },
      { type: "set_priority", priority: "high" },
    ]);
    const first = log.all.find(({ type }) => type === "MessageReceived")!;
    const { messageId, number } = first.data as InboundMessage;
    const received = { threadId, revision: first.revision };
    const message = messageAuthenticated(number, { messageId, identityId, received });
    await world.node.threads.handle(threadId, { type: "AuthenticateMessage", message }, cause);
    const last = await log.readLast(threadStream(threadId));
    const robots = Array.from({ length: long }, (_, n) => ({
      ...{ id: world.node.ids.uuid(), type: "MessageReceived", metadata: last!.metadata },
      data: inboundMessage(n + 2, { classification: "auto_reply", messageId: world.node.ids.uuid() }),
    }));
    await log.append(threadStream(threadId), last!.revision, robots);
    await world.drain();

    const reads = countThreadReads(world.node);
    const draftId = await world.submit();
    expect(reads()).to.be.below(50);
    expect((await world.state.thread()).priority).to.equal("high");
    expect((await world.state.thread()).status).to.equal("closed");
    const rules = log.all.filter(({ type }) => type === "RulesEvaluated");
    expect(rules.map(({ data }) => data.triggerEvent)).to.deep.equal(["email.received", "draft.created"]);
    expect(log.all.filter(({ type }) => type === "DraftRulesApplied").map(({ stream }) => stream)).to.deep.equal([
      `draft-${draftId}`,
    ]);
  });
});
