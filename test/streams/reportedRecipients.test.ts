import { expect } from "chai";
import { fold } from "#streams/decider.ts";
import { deliveryDecider, type ReportEvent } from "#streams/delivery/decider.ts";
import type { DeliveryEvent } from "#streams/delivery/events.ts";
import { given } from "#test/support/given.ts";

const started: DeliveryEvent = {
  type: "DeliveryStarted",
  data: {
    ...{ draftId: "draft", threadId: "thread", version: 1, contentSha256: "hash", provider: "smtp" },
    ...{ rfcMessageId: "<ours>", mimeSha256: "mime", instanceId: "one", fence: "fence" },
  },
};
const accepted: DeliveryEvent = {
  type: "DeliveryAccepted",
  data: { response: "250", providerId: null, rejectedRecipients: [] },
};
const to = ["ann@x.example", "ben@x.example"];
const recipient = (address: string) => ({ address, code: null, text: null });
const base = { draftId: "draft", threadId: "thread", messageId: "message", evidence: "a report" };

/** A report of these recipients; `more`: further data of the event. */
const report = (type: ReportEvent["type"], addresses: string[], more: object = {}): ReportEvent =>
  ({
    type,
    data: {
      ...base,
      ...(addresses.length > 0 && { recipients: addresses.map(recipient) }),
      ...(type === "DeliveryDropped" && { wholeMail: false }),
      ...more,
    },
  }) as ReportEvent;
const reporting = (...args: Parameters<typeof report>) =>
  ({ type: "ReportDelivery", report: report(...args), to }) as const;
const handedOver = (...events: DeliveryEvent[]) => given(deliveryDecider, started, accepted, ...events);

describe("reports about single recipients [d5 recipients]", () => {
  it("a report is recorded once for each recipient, in whatever case its address is written", () => {
    handedOver()
      .when(reporting("DeliveryDelayed", ["ann@x.example"]))
      .then(report("DeliveryDelayed", ["ann@x.example"]));
    const delayed = report("DeliveryDelayed", ["ann@x.example"]);
    handedOver(delayed)
      .when(reporting("DeliveryDelayed", ["ANN@x.example"]))
      .then();
    handedOver(delayed)
      .when(reporting("DeliveryDelayed", ["ann@x.example", "ben@x.example", "Ben@x.example"]))
      .then(report("DeliveryDelayed", ["ben@x.example"]));
  });

  it("a weaker report changes nothing after a stronger one: a delay after a delivery, a delivery after a bounce", () => {
    const reports = [
      "DeliveryDelayed",
      "DeliveryDelivered",
      "DeliveryDropped",
      "DeliveryBounced",
      "DeliveryComplained",
    ] as const;
    for (const [strength, type] of reports.entries())
      for (const weaker of reports.slice(0, strength + 1)) {
        const known = report(type, ["ann@x.example"]);
        // Its kind was reported before, of another recipient.
        const earlier = report(weaker, ["ben@x.example"]);
        handedOver(earlier, known)
          .when(reporting(weaker, ["ann@x.example"]))
          .then();
      }
  });

  it("a mail is bounced as a whole only when every To bounced or was dropped", () => {
    const first = report("DeliveryBounced", ["ann@x.example"], { part: true });
    handedOver()
      .when(reporting("DeliveryBounced", ["ann@x.example"]))
      .then(first);
    handedOver(first)
      .when(reporting("DeliveryBounced", ["ben@x.example"]))
      .then(report("DeliveryBounced", ["ben@x.example"]));
    handedOver().when(reporting("DeliveryBounced", to)).then(report("DeliveryBounced", to));
    handedOver(report("DeliveryDropped", ["ben@x.example"], { part: true }))
      .when(reporting("DeliveryBounced", ["ann@x.example"]))
      .then(report("DeliveryBounced", ["ann@x.example"]));
    handedOver()
      .when(reporting("DeliveryBounced", ["cid@x.example"]))
      .then(report("DeliveryBounced", ["cid@x.example"], { part: true }));
    handedOver()
      .when(reporting("DeliveryBounced", []))
      .then(report("DeliveryBounced", [], { part: true }));
  });

  it("a delivery to a further recipient says that one was reported before", () => {
    const first = report("DeliveryDelivered", ["ann@x.example"]);
    handedOver(first)
      .when(reporting("DeliveryDelivered", ["ben@x.example"]))
      .then(report("DeliveryDelivered", ["ben@x.example"], { again: true }));
  });

  it("a report of a delay settles an unknown hand-over: the mail is at a server", () => {
    const unknown: DeliveryEvent = { type: "DeliveryUnknown", data: { message: "lost" } };
    given(deliveryDecider, started, unknown)
      .when(reporting("DeliveryDelayed", ["ann@x.example"]))
      .thenTypes("DeliveryDelayed", "DeliverySettled");
    const events = deliveryDecider.decide(
      reporting("DeliveryDelayed", ["ann@x.example"]),
      fold(deliveryDecider, [started, unknown]),
    );
    expect(fold(deliveryDecider, [started, unknown, ...events]).phase).to.equal("accepted");
  });
});
