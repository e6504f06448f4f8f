import { readFileSync } from "node:fs";
import { expect } from "chai";
import { apiKeyDecider } from "#streams/apiKey/decider.ts";
import { approvalReplyDecider } from "#streams/approvalReply/decider.ts";
import { auditEpochDecider } from "#streams/auditEpoch/decider.ts";
import { fold } from "#streams/decider.ts";
import { emailAddressDecider } from "#streams/emailAddress/decider.ts";
import type { EmailAddressEvent } from "#streams/emailAddress/events.ts";
import { filingDecider } from "#streams/filing/decider.ts";
import type { FilingEvent } from "#streams/filing/events.ts";
import { identityDecider } from "#streams/identity/decider.ts";
import type { IdentityEvent } from "#streams/identity/events.ts";
import {
  isReservedLocalPart,
  resemblesServiceName,
  reservedLocalParts,
  reservedWords,
} from "#streams/identity/reservedNames.ts";
import { inboxDecider } from "#streams/inbox/decider.ts";
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

  it("an API key is made once and revoked once, by its own workspace", () => {
    given(apiKeyDecider).when(create).then(created);
    given(apiKeyDecider, created).when(create).then();
    given(apiKeyDecider, created).when(revoke("w")).then(revoked);
    given(apiKeyDecider, created).when(revoke("other")).thenRejected("not_found");
    given(apiKeyDecider, created, revoked).when(revoke("w")).thenRejected("not_found");
    given(apiKeyDecider).when(revoke("w")).thenRejected("not_found");
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

  it("an address belongs to one identity, and a sandbox address stays with its workspace", () => {
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

  it("a sandbox address is reserved for the workspace that has it with a tag", () => {
    const reserve = (workspaceId: string) => ({ type: "ReserveAddress", workspaceId }) as const;
    const reserved: EmailAddressEvent = { type: "AddressReserved", data: { workspaceId: "w" } };
    given(emailAddressDecider).when(reserve("w")).then(reserved);
    given(emailAddressDecider, reserved).when(reserve("w")).then();
    given(emailAddressDecider, reserved).when(reserve("other")).thenRejected("invalid_request");
    given(emailAddressDecider, claimed).when(reserve("w")).then();
    given(emailAddressDecider, claimed, released).when(reserve("other")).thenRejected("invalid_request");
    given(emailAddressDecider, reserved)
      .when(claim("i", "w", true))
      .then(claimed);
    given(emailAddressDecider, reserved)
      .when(claim("j", "other", true))
      .thenRejected("invalid_request");
  });

  it("an address is released by the identity that holds it", () => {
    given(emailAddressDecider, claimed).when({ type: "ReleaseAddress", identityId: "i" }).then(released);
    given(emailAddressDecider, claimed).when({ type: "ReleaseAddress", identityId: "j" }).then();
    given(emailAddressDecider, claimed, released).when({ type: "ReleaseAddress", identityId: "i" }).then();
  });
});

describe("filing decisions", () => {
  const decided = (number: number): FilingEvent => ({ type: "FilingDecided", data: decision(number) });
  const filed = (number: number): FilingEvent => ({ type: "MailFiled", data: { number, inboxRevision: number - 1 } });

  it("a filing decision is made once for each mail, without a gap in the numbers", () => {
    const decide = (...numbers: number[]) =>
      ({ type: "DecideFiling", decisions: numbers.map((number) => decision(number)) }) as const;
    given(filingDecider).when(decide(1, 2)).then(decided(1), decided(2));
    given(filingDecider, decided(1)).when(decide(1, 2)).then();
    given(filingDecider, decided(1)).when(decide(2)).then(decided(2));
    given(filingDecider, decided(1)).when(decide(3)).then();
    given(filingDecider).when(decide()).then();
  });

  it("a filing decision is pending until it is carried out", () => {
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

  it("an identity is made once, changed where different, and deleted once", () => {
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

  it("an identity that requires human approval keeps that setting and its approval channel", () => {
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
    const byWorkspaceAlone = (changes: object) => ({ ...update({ ...changes }), workspaceRequires: true });
    for (const changes of [
      { replyToEmail: "eve@x.example" },
      { replyToEmail: null },
      { displayName: "Help" },
      { sendOnChannelApproval: false },
      { editByChannel: true },
    ]) {
      const before = { replyToEmail: "old@x.example" };
      const isGuarded = created({ ...before, requireHumanApproval: true });
      given(identityDecider, isGuarded).when(update(changes)).thenRejected("insufficient_scope");
      given(identityDecider, isGuarded).when(update(changes, true)).thenTypes("IdentityUpdated");
      given(identityDecider, created(before)).when(byWorkspaceAlone(changes)).thenRejected("insufficient_scope");
      given(identityDecider, created(before)).when(update(changes)).thenTypes("IdentityUpdated");
    }
    given(identityDecider, guarded)
      .when(update({ signatureText: "Kind regards", threadHistoryDepth: 3, displayName: "Support" }))
      .thenTypes("IdentityUpdated");
  });

  it("an identity's address imitates no shared domain or service name; the contract lists all reserved names", () => {
    const contract = readFileSync(new URL("../../src/http/docs/contract.md", import.meta.url), "utf8");
    for (const name of [...reservedLocalParts, ...reservedWords]) {
      expect(contract).to.include(`\`${name}\``);
      const dotted = [...name].join(".");
      const digits = name.replaceAll("o", "0").replaceAll("i", "1").replaceAll("e", "3").replaceAll("s", "5");
      const written = [name, name.toUpperCase(), `${name}+`, `${name}+a+b`, dotted, `${dotted}+x`, wide(name), digits];
      for (const each of written) expect(isReservedLocalPart(each), each).to.equal(true);
    }
    for (const name of reservedLocalParts)
      for (const other of [`${name}s`, `x${name}`, `${name}-team`, `my.${name}`, `+${name}`, ""])
        expect(isReservedLocalPart(other), other).to.equal(false);
    for (const word of reservedWords)
      for (const other of [`${word}s`, `x${word}`, `my-${word}-team`, `a+${word}`])
        expect(isReservedLocalPart(other), other).to.equal(true);
    for (const usual of ["support", "hello", "sales", "help", "agent1", "sign", "counter"])
      expect(isReservedLocalPart(usual), usual).to.equal(false);
  });

  it("an identity's display name is not the service's name, in whatever letters", () => {
    const names = [
      "Countersign",
      "COUNTERSIGN approvals",
      "Counter Sign",
      "C0unter-5ign",
      "Coun\u200btersign",
      "Cöüntersígn",
    ];
    const foreign = [
      "Соuntеrѕіgn",
      "ϹΟUΝΤΕRSΙGΝ",
      "Ⓒⓞⓤⓝⓣⓔⓡⓢⓘⓖⓝ",
      "Countersıgn",
      "Counterslgn",
      wide("countersign"),
      "ᴄᴏᴜɴᴛᴇʀꜱɪɢɴ",
      "ꓚꓳꓴꓠꓔꓰꓣꓢꓲꓖꓠ",
      "ᏟOUNᎢᎬᎡᏚᏆᏀN",
      "ⲤⲞUⲚⲦⲈRSⲒGⲚ",
    ];
    for (const name of [...names, ...foreign]) expect(resemblesServiceName(name), name).to.equal(true);
    for (const name of ["Support", "Ann Example", "Counter sales", "Sign-ups", "Contreseing", "Отдел продаж", ""])
      expect(resemblesServiceName(name), name).to.equal(false);
  });

  it("an identity with a secondary channel and no delay escalates after an hour", () => {
    given(identityDecider, created())
      .when(update({ secondaryApprovalChannel: channel }))
      .then({
        type: "IdentityUpdated",
        data: { changes: { secondaryApprovalChannel: channel, escalationDelayMinutes: 60 } },
      });
  });
});

describe("slots", () => {
  const take = (holderId: string, vacated: string[] = []) =>
    ({ type: "TakeSlot", holderId, takenAt: "now", cap: 1, vacated }) as const;
  const taken = (holderId: string, vacated: string[] = []): SlotsEvent => ({
    type: "SlotTaken",
    data: { holderId, takenAt: "now", vacated },
  });

  it("slots are as many as the cap, and free again once their holder is gone", () => {
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

  it("a workspace is made once, and changed where different", () => {
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

describe("received mail and replies to approval mail", () => {
  const mail = mailReceived({ number: 1, references: [], identityId: "i", workspaceId: "w", rawSha256: "raw" });

  it("an inbox takes every received mail", () => {
    const received = { type: "MailReceived", data: mail } as const;
    given(inboxDecider, received).when({ type: "ReceiveMail", mail }).then(received);
  });

  it("an approval's reply is stored once", () => {
    const reply = { ...mail, headers: mailHeaders(), workspaceId: null, identityId: null };
    const received = { type: "ApprovalReplyReceived", data: reply } as const;
    given(approvalReplyDecider).when({ type: "ReceiveApprovalReply", reply }).then(received);
    given(approvalReplyDecider, received).when({ type: "ReceiveApprovalReply", reply }).then();
  });
});

describe("the epoch of an audit tree", () => {
  const last = { origin: "mail.example.com/audit/w/1", size: 7, root: "" };
  const begin = (known: number) => ({ type: "BeginEpoch", known, last, reason: "restored" }) as const;
  const begun = (epoch: number) => ({ type: "AuditEpochBegun", data: { epoch, last, reason: "restored" } }) as const;

  it("a new epoch of an audit tree comes after each epoch of which a head is known, and begins once", () => {
    given(auditEpochDecider).when(begin(1)).then(begun(2));
    given(auditEpochDecider, begun(2)).when(begin(1)).then();
    given(auditEpochDecider, begun(2)).when(begin(2)).then(begun(3));
    given(auditEpochDecider).when(begin(4)).then(begun(5));
  });
});
