import { expect } from "chai";
import { fold } from "#streams/decider.ts";
import { type DeliveryCommand, deliveryDecider } from "#streams/delivery/decider.ts";
import type { DeliveryEvent } from "#streams/delivery/events.ts";
import { given } from "#test/support/given.ts";

describe("a delivery", () => {
  const started: DeliveryEvent = {
    type: "DeliveryStarted",
    data: {
      draftId: "draft",
      threadId: "thread",
      version: 1,
      contentSha256: "hash",
      provider: "smtp",
      rfcMessageId: "<ours>",
      mimeSha256: "mime",
      instanceId: "one",
      fence: "fence",
    },
  };
  type Of<Type extends DeliveryEvent["type"]> = Extract<DeliveryEvent, { type: Type }>;
  const accepted: Of<"DeliveryAccepted"> = {
    type: "DeliveryAccepted",
    data: { response: "250", providerId: null, rejectedRecipients: [] },
  };
  const refused: Of<"DeliveryRefused"> = {
    type: "DeliveryRefused",
    data: { retryable: false, code: "no", message: "550" },
  };
  const notHandedOver: Of<"DeliveryNotHandedOver"> = { type: "DeliveryNotHandedOver", data: { message: "too old" } };
  const unknown: Of<"DeliveryUnknown"> = { type: "DeliveryUnknown", data: { message: "lost" } };
  const abandoned: Of<"DeliveryAbandoned"> = {
    type: "DeliveryAbandoned",
    data: { draftId: "draft", because: "old" },
  };
  const settled = (outcome: "accepted" | "refused" | "unconfirmed", evidence: string) =>
    ({ type: "DeliverySettled", data: { outcome, evidence, draftId: "draft" } }) as const;
  const start = { type: "StartDelivery", started: started.data } as DeliveryCommand;
  const abandon = { type: "AbandonDelivery", draftId: "draft", because: "old" } as const;
  const record = (outcome: typeof accepted | typeof refused | typeof notHandedOver | typeof unknown) =>
    ({ type: "RecordOutcome", outcome }) as const;
  const settle = (outcome: "accepted" | "refused" | "unconfirmed") =>
    ({ type: "SettleDelivery", outcome, evidence: "log" }) as const;

  it("a delivery starts once; a started or closed one refuses another start", () => {
    given(deliveryDecider).when(start).then(started);
    for (const first of [started, abandoned])
      given(deliveryDecider, first).when(start).thenRejected("send_in_progress");
    for (const last of [accepted, refused, notHandedOver, unknown]) {
      given(deliveryDecider, started, last).when(start).thenRejected("send_in_progress");
    }
  });

  it("a delivery is abandoned only before it started", () => {
    given(deliveryDecider).when(abandon).then(abandoned);
    for (const first of [started, abandoned]) given(deliveryDecider, first).when(abandon).then();
  });

  it("a delivery that was abandoned because no provider could be reached has the code of the reason", () => {
    const code = "provider_credentials";
    const unreached: DeliveryEvent = { type: "DeliveryAbandoned", data: { ...abandoned.data, code } };
    given(deliveryDecider)
      .when({ ...abandon, code })
      .then(unreached);
    expect(fold(deliveryDecider, [unreached])).to.include({ phase: "abandoned", noConnection: code });
    expect(fold(deliveryDecider, [abandoned])).to.include({ phase: "abandoned", noConnection: null });
  });

  it("an outcome without a start changes nothing, and each outcome holds what its draft needs", () => {
    for (const outcome of [accepted, refused, notHandedOver, unknown, settled("accepted", "log")])
      expect(fold(deliveryDecider, [outcome])).to.equal(deliveryDecider.initial);
    const ended = (...events: DeliveryEvent[]) => fold(deliveryDecider, [started, ...events]);
    const withheld: DeliveryEvent = { ...notHandedOver, data: { ...notHandedOver.data, withheld: true } };
    expect(ended(notHandedOver)).to.include({ phase: "not_handed_over", withheld: false });
    expect(ended(withheld)).to.include({ phase: "not_handed_over", withheld: true });
    const forGood = { phase: "refused", retryable: false, retryAfterSeconds: 0 };
    expect(ended(refused)).to.include({ ...forGood, code: "no", message: "550" });
    expect(ended(unknown, settled("refused", "log"))).to.include({ ...forGood, code: "", message: "log" });
    expect(ended(unknown, settled("accepted", "log"))).to.not.have.property("retryable");
  });

  it("a delivery has one outcome; an answer after an unknown outcome is kept as evidence", () => {
    for (const outcome of [accepted, refused, notHandedOver, unknown]) {
      given(deliveryDecider, started).when(record(outcome)).then(outcome);
      given(deliveryDecider, started, accepted).when(record(outcome)).then();
      given(deliveryDecider).when(record(outcome)).then();
    }
    given(deliveryDecider, started, unknown).when(record(accepted)).then(settled("accepted", "250"));
    given(deliveryDecider, started, unknown).when(record(refused)).then(settled("refused", "550"));
    given(deliveryDecider, started, unknown).when(record(notHandedOver)).then(settled("refused", "too old"));
    given(deliveryDecider, started, unknown).when(record(unknown)).then();
    const givenUp = settled("unconfirmed", "log");
    given(deliveryDecider, started, unknown, givenUp).when(record(accepted)).then(settled("accepted", "250"));
  });

  it("a delivery with an unknown outcome is settled, and settled again by late evidence", () => {
    given(deliveryDecider, started, unknown).when(settle("accepted")).then(settled("accepted", "log"));
    given(deliveryDecider, started, unknown, settled("unconfirmed", "log")).when(settle("unconfirmed")).then();
    given(deliveryDecider, started, unknown, settled("unconfirmed", "log"))
      .when(settle("accepted"))
      .then(settled("accepted", "log"));
    given(deliveryDecider, started, unknown, settled("accepted", "log")).when(settle("refused")).then();
    given(deliveryDecider, started).when(settle("unconfirmed")).then();
  });

  const data = { draftId: "draft", threadId: "thread", messageId: "message", evidence: "SendGrid" };
  const dropped = (wholeMail: boolean) => ({ type: "DeliveryDropped", data: { ...data, wholeMail } }) as const;
  const told = (type: "DeliveryProcessed" | "DeliveryDelivered" | "DeliveryBounced") => ({ type, data }) as const;
  const report = (event: ReturnType<typeof dropped> | ReturnType<typeof told>) =>
    ({ type: "ReportDelivery", report: event }) as const;

  it("any report of its provider settles an unknown delivery, and each report is recorded once", () => {
    for (const type of ["DeliveryProcessed", "DeliveryDelivered", "DeliveryBounced"] as const) {
      const settledBy = settled("accepted", "SendGrid");
      given(deliveryDecider, started, unknown)
        .when(report(told(type)))
        .then(told(type), settledBy);
      given(deliveryDecider, started, unknown, told(type), settledBy)
        .when(report(told(type)))
        .then();
      given(deliveryDecider, started, unknown, settled("unconfirmed", "log"))
        .when(report(told(type)))
        .then(told(type), settledBy);
      given(deliveryDecider)
        .when(report(told(type)))
        .then();
    }
    for (const before of [accepted, told("DeliveryDelivered")])
      given(deliveryDecider, started, before)
        .when(report(told("DeliveryProcessed")))
        .then();
    given(deliveryDecider, started, accepted, told("DeliveryDelivered"))
      .when(report(told("DeliveryBounced")))
      .then(told("DeliveryBounced"));
  });

  it("a report before the outcome is kept, and settles the delivery if the outcome stays unknown", () => {
    const reported = "the outcome of this mail was already reported";
    given(deliveryDecider, started)
      .when(report(told("DeliveryProcessed")))
      .then(told("DeliveryProcessed"));
    given(deliveryDecider, started, told("DeliveryProcessed"))
      .when(record(unknown))
      .then(unknown, settled("accepted", reported));
    given(deliveryDecider, started, dropped(true)).when(record(unknown)).then(unknown, settled("refused", reported));
    for (const outcome of [accepted, refused])
      given(deliveryDecider, started, told("DeliveryProcessed")).when(record(outcome)).then(outcome);
  });

  it("a delivery that its provider reports as taken is not tried again, whatever the provider answered", () => {
    const busy = { ...refused, data: { ...refused.data, retryable: true } };
    const reported = "the outcome of this mail was already reported";
    for (const type of ["DeliveryProcessed", "DeliveryDelivered", "DeliveryBounced"] as const) {
      given(deliveryDecider, started, busy)
        .when(report(told(type)))
        .then(told(type), settled("accepted", "SendGrid"));
      given(deliveryDecider, started, told(type)).when(record(busy)).then(busy, settled("accepted", reported));
    }
    given(deliveryDecider, started, busy)
      .when(report(dropped(true)))
      .then(dropped(true), settled("refused", "SendGrid"));
    given(deliveryDecider, started, refused)
      .when(report(told("DeliveryDelivered")))
      .then(told("DeliveryDelivered"));
  });

  it("a delivery that was dropped for its only recipient is refused; any other report means accepted", () => {
    given(deliveryDecider, started, unknown)
      .when(report(dropped(true)))
      .then(dropped(true), settled("refused", "SendGrid"));
    given(deliveryDecider, started, unknown)
      .when(report(dropped(false)))
      .then(dropped(false), settled("accepted", "SendGrid"));
    given(deliveryDecider, started, told("DeliveryDelivered"), dropped(true))
      .when(record(unknown))
      .then(unknown, settled("accepted", "the outcome of this mail was already reported"));
    given(deliveryDecider, started, accepted)
      .when(report(dropped(true)))
      .then(dropped(true));
  });

  it("a delivery learns a few more Message-IDs under which its mail travels, each once", () => {
    const learned = (n: number) =>
      ({
        type: "DeliveryMessageIdLearned",
        data: { draftId: "draft", threadId: "thread", identityId: "identity", rfcMessageId: `<${n}@wire>` },
      }) as const;
    const learn = ({ data }: ReturnType<typeof learned>) => ({ type: "LearnMessageId", learned: data }) as const;
    given(deliveryDecider, started)
      .when(learn(learned(1)))
      .then(learned(1));
    given(deliveryDecider, started, learned(1))
      .when(learn(learned(1)))
      .then();
    given(deliveryDecider, started)
      .when({ type: "LearnMessageId", learned: { ...learned(1).data, rfcMessageId: "<ours>" } })
      .then();
    const ten = Array.from({ length: 10 }, (_, n) => learned(n));
    given(deliveryDecider, started, ...ten)
      .when(learn(learned(10)))
      .then();
    given(deliveryDecider)
      .when(learn(learned(1)))
      .then();
  });
});
