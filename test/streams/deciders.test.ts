import { readFileSync } from "node:fs";
import { expect } from "chai";
import { apiKeyDecider } from "#streams/apiKey/decider.ts";
import { approvalReplyDecider } from "#streams/approvalReply/decider.ts";
import { fold } from "#streams/decider.ts";
import { type DeliveryCommand, deliveryDecider } from "#streams/delivery/decider.ts";
import type { DeliveryEvent } from "#streams/delivery/events.ts";
import { emailAddressDecider } from "#streams/emailAddress/decider.ts";
import type { EmailAddressEvent } from "#streams/emailAddress/events.ts";
import { filingDecider } from "#streams/filing/decider.ts";
import type { FilingEvent } from "#streams/filing/events.ts";
import { identityDecider } from "#streams/identity/decider.ts";
import type { IdentityEvent } from "#streams/identity/events.ts";
import { isReservedLocalPart, reservedLocalParts } from "#streams/identity/reservedLocalParts.ts";
import { inboxDecider } from "#streams/inbox/decider.ts";
import { quotaDecider } from "#streams/quota/decider.ts";
import type { QuotaEvent } from "#streams/quota/events.ts";
import { slotsDecider } from "#streams/slots/decider.ts";
import type { SlotsEvent } from "#streams/slots/events.ts";
import { workspaceDecider } from "#streams/workspace/decider.ts";
import type { WorkspaceEvent } from "#streams/workspace/events.ts";
import { filingDecision as decision } from "#test/support/examples/filingDecision.ts";
import { identityCreated, mailHeaders, mailReceived, workspaceCreated } from "#test/support/examples/index.ts";
import { given } from "#test/support/given.ts";

describe("an API key", () => {
  const key = { workspaceId: "w", name: "agent", prefix: "svc_live_abcd", hash: "hash", scopes: [] };
  const created = { type: "ApiKeyCreated", data: key } as const;
  const revoked = { type: "ApiKeyRevoked", data: {} } as const;
  const create = { type: "CreateApiKey", ...key } as const;
  const revoke = (workspaceId: string) => ({ type: "RevokeApiKey", workspaceId }) as const;

  it("is made once and revoked once, by its own workspace", () => {
    given(apiKeyDecider).when(create).then(created);
    given(apiKeyDecider, created).when(create).then();
    given(apiKeyDecider, created).when(revoke("w")).then(revoked);
    given(apiKeyDecider, created).when(revoke("other")).thenRejected("not_found");
    given(apiKeyDecider, created, revoked).when(revoke("w")).thenRejected("not_found");
    given(apiKeyDecider).when(revoke("w")).thenRejected("not_found");
  });
});

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

  it("is started once: whoever finds it started, or closed, may not hand over", () => {
    given(deliveryDecider).when(start).then(started);
    for (const first of [started, abandoned])
      given(deliveryDecider, first).when(start).thenRejected("send_in_progress");
    for (const last of [accepted, refused, notHandedOver, unknown]) {
      given(deliveryDecider, started, last).when(start).thenRejected("send_in_progress");
    }
  });

  it("is abandoned only before it started", () => {
    given(deliveryDecider).when(abandon).then(abandoned);
    for (const first of [started, abandoned]) given(deliveryDecider, first).when(abandon).then();
  });

  it("has one outcome; an answer after unknown is evidence", () => {
    for (const outcome of [accepted, refused, notHandedOver, unknown]) {
      given(deliveryDecider, started).when(record(outcome)).then(outcome);
      given(deliveryDecider, started, accepted).when(record(outcome)).then();
      given(deliveryDecider).when(record(outcome)).then();
    }
    given(deliveryDecider, started, unknown).when(record(accepted)).then(settled("accepted", "250"));
    given(deliveryDecider, started, unknown).when(record(refused)).then(settled("refused", "550"));
    given(deliveryDecider, started, unknown).when(record(notHandedOver)).then(settled("refused", "too old"));
    given(deliveryDecider, started, unknown).when(record(unknown)).then();
  });

  it("is settled while unknown, and again by evidence that comes late", () => {
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

  it("is settled by whatever its provider reports, each report once", () => {
    for (const type of ["DeliveryProcessed", "DeliveryDelivered", "DeliveryBounced"] as const) {
      const settledBy = settled("accepted", "SendGrid");
      given(deliveryDecider, started, unknown)
        .when(report(told(type)))
        .then(told(type), settledBy);
      given(deliveryDecider, started, unknown, told(type), settledBy)
        .when(report(told(type)))
        .then();
      given(deliveryDecider)
        .when(report(told(type)))
        .then();
    }
    given(deliveryDecider, started, accepted)
      .when(report(told("DeliveryProcessed")))
      .then();
    given(deliveryDecider, started, accepted, told("DeliveryDelivered"))
      .when(report(told("DeliveryBounced")))
      .then(told("DeliveryBounced"));
  });

  it("keeps a report that comes before its outcome, which settles it if nobody learns that", () => {
    const reported = "the outcome of this mail was already reported";
    given(deliveryDecider, started)
      .when(report(told("DeliveryProcessed")))
      .then(told("DeliveryProcessed"));
    given(deliveryDecider, started, told("DeliveryProcessed"))
      .when(record(unknown))
      .then(unknown, settled("accepted", reported));
    given(deliveryDecider, started, dropped(true)).when(record(unknown)).then(unknown, settled("refused", reported));
    given(deliveryDecider, started, told("DeliveryProcessed")).when(record(accepted)).then(accepted);
  });

  it("is not tried again if its provider reports that it has the mail, whatever it answered", () => {
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

  it("was refused if the provider dropped it for its one recipient, and accepted if anything else became of it", () => {
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

  it("learns a few more Message-IDs that it travels under, each once", () => {
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

describe("an address", () => {
  const claim = (identityId: string, workspaceId: string, sandbox = false) =>
    ({ type: "ClaimAddress", address: "a@x.example", identityId, workspaceId, sandbox }) as const;
  const claimed: EmailAddressEvent = {
    type: "AddressClaimed",
    data: { address: "a@x.example", identityId: "i", workspaceId: "w" },
  };
  const released: EmailAddressEvent = { type: "AddressReleased", data: { identityId: "i" } };

  it("is one identity's; a sandbox address stays its workspace's", () => {
    given(emailAddressDecider).when(claim("i", "w")).then(claimed);
    given(emailAddressDecider, claimed).when(claim("i", "w")).then();
    given(emailAddressDecider, claimed).when(claim("j", "w")).thenRejected("invalid_request");
    given(emailAddressDecider, claimed, released).when(claim("j", "other")).thenTypes("AddressClaimed");
    given(emailAddressDecider, claimed, released)
      .when(claim("j", "other", true))
      .thenRejected("invalid_request");
    given(emailAddressDecider, claimed, released)
      .when(claim("j", "w", true))
      .thenTypes("AddressClaimed");
  });

  it("is released by its holder", () => {
    given(emailAddressDecider, claimed).when({ type: "ReleaseAddress", identityId: "i" }).then(released);
    given(emailAddressDecider, claimed).when({ type: "ReleaseAddress", identityId: "j" }).then();
    given(emailAddressDecider, claimed, released).when({ type: "ReleaseAddress", identityId: "i" }).then();
  });
});

describe("filing decisions", () => {
  const decided = (number: number): FilingEvent => ({ type: "FilingDecided", data: decision(number) });
  const filed = (number: number): FilingEvent => ({ type: "MailFiled", data: { number, inboxRevision: number - 1 } });

  it("are made once for each mail, without a gap", () => {
    const decide = (...numbers: number[]) =>
      ({ type: "DecideFiling", decisions: numbers.map((number) => decision(number)) }) as const;
    given(filingDecider).when(decide(1, 2)).then(decided(1), decided(2));
    given(filingDecider, decided(1)).when(decide(1, 2)).then();
    given(filingDecider, decided(1)).when(decide(2)).then(decided(2));
    given(filingDecider, decided(1)).when(decide(3)).then();
    given(filingDecider).when(decide()).then();
  });

  it("wait until they are carried out", () => {
    const mark = (number: number) => ({ type: "MarkFiled", number, inboxRevision: number - 1 }) as const;
    given(filingDecider, decided(1), decided(2)).when(mark(1)).then(filed(1));
    given(filingDecider, decided(1), decided(2), filed(2)).when(mark(1)).then();
    const { pending } = fold(filingDecider, [decided(1), decided(2), filed(1)]);
    expect(pending.map(({ number }) => number)).to.deep.equal([2]);
  });
});

/** In full-width letters. */
const wide = (text: string) => text.replace(/[a-z]/g, (letter) => String.fromCodePoint(letter.charCodeAt(0) + 0xfee0));

describe("an identity", () => {
  const created = (different = {}): IdentityEvent => ({ type: "IdentityCreated", data: identityCreated(different) });
  const update = (changes: Record<string, unknown>, mayLoosen = false) =>
    ({ type: "UpdateIdentity", changes, mayLoosen }) as const;
  const channel = { type: "email" as const, config: { to: "boss@x.example" } };

  it("is made, changed where different, and deleted once", () => {
    given(identityDecider).when({ type: "CreateIdentity", identity: identityCreated() }).then(created());
    given(identityDecider, created()).when({ type: "CreateIdentity", identity: identityCreated() }).then();
    given(identityDecider, created())
      .when(update({ displayName: "Support" }))
      .then();
    given(identityDecider, created())
      .when(update({ displayName: "Help" }))
      .thenTypes("IdentityUpdated");
    given(identityDecider, created()).when({ type: "DeleteIdentity", mayLoosen: false }).thenTypes("IdentityDeleted");
    const guarded = created({ requireHumanApproval: true });
    given(identityDecider, guarded)
      .when({ type: "DeleteIdentity", mayLoosen: false })
      .thenRejected("insufficient_scope");
    given(identityDecider, guarded).when({ type: "DeleteIdentity", mayLoosen: true }).thenTypes("IdentityDeleted");
    const deleted: IdentityEvent = { type: "IdentityDeleted", data: { emailAddress: "support@agents.localhost" } };
    given(identityDecider, created(), deleted)
      .when({ type: "DeleteIdentity", mayLoosen: false })
      .thenRejected("not_found");
    given(identityDecider)
      .when(update({ displayName: "x" }))
      .thenRejected("not_found");
  });

  it("keeps its approval where people decide", () => {
    const guarded = created({ requireHumanApproval: true });
    given(identityDecider, guarded)
      .when(update({ requireHumanApproval: false }))
      .thenRejected("insufficient_scope");
    given(identityDecider, guarded)
      .when(update({ approvalChannel: channel }))
      .thenRejected("insufficient_scope");
    given(identityDecider, guarded)
      .when(update({ secondaryApprovalChannel: channel }))
      .thenRejected("insufficient_scope");
    given(identityDecider, guarded)
      .when(update({ requireHumanApproval: false }, true))
      .thenTypes("IdentityUpdated");
    const asking = created({ requireHumanApproval: true, confirmCode: true });
    given(identityDecider, asking)
      .when(update({ confirmCode: false }))
      .thenRejected("insufficient_scope");
    given(identityDecider, asking)
      .when(update({ confirmCode: false }, true))
      .thenTypes("IdentityUpdated");
    given(identityDecider, guarded)
      .when(update({ confirmCode: true }))
      .thenTypes("IdentityUpdated");
    const byWorkspace = { ...update({ confirmCode: false }), workspaceRequires: true } as const;
    given(identityDecider, created({ confirmCode: true }))
      .when(byWorkspace)
      .thenRejected("insufficient_scope");
    given(identityDecider, guarded)
      .when(update({ displayName: "Help" }))
      .thenTypes("IdentityUpdated");
  });

  it("has no name that speaks for a shared domain, with a tag or dots neither; each of them is in the contract", () => {
    const contract = readFileSync(new URL("../../src/http/docs/contract.md", import.meta.url), "utf8");
    for (const name of reservedLocalParts) {
      expect(contract).to.include(`\`${name}\``);
      const dotted = [...name].join(".");
      for (const written of [name, name.toUpperCase(), `${name}+`, `${name}+a+b`, dotted, `${dotted}+x`, wide(name)]) {
        expect(isReservedLocalPart(written), written).to.equal(true);
      }
      for (const other of [`${name}s`, `x${name}`, `${name}-team`, `my.${name}`, `+${name}`, ""]) {
        expect(isReservedLocalPart(other), other).to.equal(false);
      }
    }
  });

  it("escalates after an hour where a secondary channel is set without a delay", () => {
    given(identityDecider, created())
      .when(update({ secondaryApprovalChannel: channel }))
      .then({
        type: "IdentityUpdated",
        data: { changes: { secondaryApprovalChannel: channel, escalationDelayMinutes: 60 } },
      });
  });
});

describe("a quota", () => {
  const reserve = (reservationId: string, cap: number | null = 2) =>
    ({ type: "ReserveQuota", reservationId, cap }) as const;
  const release = (reservationId: string) => ({ type: "ReleaseQuota", reservationId }) as const;
  const reserved = (reservationId: string): QuotaEvent => ({ type: "QuotaReserved", data: { reservationId } });
  const released = (reservationId: string): QuotaEvent => ({ type: "QuotaReleased", data: { reservationId } });

  it("is reserved up to its cap, once by each id, and never again by one that was released", () => {
    given(quotaDecider, reserved("a")).when(reserve("b")).then(reserved("b"));
    given(quotaDecider, reserved("a")).when(reserve("a")).then();
    given(quotaDecider, reserved("a"), reserved("b")).when(reserve("c")).thenRejected("plan_limit_reached");
    given(quotaDecider, reserved("a"), reserved("b")).when(reserve("c", null)).then(reserved("c"));
    given(quotaDecider, reserved("a"), reserved("b"), released("a")).when(reserve("c")).then(reserved("c"));
    given(quotaDecider, released("a")).when(reserve("a")).thenRejected("send_in_progress");
  });

  it("is given back once, also what was never reserved", () => {
    given(quotaDecider, reserved("a")).when(release("a")).then(released("a"));
    given(quotaDecider).when(release("a")).then(released("a"));
    given(quotaDecider, reserved("a"), released("a")).when(release("a")).then();
    expect(fold(quotaDecider, [released("a"), reserved("b"), released("b"), released("b")]).used).to.equal(0);
  });
});

describe("slots", () => {
  const take = (holderId: string, vacated: string[] = []) =>
    ({ type: "TakeSlot", holderId, takenAt: "now", cap: 1, vacated }) as const;
  const taken = (holderId: string, vacated: string[] = []): SlotsEvent => ({
    type: "SlotTaken",
    data: { holderId, takenAt: "now", vacated },
  });

  it("are as many as the cap, and free again when their holder is gone", () => {
    given(slotsDecider).when(take("a")).then(taken("a"));
    given(slotsDecider, taken("a")).when(take("a")).then();
    given(slotsDecider, taken("a")).when(take("b")).thenRejected("plan_limit_reached");
    given(slotsDecider, taken("a"))
      .when(take("b", ["a"]))
      .then(taken("b", ["a"]));
    given(slotsDecider, taken("a"))
      .when(take("b", ["unknown"]))
      .thenRejected("plan_limit_reached");
    given(slotsDecider, taken("a")).when({ type: "VacateSlot", holderId: "a" }).thenTypes("SlotVacated");
    given(slotsDecider).when({ type: "VacateSlot", holderId: "a" }).then();
  });
});

describe("a workspace", () => {
  const created: WorkspaceEvent = { type: "WorkspaceCreated", data: workspaceCreated() };

  it("is made once, and changed where different", () => {
    given(workspaceDecider).when({ type: "CreateWorkspace", workspace: workspaceCreated() }).then(created);
    given(workspaceDecider, created).when({ type: "CreateWorkspace", workspace: workspaceCreated() }).then();
    given(workspaceDecider).when({ type: "UpdateWorkspace", name: "x" }).thenRejected("not_found");
    given(workspaceDecider, created).when({ type: "UpdateWorkspace", name: "Acme", sendingPaused: false }).then();
    given(workspaceDecider, created)
      .when({ type: "UpdateWorkspace", name: "B", sendingPaused: true })
      .thenTypes("WorkspaceRenamed", "SendingPaused");
    given(workspaceDecider, created).when({ type: "SetPlan", plan: "pro" }).thenTypes("PlanSet");
    given(workspaceDecider, created).when({ type: "SetPlan", plan: "builder_pack" }).then();
  });
});

describe("what arrives", () => {
  const mail = mailReceived({ number: 1, references: [], identityId: "i", workspaceId: "w", rawSha256: "raw" });

  it("is always taken into an inbox", () => {
    const received = { type: "MailReceived", data: mail } as const;
    given(inboxDecider, received).when({ type: "ReceiveMail", mail }).then(received);
  });

  it("is kept once as an approval's reply", () => {
    const reply = { ...mail, headers: mailHeaders(), workspaceId: null, identityId: null };
    const received = { type: "ApprovalReplyReceived", data: reply } as const;
    given(approvalReplyDecider).when({ type: "ReceiveApprovalReply", reply }).then(received);
    given(approvalReplyDecider, received).when({ type: "ReceiveApprovalReply", reply }).then();
  });
});
