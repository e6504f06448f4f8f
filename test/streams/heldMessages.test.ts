import { expect } from "chai";
import { fold } from "#streams/decider.ts";
import { type ThreadCommand, threadDecider } from "#streams/thread/decider.ts";
import type { HeldMessage, ThreadEvent } from "#streams/thread/events.ts";
import { machineAddresses } from "#streams/thread/loopGuard.ts";
import { inboundMessage } from "#test/support/examples/index.ts";
import { base, claim, opened, opening, received } from "#test/support/examples/threads.ts";
import { given } from "#test/support/given.ts";

const thread = (...events: ThreadEvent[]) => given(threadDecider, ...events);

const message = (number: number, different: Partial<HeldMessage> = {}): HeldMessage => ({
  identityId: "identity",
  messageId: `message ${number}`,
  deliveryId: "delivery",
  number,
  receivedAt: "2026-01-01T00:00:00Z",
  classification: "person",
  from: null,
  opensThread: false,
  ...different,
});
const held = (...of: Parameters<typeof message>): ThreadEvent => ({ type: "MessageHeld", data: message(...of) });
const hold = (number: number, opens: typeof opening | null = null): ThreadCommand => {
  const { opensThread: _, ...marker } = message(number);
  return { type: "HoldMessage", held: marker, opens };
};
describe("a message that is held on a thread", () => {
  it("a held message has one marker on its thread, in the order of filing numbers", () => {
    thread(...base)
      .when(hold(4))
      .then(held(4));
    for (const number of [3, 2])
      thread(...base)
        .when(hold(number))
        .then();
    thread(...base, held(4))
      .when(hold(4))
      .then();
  });

  it("a held message opens a thread that does not exist, if it says with what", () => {
    thread()
      .when(hold(1, opening))
      .then(opened, held(1, { opensThread: true }));
    thread(...base)
      .when(hold(4, opening))
      .then(held(4));
    thread().when(hold(1)).thenRejected("not_found");
    thread()
      .when({ type: "FileMessage", message: inboundMessage(1), opens: null, reviewReason: null })
      .thenRejected("not_found");
  });

  it("a held message of a person makes older drafts stale, and a machine's does not", () => {
    thread(...base, held(4))
      .when(claim("a1", 3))
      .thenRejected("stale_draft");
    thread(...base, held(4, { classification: "auto_reply" }))
      .when(claim("a1", 3))
      .thenTypes("SendClaimed");
    const { newestWord, newestNumber } = fold(threadDecider, [...base, held(4)]);
    expect({ newestWord, newestNumber }).to.deep.equal({
      newestWord: { messageId: "message 4", number: 4 },
      newestNumber: 4,
    });
  });

  it("a thread that began with a held message knows no strangers yet, and a frozen thread takes no more of them", () => {
    thread(opened, held(1))
      .when({ type: "FileMessage", message: inboundMessage(2), opens: null, reviewReason: null })
      .thenTypes("MessageReceived");
    thread(...base, { type: "ThreadFrozen", data: { survivorId: "survivor", number: 5 } })
      .when(hold(6))
      .then();
  });
});

describe("the mail that opened a thread", () => {
  const openedBy = (...events: ThreadEvent[]) => fold(threadDecider, [opened, ...events]).openingNumber;
  const noted: ThreadEvent = { type: "DraftNoted", data: { draftId: "draft", status: "pending", revision: 0 } };
  const closed: ThreadEvent = { type: "DraftNoted", data: { draftId: "draft", status: "closed", revision: 0 } };
  const toAnn: ThreadEvent = { type: "ThreadOpened", data: { ...opening, recipients: ["Ann@customer.example"] } };

  it("the first mail opened its thread, unless a mail or a draft of ours was there before", () => {
    expect(openedBy(received(3), received(4))).to.equal(3);
    expect(openedBy(received(3, { from: null }), received(4)), "one without a sender").to.equal(3);
    for (const before of [noted, closed]) expect(openedBy(before, received(3)), before.type).to.equal(null);
    expect(fold(threadDecider, [toAnn, received(3)]).openingNumber).to.equal(null);
  });
});

describe("the machines that a draft answers", () => {
  it("a draft that answers a machine names the addresses it goes to, in lower case", () => {
    const to = ["Robot@Machine.example"];
    for (const classification of ["auto_reply", "bounce"])
      expect(machineAddresses({ classification }, to)).to.deep.equal({ machineAddresses: ["robot@machine.example"] });
    for (const classification of ["person", "list", null])
      expect(machineAddresses({ classification }, to)).to.deep.equal({});
  });
});
