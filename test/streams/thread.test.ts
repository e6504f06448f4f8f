import { expect } from "chai";
import { fold, Rejected } from "#streams/decider.ts";
import type { DraftOutcome } from "#streams/draft/outcome.ts";
import type { Classification } from "#streams/inbox/events.ts";
import { splitForAbsorption } from "#streams/thread/absorption.ts";
import { type ThreadCommand, threadDecider } from "#streams/thread/decider.ts";
import type { ThreadEvent } from "#streams/thread/events.ts";
import type { Thread } from "#streams/thread/thread.ts";
import { authentication, messageAuthenticated } from "#test/support/examples/index.ts";
import {
  base,
  claim,
  claimed,
  claimOf,
  file,
  mailSent,
  noted,
  opened,
  opening,
  received,
  review,
  status,
} from "#test/support/examples/threads.ts";
import { sized } from "#test/support/full.ts";
import { given } from "#test/support/given.ts";

const thread = (...events: ThreadEvent[]) => given(threadDecider, ...events);

describe("a thread", () => {
  it("a thread takes each mail once, in the order of filing numbers", () => {
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

  it("a thread opens again when the customer writes, and asks for review if closed or for a stranger [3 needs_review]", () => {
    thread(...base, status("waiting"))
      .when(file(4))
      .then(received(4), status("open", "the customer wrote"));
    thread(...base, status("waiting"))
      .when(file(4, { classification: "bounce" }))
      .thenTypes("MessageReceived");
    thread(...base, status("closed"))
      .when(file(4))
      .then(received(4), review("new mail on a closed thread"));
    const stranger = "a sender who never took part in this thread";
    for (const from of [{ name: "", address: "eve@x.example" }, null]) {
      thread(...base)
        .when(file(4, { from }))
        .then(received(4, { from }), review(stranger));
    }
    // A machine's mail asks for no review, a second reason changes nothing, and filing may give its own reason.
    const robot = { from: { name: "", address: "robot@x.example" }, classification: "auto_reply" } as const;
    thread(...base)
      .when(file(4, robot))
      .thenTypes("MessageReceived");
    thread(...base, review("x"))
      .when(file(4, { from: null }))
      .thenTypes("MessageReceived");
    thread(...base)
      .when({ ...file(4), reviewReason: "an unsure join" } as ThreadCommand)
      .then(received(4), review("an unsure join"));
  });

  it("a thread refuses a claim of a draft that is older than the newest customer mail", () => {
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

  it("a thread refuses a claim whose approval does not know of another answer to the message", () => {
    const knowing = (...knows: string[]): ThreadCommand => ({ ...claim("a2", 3), knows }) as ThreadCommand;
    const answer: ThreadEvent = { type: "SendClaimed", data: { ...claimOf("a1"), draftId: "other", replaces: null } };
    const released = (because: string): ThreadEvent => ({
      type: "SendClaimReleased",
      data: { draftId: "other", attemptId: "a1", because },
    });
    const sent: ThreadEvent = { type: "MessageSent", data: { ...mailSent, draftId: "other" } };
    for (const answered of [[answer], [answer, sent], [answer, released("unconfirmed")]]) {
      thread(...base, ...answered)
        .when(knowing())
        .thenRejected("answered_meanwhile");
      thread(...base, ...answered)
        .when(knowing("other"))
        .then(claimed("a2"));
      thread(...base, ...answered)
        .when(claim("a2", 3))
        .then(claimed("a2"));
    }
    thread(...base, answer, released("quota"))
      .when(knowing())
      .then(claimed("a2"));
    thread(...base, answer, sent, received(4))
      .when({ ...knowing(), basedOnNumber: 4 } as ThreadCommand)
      .then(claimed("a2"));
  });

  it("a thread gives each draft one claim, and replaces only the claim that is named", () => {
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

  it("a thread releases the named claim, once", () => {
    const release: ThreadCommand = { type: "ReleaseClaim", draftId: "draft", attemptId: "a1", because: "stale" };
    thread(...base, claimed("a1"))
      .when(release)
      .then({ type: "SendClaimReleased", data: { draftId: "draft", attemptId: "a1", because: "stale" } });
    thread(...base)
      .when(release)
      .then();
    thread(...base, claimed("a2", "a1"))
      .when(release)
      .then();
  });

  it("a thread waits after a reply, which is recorded once [3 thread -> waiting]", () => {
    const tell: ThreadCommand = { type: "RecordSent", ...mailSent };
    const told: ThreadEvent = { type: "MessageSent", data: mailSent };
    thread(...base, noted("pending", 2), claimed("a1"))
      .when(tell)
      .then(told, status("waiting", "a reply was sent"));
    thread(...base, claimed("a1"), status("waiting"))
      .when(tell)
      .then(told);
    thread(...base, told)
      .when(tell)
      .then();
    expect(fold(threadDecider, [...base, claimed("a1"), { type: "MessageSent", data: mailSent }]).claims).to.deep.equal(
      {},
    );
  });

  it("a thread's status follows its drafts, by their newest note", () => {
    const note = (outcome: DraftOutcome, draftRevision: number): ThreadCommand => ({
      type: "NoteDraft",
      draftId: "draft",
      outcome,
      draftRevision,
    });
    thread(...base)
      .when(note("pending", 0))
      .then(noted("pending", 0), status("draft_pending", "draft pending"));
    thread(...base, noted("pending", 0))
      .when(note("pending", 0))
      .then();
    thread(...base, noted("approved", 2))
      .when(note("pending", 1))
      .then();
    thread(...base, status("waiting"), noted("approved", 0), claimed("a1"))
      .when(note("stale", 1))
      .then(noted("closed", 1), status("open", "draft stale"));
    const pending = [...base, status("draft_pending"), noted("pending", 0)];
    for (const outcome of ["rejected", "stale", "failed"] as const) {
      thread(...pending)
        .when(note(outcome, 1))
        .then(noted("closed", 1), status("open", `draft ${outcome}`));
    }
    // A draft that is approved by its submission was never pending. A later approval changes nothing.
    thread(...base)
      .when(note("approved", 0))
      .then(noted("approved", 0));
    thread(...pending)
      .when(note("approved", 1))
      .then();
    // A note changes nothing once the draft's mail was sent.
    thread(...base, { type: "MessageSent", data: mailSent })
      .when(note("failed", 9))
      .then();
    thread(...base, status("draft_pending"), noted("pending", 0, "other"))
      .when(note("stale", 1))
      .thenTypes("DraftNoted");
    const claimOfOther: ThreadEvent = {
      type: "SendClaimed",
      data: { ...claimOf("a1"), draftId: "other", replaces: null },
    };
    const released: ThreadEvent = {
      type: "SendClaimReleased",
      data: { draftId: "other", attemptId: "a1", because: "refused" },
    };
    const sending = [...base, status("waiting"), noted("pending", 0, "other"), claimOfOther];
    thread(...sending)
      .when(note("stale", 1))
      .thenTypes("DraftNoted");
    thread(...sending, released)
      .when(note("stale", 1))
      .then(noted("closed", 1), status("draft_pending", "draft stale"));
    // A draft that has ended decides no more, though its claim is given back a little later.
    thread(...sending, noted("closed", 1, "other"))
      .when(note("failed", 1))
      .then(noted("closed", 1), status("open", "draft failed"));
    thread(...sending, noted("closed", 1, "other"), released)
      .when(note("stale", 1))
      .then(noted("closed", 1), status("open", "draft stale"));
  });

  it("a thread knows the last note of each draft", () => {
    const heard = (...events: ThreadEvent[]) => fold(threadDecider, [...base, ...events]);
    const again = heard(noted("pending", 0), noted("closed", 4), noted("pending", 5));
    expect(again.closedDrafts).to.deep.equal([]);
    expect(again).to.deep.include({ drafts: { draft: { status: "pending", revision: 5 } }, pendingDrafts: 1 });
    const twice = heard(noted("closed", 4), noted("closed", 6)).closedDrafts;
    expect(twice).to.deep.equal([{ draftId: "draft", status: "closed", revision: 6 }]);
    const left = heard(noted("pending", 2), claimed("a1"), { type: "MessageSent", data: mailSent });
    expect(left).to.deep.include({ drafts: {}, pendingDrafts: 0, claims: {} });
    expect(left.closedDrafts).to.deep.equal([{ draftId: "draft", status: "sent", revision: 0 }]);
  });

  describe("a thread with many closed drafts", () => {
    const closings = (from: number, to: number): ThreadEvent[] =>
      Array.from({ length: to - from }, (_, index) => noted("closed", 5, `draft ${from + index}`));
    const note = (draftId: string, outcome: "pending" | "rejected", hasEnded?: boolean): ThreadCommand => ({
      ...{ type: "NoteDraft", draftId, outcome, draftRevision: outcome === "pending" ? 1 : 6 },
      ...(hasEnded !== undefined && { hasEnded }),
    });
    const full = [...base, ...closings(0, 201)];

    it("a thread keeps the revisions of the 200 drafts that closed last, so that a late note changes nothing", () => {
      expect(fold(threadDecider, full).closedDrafts).to.have.length(200);
      for (const known of ["draft 1", "draft 200"]) {
        thread(...full)
          .when(note(known, "pending"))
          .then();
      }
      // A draft that is closed again, such as a stale one that is rejected, counts from then on.
      const again = [...full, noted("closed", 7, "draft 1"), ...closings(201, 300)];
      thread(...again)
        .when(note("draft 1", "pending"))
        .then();
      thread(...again)
        .when(note("draft 100", "pending"))
        .thenTypes("DraftNoted", "ThreadStatusChanged");
    });

    it("a thread holds no closed draft as open: its state is as large after 5,000 as after 300", () => {
      const opened = (from: number, to: number): ThreadEvent[] =>
        closings(from, to).flatMap((closing, index) => [noted("pending", 0, `draft ${from + index}`), closing]);
      const stateAfter = (count: number) => fold(threadDecider, [...base, ...opened(1_000, 1_000 + count)]);
      const { drafts, pendingDrafts } = stateAfter(5_000);
      expect({ drafts, pendingDrafts }).to.deep.equal({ drafts: {}, pendingDrafts: 0 });
      const sizeAfter = (count: number) => JSON.stringify({ ...stateAfter(count), revision: 0 }).length;
      expect(sizeAfter(5_000)).to.equal(sizeAfter(300));
    });

    it("a thread ignores late notes of a draft that it has forgotten, and takes notes of new drafts", () => {
      thread(...full)
        .when(note("draft 0", "pending", true))
        .then();
      thread(...full)
        .when(note("draft 0", "rejected"))
        .then();
      thread(...full)
        .when(note("new", "pending"))
        .thenTypes("DraftNoted", "ThreadStatusChanged");
      // If no draft was forgotten, the thread did not know this one.
      thread(...base, ...closings(0, 199))
        .when(note("new", "pending", true))
        .thenTypes("DraftNoted", "ThreadStatusChanged");
    });

    it("a thread forgets no closed draft that has a claim", () => {
      thread(...full, claimed("a1"))
        .when(note("draft", "rejected"))
        .thenTypes("DraftNoted");
    });

    it("a thread records each sent mail once, also after it has forgotten the draft", () => {
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

  it("a thread allocates little for an event, however many drafts are open, being sent or answered machines", () => {
    const many = sized(1_000, 10_000);
    const each = (make: (id: string) => ThreadEvent[]): ThreadEvent[] =>
      Array.from({ length: many }, (_, index) => make(`draft ${index}`)).flat();
    const sending = each((draftId) => [
      noted("pending", 1, draftId),
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

  it("a frozen thread only points to its survivor, and counts earlier filed mail as done", () => {
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
      .when({ type: "OpenThread", opened: opening })
      .then();
    const [told] = splitForAbsorption("b", fold(threadDecider, base));
    thread(...base, frozen)
      .when({ type: "AbsorbThread", ...told! })
      .then();
    thread(...base, frozen)
      .when(claim("a1", 3))
      .thenRejected("thread_merged");
    thread(...base, frozen)
      .when({ type: "UpdateThread", status: "closed", because: "test" })
      .thenRejected("thread_merged");
    expect(() => threadDecider.decide(claim("a1", 3), fold(threadDecider, [...base, frozen])))
      .to.throw(Rejected)
      .with.property("details")
      .that.deep.equals({ survivorId: "survivor" });
  });

  it("the proof of a mail that was filed by hand meanwhile is recorded as that of its sender's word, once [d5 file]", () => {
    const said = messageAuthenticated(4, {});
    const { messageId, number } = said;
    const place = { messageId, number, identityId: said.identityId, received: { threadId: "t", revision: 1 } };
    const filed = [...base, received(4), { type: "MessageFiledByHand", data: place } as ThreadEvent];
    thread(...filed)
      .when({ type: "AuthenticateMessage", message: { ...said, kind: "automatic_reply" } })
      .then();
    const word = { ...said, kind: "filed_by_hand" as const };
    thread(...filed)
      .when({ type: "AuthenticateMessage", message: word })
      .thenTypes("MessageAuthenticated");
    thread(...filed, { type: "MessageAuthenticated", data: word })
      .when({ type: "AuthenticateMessage", message: word })
      .then();
  });

  it("a thread records what each mail proves once, and asks for review if joining mail proves nothing [d5 authentication]", () => {
    const said = (number: number, aligned: boolean, classification: Classification = "person") =>
      messageAuthenticated(number, {
        classification,
        authentication: authentication({ dmarc: aligned ? "pass" : "fail", aligned }),
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
      .then(authenticated(4, false), review("a sender whose address is not proven"));
    const blocked = { ...said(4, false), contactStatus: "blocked" as const };
    thread(...joined)
      .when({ type: "AuthenticateMessage", message: blocked })
      .thenTypes("MessageAuthenticated");
    thread(...joined)
      .when(authenticate(4, false, "list"))
      .thenTypes("MessageAuthenticated", "ThreadReviewSet");
    thread(...joined)
      .when(authenticate(4, false, "bounce"))
      .thenTypes("MessageAuthenticated");
    thread(...joined, { type: "ThreadReviewSet", data: { needsReview: true, reason: "x" } })
      .when(authenticate(4, false))
      .thenTypes("MessageAuthenticated");
    // Later mail may be checked first. Every mail joins a thread that we opened.
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

  it("a named change of a thread is made once, whatever was set since", () => {
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
    const named = Array.from(
      { length: 201 },
      (_, n): ThreadEvent => ({
        type: "ThreadPrioritySet",
        data: { priority: "high", once: `name ${n}` },
      }),
    );
    expect(fold(threadDecider, [...base, ...named]).doneOnce).to.deep.equal(
      named.slice(1).map(({ data }) => "once" in data && data.once),
    );
  });

  it("an update of a thread changes only what is different", () => {
    thread(...base)
      .when({ type: "UpdateThread", status: "open", needsReview: false, priority: "normal", because: "t" })
      .then();
    const high: ThreadEvent = { type: "ThreadPrioritySet", data: { priority: "high" } };
    thread(...base)
      .when({ type: "UpdateThread", status: "closed", needsReview: true, priority: "high", because: "t" })
      .then(status("closed", "t"), review("t"), high);
    thread(...base)
      .when({ type: "UpdateThread", priority: "high", because: "t" })
      .then(high);
    thread(...base, review("x"))
      .when({ type: "UpdateThread", needsReview: false, because: "t" })
      .then({ type: "ThreadReviewSet", data: { needsReview: false, reason: null } });
  });

  it("a thread knows where the proof of each of its last 50 mails is stored", () => {
    const authenticated = (number: number) => ({ type: "MessageAuthenticated", data: { number } }) as ThreadEvent;
    const { proofs } = fold(threadDecider, [...base, ...Array.from({ length: 51 }, (_, n) => authenticated(n))]);
    expect([proofs.length, proofs[0], proofs.at(-1)]).to.deep.equal([
      50,
      { number: 1, revision: 3 },
      { number: 50, revision: 52 },
    ]);
  });

  it("a thread remembers 400 participants, each once", () => {
    const names = Array.from({ length: 500 }, (_, n) => `${n}@x.example`);
    const noSender = received(4, { from: null, to: [...names, ...names] });
    const { participants } = fold(threadDecider, [...base, noSender]);
    expect(participants).to.deep.equal(["ann@customer.example", ...names].slice(0, 400));
  });
});

/** Returns how many entries of lists and objects the new state does not share with the old one. */
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
