import { expect } from "chai";
import { fold } from "#streams/decider.ts";
import { entriesOf } from "#streams/idMap.ts";
import { absorptionOf } from "#streams/thread/absorption.ts";
import { type ThreadCommand, threadDecider } from "#streams/thread/decider.ts";
import type { InboundMessage, ThreadEvent } from "#streams/thread/events.ts";
import type { Thread } from "#streams/thread/thread.ts";
import { inboundMessage } from "#test/support/examples/index.ts";
import { sized } from "#test/support/full.ts";
import { given } from "#test/support/given.ts";

const thread = (...events: ThreadEvent[]) => given(threadDecider, ...events);

const opening = { workspaceId: "workspace", identityId: "identity", subject: "s", contactEmail: null, contactId: null };
const opened: ThreadEvent = { type: "ThreadOpened", data: opening };
const received = (number: number, different: Partial<InboundMessage> = {}): ThreadEvent => ({
  type: "MessageReceived",
  data: inboundMessage(number, different),
});
const file = (number: number, different: Partial<InboundMessage> = {}): ThreadCommand => ({
  type: "FileMessage",
  message: inboundMessage(number, different),
  opens: opening,
  reviewReason: null,
});
const claimOf = (attemptId: string) => ({
  draftId: "draft",
  version: 1,
  contentSha256: "hash",
  attemptId,
  quotaStream: "quota-w-lifetime",
});
const claim = (attemptId: string, basedOnNumber: number, replaces: string | null = null): ThreadCommand => ({
  type: "ClaimSend",
  claim: claimOf(attemptId),
  basedOnNumber,
  replaces,
});
const claimed = (attemptId: string, replaces: string | null = null): ThreadEvent => ({
  type: "SendClaimed",
  data: { ...claimOf(attemptId), replaces },
});
const noted = (
  status: "pending" | "approved" | "sending" | "closed",
  revision: number,
  draftId = "draft",
): ThreadEvent => ({
  type: "DraftNoted",
  data: { draftId, status, revision },
});
const status = (now: "open" | "waiting" | "draft_pending" | "closed"): ThreadEvent => ({
  type: "ThreadStatusChanged",
  data: { status: now, because: "test" },
});
const mailSent = {
  draftId: "draft",
  attemptId: "a1",
  messageId: "answer",
  rfcMessageId: "<o>",
  to: ["ann@customer.example"],
};
const base = [opened, received(3)];

describe("a thread", () => {
  it("takes mail once, in the order of filing numbers", () => {
    thread().when(file(1)).then(opened, received(1));
    thread(...base)
      .when(file(4))
      .then(received(4));
    thread(...base)
      .when(file(3))
      .then();
    thread(...base)
      .when(file(2))
      .then();
    thread().when(claim("a1", 0)).thenRejected("not_found");
  });

  it("opens again when the customer writes, asks for review when closed or by a stranger [3 needs_review]", () => {
    thread(...base, status("waiting"))
      .when(file(4))
      .thenTypes("MessageReceived", "ThreadStatusChanged");
    thread(...base, status("waiting"))
      .when(file(4, { classification: "bounce" }))
      .thenTypes("MessageReceived");
    thread(...base, status("closed"))
      .when(file(4))
      .thenTypes("MessageReceived", "ThreadReviewSet");
    thread(...base)
      .when(file(4, { from: { name: "", address: "eve@x.example" } }))
      .thenTypes("MessageReceived", "ThreadReviewSet");
  });

  it("refuses a claim on what is older than the newest word", () => {
    thread(...base)
      .when(claim("a1", 3))
      .then(claimed("a1"));
    thread(...base, received(4))
      .when(claim("a1", 3))
      .thenRejected("stale_draft");
    thread(...base)
      .when(claim("a1", 0))
      .thenRejected("stale_draft");
    for (const classification of ["auto_reply", "bounce"] as const) {
      thread(...base, received(4, { classification }))
        .when(claim("a1", 3))
        .then(claimed("a1"));
    }
    thread(...base, received(4, { classification: "list" }))
      .when(claim("a1", 3))
      .thenRejected("stale_draft");
  });

  it("gives one claim a draft, and replaces only the one that is named", () => {
    thread(...base, claimed("a1"))
      .when(claim("a1", 3))
      .then();
    thread(...base, claimed("a1"))
      .when(claim("a2", 3))
      .thenRejected("send_in_progress");
    thread(...base, claimed("a1"))
      .when(claim("a2", 3, "a1"))
      .then(claimed("a2", "a1"));
    thread(...base, claimed("a2", "a1"))
      .when(claim("a3", 3, "a1"))
      .thenRejected("send_in_progress");
    thread(...base, { type: "MessageSent", data: mailSent })
      .when(claim("a2", 3))
      .thenRejected("send_in_progress");
  });

  it("releases the claim that is named, once", () => {
    const release: ThreadCommand = { type: "ReleaseClaim", draftId: "draft", attemptId: "a1", because: "stale" };
    thread(...base, claimed("a1"))
      .when(release)
      .thenTypes("SendClaimReleased");
    thread(...base)
      .when(release)
      .then();
    thread(...base, claimed("a2", "a1"))
      .when(release)
      .then();
  });

  it("waits after a reply, told once [3 thread -> waiting]", () => {
    const tell: ThreadCommand = { type: "RecordSent", ...mailSent };
    thread(...base, claimed("a1"))
      .when(tell)
      .thenTypes("MessageSent", "ThreadStatusChanged");
    thread(...base, { type: "MessageSent", data: mailSent })
      .when(tell)
      .then();
    expect(fold(threadDecider, [...base, claimed("a1"), { type: "MessageSent", data: mailSent }]).claims).to.deep.equal(
      {},
    );
  });

  it("follows its drafts, newest note first", () => {
    const note = (outcome: "pending" | "stale" | "sending" | "rejected", draftRevision: number): ThreadCommand => ({
      type: "NoteDraft",
      draftId: "draft",
      outcome,
      draftRevision,
    });
    thread(...base)
      .when(note("pending", 0))
      .thenTypes("DraftNoted", "ThreadStatusChanged");
    thread(...base, noted("pending", 0))
      .when(note("pending", 0))
      .then();
    thread(...base, noted("sending", 2))
      .when(note("pending", 1))
      .then();
    thread(...base, status("draft_pending"), noted("pending", 0))
      .when(note("stale", 1))
      .thenTypes("DraftNoted", "ThreadStatusChanged");
    thread(...base, status("draft_pending"), noted("pending", 0, "other"))
      .when(note("stale", 1))
      .thenTypes("DraftNoted");
    thread(...base, status("waiting"), noted("sending", 0, "other"))
      .when(note("stale", 1))
      .thenTypes("DraftNoted");
  });

  describe("of which many drafts have closed", () => {
    const closings = (from: number, to: number): ThreadEvent[] =>
      Array.from({ length: to - from }, (_, index) => noted("closed", 5, `draft ${from + index}`));
    const note = (draftId: string, outcome: "pending" | "rejected", hasEnded = false): ThreadCommand => ({
      ...{ type: "NoteDraft", draftId, outcome, draftRevision: outcome === "pending" ? 1 : 6, hasEnded },
    });
    const full = [...base, ...closings(0, 201)];

    it("keeps the revisions of the 200 that closed last, so that a late note changes nothing", () => {
      expect(fold(threadDecider, full).closedDrafts).to.have.length(200);
      for (const known of ["draft 1", "draft 200"]) {
        thread(...full)
          .when(note(known, "pending"))
          .then();
      }
      // One that closes anew, a stale one that is rejected, counts from then on.
      const again = [...full, noted("closed", 7, "draft 1"), ...closings(201, 300)];
      thread(...again)
        .when(note("draft 1", "pending"))
        .then();
      thread(...again)
        .when(note("draft 100", "pending"))
        .thenTypes("DraftNoted", "ThreadStatusChanged");
    });

    it("holds none of them as open: its state is as large after 5,000 as after 300", () => {
      const opened = (from: number, to: number): ThreadEvent[] =>
        closings(from, to).flatMap((closing, index) => [noted("pending", 0, `draft ${from + index}`), closing]);
      const stateAfter = (count: number) => fold(threadDecider, [...base, ...opened(1_000, 1_000 + count)]);
      const { drafts, pendingDrafts } = stateAfter(5_000);
      expect({ drafts, pendingDrafts }).to.deep.equal({ drafts: {}, pendingDrafts: 0 });
      const sizeAfter = (count: number) => JSON.stringify({ ...stateAfter(count), revision: 0 }).length;
      expect(sizeAfter(5_000)).to.equal(sizeAfter(300));
    });

    it("takes for old news what is told of one that it has forgotten, and hears of new ones", () => {
      thread(...full)
        .when(note("draft 0", "pending", true))
        .then();
      thread(...full)
        .when(note("draft 0", "rejected"))
        .then();
      thread(...full)
        .when(note("new", "pending"))
        .thenTypes("DraftNoted", "ThreadStatusChanged");
      // Where none is forgotten, it never heard of it.
      thread(...base, ...closings(0, 199))
        .when(note("new", "pending", true))
        .thenTypes("DraftNoted", "ThreadStatusChanged");
    });

    it("is told of a mail of ours once, also where it has forgotten it", () => {
      const tell: ThreadCommand = { type: "RecordSent", ...mailSent };
      const sent: ThreadEvent[] = [...base, claimed("a1"), { type: "MessageSent", data: mailSent }];
      thread(...sent, ...closings(0, 199))
        .when(tell)
        .then();
      thread(...sent, ...closings(0, 250))
        .when(tell)
        .then();
      thread(...sent.slice(0, -1), ...closings(0, 250))
        .when(tell)
        .thenTypes("MessageSent", "ThreadStatusChanged");
    });
  });

  it("makes little new for an event, however many drafts are open, on their way or answered machines", () => {
    const many = sized(1_000, 10_000);
    const each = (make: (id: string) => ThreadEvent[]): ThreadEvent[] =>
      Array.from({ length: many }, (_, index) => make(`draft ${index}`)).flat();
    const sending = each((draftId) => [
      noted("sending", 1, draftId),
      { type: "SendClaimed", data: { ...claimOf("a"), draftId, machineAddresses: [`${draftId}@x`], replaces: null } },
      received(Number(draftId.slice("draft ".length)) + 4),
    ]);
    const state = fold(threadDecider, [...base, ...sending]);
    const authenticated = { type: "MessageAuthenticated", data: { number: 9 } } as ThreadEvent;
    const more: ThreadEvent[] = [noted("closed", 2, "draft 7"), noted("pending", 0, "new"), claimed("b")];
    for (const event of [
      ...more,
      authenticated,
      received(many + 4),
      { type: "MessageSent", data: mailSent } as const,
    ]) {
      expect(madeNew(state, threadDecider.evolve(state, event)), event.type).to.be.below(400);
    }
  });

  it("only points on once it is frozen, and takes what was filed before for done", () => {
    const freeze: ThreadCommand = { type: "FreezeThread", survivorId: "survivor", number: 5 };
    const frozen: ThreadEvent = { type: "ThreadFrozen", data: { survivorId: "survivor", number: 5 } };
    thread(...base)
      .when(freeze)
      .then(frozen);
    thread(...base, frozen)
      .when(freeze)
      .then();
    thread(...base, frozen)
      .when(file(4))
      .then();
    thread(...base, frozen)
      .when(claim("a1", 3))
      .thenRejected("thread_merged");
    thread(...base, frozen)
      .when({ type: "UpdateThread", status: "closed", because: "test" })
      .thenRejected("thread_merged");
  });

  it("absorbs another thread's word, drafts and claims, once", () => {
    const other = {
      absorbedId: "b",
      number: 5,
      newestNumber: 4,
      newestWord: { messageId: "message 4", number: 4 },
      participants: ["bob@x.example"],
      drafts: { other: { status: "pending" as const, revision: 1 } },
      claims: [claimOf("a1")],
      needsReview: true,
      unauthenticated: [4],
    };
    const absorb: ThreadCommand = { type: "AbsorbThread", ...other };
    thread(...base)
      .when(absorb)
      .thenTypes("ThreadAbsorbed", "ThreadReviewSet", "ThreadStatusChanged");
    const absorbed: ThreadEvent = { type: "ThreadAbsorbed", data: other };
    thread(...base, absorbed)
      .when(absorb)
      .then();
    thread(...base, absorbed)
      .when(claim("a2", 3, "a1"))
      .thenRejected("stale_draft");
    thread(...base, absorbed)
      .when(claim("a2", 4))
      .thenRejected("send_in_progress");
  });

  describe("that absorbs more than one event holds", () => {
    // Long ids, so that few make more than one event.
    const ids = Array.from({ length: sized(1_600, 10_000) }, (_, index) => `${"draft".repeat(50)}-${index + 1e6}`);
    const some = ids.slice(0, 220);
    const frozen = fold(threadDecider, [
      ...base,
      ...some.map((draftId): ThreadEvent => noted("closed", 4, `${draftId}-closed`)),
      ...ids.map((draftId): ThreadEvent => noted("pending", 0, draftId)),
      ...some.map(
        (draftId): ThreadEvent => ({ type: "SendClaimed", data: { ...claimOf("a"), draftId, replaces: null } }),
      ),
      received(7),
      { type: "ThreadFrozen", data: { survivorId: "survivor", number: 8 } },
    ]);
    const parts = absorptionOf("b", frozen);
    const told = parts.map((data): ThreadEvent => ({ type: "ThreadAbsorbed", data }));
    const tell = (n: number): ThreadCommand => ({ type: "AbsorbThread", ...parts[n - 1]! });

    it("is told in parts that each fit, and knows all of it then, the newest word from the first on", () => {
      expect(parts.map(({ part }) => part)).to.deep.equal(
        parts.map((_, index) => ({ n: index + 1, of: parts.length })),
      );
      expect(parts).to.have.length.above(1);
      for (const part of parts) expect(Buffer.byteLength(JSON.stringify(part))).to.be.at.most(400_000);
      const survivor = fold(threadDecider, [...base, noted("pending", 0), ...told]);
      expect(entriesOf(survivor.drafts).map(([id]) => id)).to.deep.equal(["draft", ...ids]);
      expect(survivor.pendingDrafts).to.equal(ids.length + 1);
      expect(entriesOf(survivor.claims)).to.deep.equal(entriesOf(frozen.claims));
      expect(survivor.closedDrafts).to.deep.equal(frozen.closedDrafts);
      expect(entriesOf(survivor.unauthenticated).map(([number]) => number)).to.deep.equal(["3", "7"]);
      expect(fold(threadDecider, [...base, told[0]!]).newestWord?.number).to.equal(7);
      thread(...base, ...told)
        .when(tell(1))
        .then();
    });

    it("refuses claims, and to be merged itself, until the last part is there", () => {
      const begun = [...base, ...told.slice(0, -1)];
      thread(...begun)
        .when(claim("a9", 7))
        .thenRejected("merge_under_way");
      thread(...begun)
        .when({ type: "FreezeThread", survivorId: "c", number: 9 })
        .thenRejected("merge_under_way");
      thread(...base, ...told)
        .when(claim("a9", 7))
        .then(claimed("a9"));
    });

    it("takes each part once and in its turn; one who divides it otherwise begins again", () => {
      thread(...base, told[0]!)
        .when(tell(1))
        .then();
      thread(...base)
        .when(tell(2))
        .then();
      thread(...base, status("draft_pending"), told[0]!)
        .when(tell(2))
        .thenTypes("ThreadAbsorbed");
      const otherwise = { ...parts[0]!, part: { n: 1, of: 7 } };
      thread(...base, told[0]!)
        .when({ type: "AbsorbThread", ...otherwise })
        .thenTypes("ThreadAbsorbed", "ThreadStatusChanged");
      thread(...base, { type: "ThreadAbsorbed", data: otherwise })
        .when(tell(2))
        .then();
    });

    it("remembers closed drafts of both", () => {
      const own = some.map((draftId): ThreadEvent => noted("closed", 4, `${draftId}-own`));
      const { closedDrafts } = fold(threadDecider, [...base, ...own, ...told]);
      expect(closedDrafts).to.have.length(200);
      expect(closedDrafts.filter(({ draftId }) => draftId.endsWith("-own"))).to.have.length(100);
      expect(closedDrafts.at(-1)).to.deep.equal(frozen.closedDrafts.at(-1));
    });
  });

  it("is told once what each mail proves, and asks for review where a joining one proves nothing [d5 authentication]", () => {
    const authentication = (aligned: boolean) =>
      ({ spf: "none", dkim: "none", dmarc: aligned ? "pass" : "fail", aligned }) as const;
    const said = (number: number, aligned: boolean, classification: "person" | "bounce" | "list" = "person") => ({
      messageId: `message ${number}`,
      number,
      identityId: "identity",
      classification,
      fromEmail: "ann@customer.example",
      subject: "s",
      contactId: null,
      contactStatus: "unknown" as const,
      authentication: authentication(aligned),
    });
    const authenticate = (...of: Parameters<typeof said>): ThreadCommand => ({
      type: "AuthenticateMessage",
      message: said(...of),
    });
    const authenticated = (...of: Parameters<typeof said>): ThreadEvent => ({
      type: "MessageAuthenticated",
      data: said(...of),
    });
    thread(...base)
      .when(authenticate(3, false))
      .then(authenticated(3, false));
    thread(...base, authenticated(3, false))
      .when(authenticate(3, true))
      .then();
    thread(...base)
      .when(authenticate(7, true))
      .then();
    const joined = [...base, received(4)];
    thread(...joined)
      .when(authenticate(4, true))
      .then(authenticated(4, true));
    thread(...joined)
      .when(authenticate(4, false))
      .thenTypes("MessageAuthenticated", "ThreadReviewSet");
    thread(...joined)
      .when(authenticate(4, false, "list"))
      .thenTypes("MessageAuthenticated", "ThreadReviewSet");
    thread(...joined)
      .when(authenticate(4, false, "bounce"))
      .thenTypes("MessageAuthenticated");
    thread(...joined, { type: "ThreadReviewSet", data: { needsReview: true, reason: "x" } })
      .when(authenticate(4, false))
      .thenTypes("MessageAuthenticated");
    // Later mail may be done with first; what was opened by us is joined by every mail.
    thread(...joined, authenticated(4, true))
      .when(authenticate(3, true))
      .thenTypes("MessageAuthenticated");
    thread(opened, { type: "MessageSent", data: mailSent }, received(1))
      .when(authenticate(1, false))
      .thenTypes("MessageAuthenticated", "ThreadReviewSet");
    const frozen: ThreadEvent = { type: "ThreadFrozen", data: { survivorId: "a", number: 5 } };
    thread(...joined, frozen)
      .when(authenticate(4, true))
      .thenRejected("thread_merged");
  });

  it("makes a change that is named once, whatever was set since", () => {
    const close: ThreadCommand = { type: "UpdateThread", status: "closed", because: "t", once: "name" };
    const isClosed: ThreadEvent = {
      type: "ThreadStatusChanged",
      data: { status: "closed", because: "t", once: "name" },
    };
    thread(...base)
      .when(close)
      .then(isClosed);
    thread(...base, isClosed, status("open"))
      .when(close)
      .then();
    thread(...base, isClosed, status("open"))
      .when({ ...close, once: "another" })
      .thenTypes("ThreadStatusChanged");
  });

  it("changes only what is different", () => {
    thread(...base)
      .when({ type: "UpdateThread", status: "open", needsReview: false, priority: "normal", because: "t" })
      .then();
    thread(...base)
      .when({ type: "UpdateThread", status: "closed", needsReview: true, priority: "high", because: "t" })
      .thenTypes("ThreadStatusChanged", "ThreadReviewSet", "ThreadPrioritySet");
  });
});

/** How many entries of lists and objects a new state has that the old one did not lend it. */
function madeNew(before: Thread, after: Thread): number {
  const known = new Set<unknown>();
  walk(before, (each) => known.add(each));
  let made = 0;
  walk(after, (each) => {
    if (known.has(each)) return false;
    made += Object.keys(each).length;
    return true;
  });
  return made;
}

function walk(value: unknown, visit: (each: object) => unknown): void {
  if (typeof value !== "object" || value === null || visit(value) === false) return;
  for (const inner of Object.values(value)) walk(inner, visit);
}
