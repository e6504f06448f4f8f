import { expect } from "chai";
import { type ConversationEvent, threadAfter } from "#projections/threads/replay.ts";
import type { Event, Recorded } from "#streams/event.ts";
import * as drafts from "#test/support/examples/drafts.ts";
import * as threads from "#test/support/examples/threads.ts";

/** The events as the log has them, a second apart. */
const log = (...events: [stream: string, event: Event][]) =>
  events.map(([stream, event], index) => ({
    ...{ ...event, id: `event ${index}`, stream, revision: index, position: index + 1, schemaVersion: 1 },
    metadata: {
      workspaceId: "workspace",
      actor: { kind: "api_key", id: "key" },
      correlationId: "test",
      causationId: "test",
      at: new Date(Date.UTC(2026, 0, 2, 0, 0, index)).toISOString(),
    },
  })) as Recorded[] as Recorded<ConversationEvent>[];

const opened = (id: string, number: number): [string, Event][] => [
  [`thread-${id}`, threads.opened],
  [`thread-${id}`, threads.received(number, { receivedAt: `2026-01-01T00:00:0${number}.000Z` })],
];
const merged = (from: string, into: string): [string, Event][] => [
  [`thread-${from}`, { type: "ThreadFrozen", data: { survivorId: into, number: 9 } }],
  [`thread-${into}`, { type: "ThreadAbsorbed", data: { absorbedId: from, part: { n: 1, of: 1 } } }],
];
/** A draft that answers mail 1, and was queued. */
const queued = (id: string): [string, Event][] => [
  [`draft-${id}`, drafts.submitted({ basedOnMessageId: "message 1", messageId: `answer ${id}` })],
  [`draft-${id}`, drafts.queued(1, { messageId: `answer ${id}` })],
];
const failed = (id: string): [string, Event] => [
  `draft-${id}`,
  { type: "DraftFailed", data: { attemptId: "attempt 1", code: "refused", message: "no" } },
];
const report = (type: string): [string, Event] => ["delivery-1", { type, data: { draftId: "1" } }];

describe("a thread replayed from its events", () => {
  it("a thread merged into one that was merged again has the messages of the last one", () => {
    const events = log(
      ...opened("a", 1),
      ...opened("b", 2),
      ...opened("c", 3),
      ...merged("a", "b"),
      ...merged("b", "c"),
    );
    const then = threadAfter(events, "a");
    expect([then?.own.merged_into, then?.survivor.id, then?.survivor.message_count]).to.deep.equal(["c", "c", 3]);
    expect(then?.messages.map(({ id, thread_id }) => `${id} on ${thread_id}`)).to.deep.equal([
      "message 1 on c",
      "message 2 on c",
      "message 3 on c",
    ]);
  });

  it("between the freezing of a thread and its absorption, the survivor has only its own messages", () => {
    const [frozen] = merged("a", "b") as [[string, Event], unknown];
    const then = threadAfter(log(...opened("a", 1), ...opened("b", 2), frozen), "a");
    expect(then?.messages.map(({ id }) => id)).to.deep.equal(["message 2"]);
  });

  it("of two reports about a mail the worse one is its status, whichever came first", () => {
    for (const types of [
      ["DeliveryDelivered", "DeliveryBounced"],
      ["DeliveryBounced", "DeliveryDelivered"],
    ]) {
      const then = threadAfter(log(...opened("thread", 1), ...queued("1"), ...types.map(report)), "thread");
      expect(then?.messages.at(-1)?.delivery_status, types.join()).to.equal("bounced");
    }
  });

  it("a mail of ours that failed answers nothing, one that was queued does", () => {
    const begun = [...opened("thread", 1), ...queued("1"), ...queued("2")];
    const answeredOf = (events: [string, Event][]) =>
      threadAfter(log(...events), "thread")?.drafts.find(({ id }) => id === "1")?.answered_meanwhile?.message_id;
    expect(answeredOf(begun)).to.equal("answer 2");
    expect(answeredOf([...begun, failed("2")])).to.equal(undefined);
  });

  it("mail that is held makes a draft's answer old, and has no content", () => {
    const held = {
      type: "MessageHeld",
      data: { messageId: "held", number: 5, classification: "person", opensThread: false },
    };
    const [submitted] = queued("1") as [[string, Event], unknown];
    const then = threadAfter(log(...opened("thread", 1), submitted, ["thread-thread", held]), "thread");
    expect(then?.drafts[0]?.newer_message_id).to.equal("held");
    expect(then?.messages).to.have.length(1);
  });

  it("a thread whose only mail is held is not there", () => {
    const held = {
      type: "MessageHeld",
      data: { messageId: "held", number: 5, classification: "person", opensThread: true },
    };
    expect(threadAfter(log(["thread-a", threads.opened], ["thread-a", held]), "a")).to.equal(undefined);
  });
});
