import { expect } from "chai";
import fc from "fast-check";
import { fold, Rejected } from "#streams/decider.ts";
import { draftDecider } from "#streams/draft/decider.ts";
import type { DraftEvent, Quorum } from "#streams/draft/events.ts";
import { keysVoter, linkVoter, type Voting } from "#streams/draft/quorum.ts";
import type { ReviewCommand } from "#streams/draft/review.ts";
import type { SendingCommand } from "#streams/draft/sending.ts";
import { approved, edited, queued, refreshed, rejected, submitted } from "#test/support/examples/drafts.ts";
import { sized } from "#test/support/full.ts";
import { given } from "#test/support/given.ts";

const draft = (...events: DraftEvent[]) => given(draftDecider, submitted(), ...events);

const by = (voter: string, different: Partial<Voting> & { sendRequested?: boolean; version?: number } = {}) => {
  const { sendRequested = false, version, ...voting } = different;
  return {
    type: "ApproveDraft",
    ifVersion: version ?? null,
    contentSha256: null,
    sendRequested,
    tokenSha256: null,
    voting: { voter, place: null, required: 2, keysCount: true, ...voting },
  } satisfies ReviewCommand;
};
const gave = (
  voter: string,
  different: Partial<Extract<DraftEvent, { type: "ApprovalGiven" }>["data"]> = {},
): DraftEvent => ({
  type: "ApprovalGiven",
  data: {
    version: 1,
    contentSha256: "hash 1",
    tokenSha256: null,
    sendRequested: false,
    voter,
    required: 2,
    ...different,
  },
});
const full = (voters: string[], required = 2): { quorum: Quorum } => ({ quorum: { required, voters } });
const reject: ReviewCommand = { type: "RejectDraft", reason: null, ifVersion: null, tokenSha256: null };
const back: ReviewCommand = { type: "ReturnToPending", because: "the identity changed" };
const queue = (
  required: number,
  authorisation: ReturnType<typeof queued>["data"]["authorisation"],
): SendingCommand => ({
  type: "QueueDraft",
  queued: queued(1, { authorisation }).data,
  approvalsRequired: required,
});
const byKey = { kind: "api_key", approvedVersion: 1 } as const;

describe("a draft that several have to approve", () => {
  it("a draft waits for its quorum, and the last approval approves it in the same append", () => {
    draft().when(by("a")).then(gave("a"));
    draft(gave("a"))
      .when(by("b"))
      .then(gave("b"), approved(1, full(["a", "b"])));
    draft(gave("a", { required: 3 }))
      .when(by("b", { required: 3 }))
      .then(gave("b", { required: 3 }));
  });

  it("a draft is sent after its quorum if any of the approvers meant to send", () => {
    draft(gave("a", { sendRequested: true }))
      .when(by("b"))
      .then(gave("b"), approved(1, { ...full(["a", "b"]), sendRequested: true }));
    const last = gave("b", { sendRequested: true });
    draft(gave("a"))
      .when(by("b", { sendRequested: true }))
      .then(last, approved(1, { ...full(["a", "b"]), sendRequested: true }));
  });

  it("a quorum counts each approver once", () => {
    draft(gave("a")).when(by("a")).then();
    draft(gave("a"), gave("b", { required: 3 }))
      .when(by("b", { required: 3 }))
      .then();
  });

  it("a quorum begins again after any edit, and after an approval was taken back", () => {
    draft(gave("a"), edited(2))
      .when(by("b"))
      .then(gave("b", { version: 2, contentSha256: "hash 2" }));
    draft(gave("a"), refreshed(2))
      .when(by("b"))
      .then(gave("b", { version: 2, contentSha256: "hash 2" }));
    draft(gave("a"), edited(2))
      .when(by("a", { version: 1 }))
      .thenRejected("version_mismatch");
    const returned: DraftEvent = { type: "DraftReturnedToPending", data: { because: "the identity changed" } };
    draft(gave("a"), gave("b"), approved(1, full(["a", "b"])))
      .when(back)
      .then(returned);
    draft(gave("a"), gave("b"), approved(1, full(["a", "b"])), returned)
      .when(by("b"))
      .then(gave("b"));
  });

  it("one rejection ends a draft that waits for its quorum", () => {
    draft(gave("a")).when(reject).then(rejected(1));
    draft(gave("a"), rejected(1)).when(by("b")).thenRejected("invalid_status");
  });

  it("a quorum is what the decision requires: fewer suffice with the next approval, more make it wait", () => {
    draft(gave("a"))
      .when(by("a", { required: 1 }))
      .then(approved(1));
    draft(gave("a", { required: 3 }), gave("b", { required: 3 }))
      .when(by("b"))
      .then(approved(1, full(["a", "b"])));
    draft(gave("a"))
      .when(by("b", { required: 3 }))
      .then(gave("b", { required: 3 }));
  });

  it("keys do not count in a quorum while human approval is required, whatever they approved before", () => {
    draft(gave(keysVoter))
      .when(by("b", { keysCount: false }))
      .then(gave("b"));
    draft(gave(keysVoter), gave("b"))
      .when(by("c", { keysCount: false }))
      .then(gave("c"), approved(1, full(["b", "c"])));
    const mixed = fold(draftDecider, [submitted(), approved(1, full([keysVoter, "b"]))]);
    const people = fold(draftDecider, [submitted(), approved(1, full([keysVoter, "b", "c"]))]);
    expect([mixed.approval?.by, people.approval?.by]).to.deep.equal(["key", "person"]);
  });

  it("a vote by a link in a chat counts for any person of the chat, until one of them votes by name", () => {
    const [link, place] = [linkVoter("chat"), "chat"];
    draft(gave("ada", { place })).when(by(link, { place })).then();
    draft(gave(link, { place })).when(by("ada", { place })).then(gave("ada", { place }));
    const named = fold(draftDecider, [submitted(), gave(link, { place }), gave("ada", { place })]);
    expect(named.votes.map(({ voter }) => voter)).to.deep.equal(["ada"]);
    draft(gave(link, { place }))
      .when(by("mail"))
      .then(gave("mail"), approved(1, full([link, "mail"])));
    draft(gave(link, { place }))
      .when(by("ada", { place: "other" }))
      .then(gave("ada", { place: "other" }), approved(1, full([link, "ada"])));
  });

  it("a vote by a link in one chat may be a person's of another chat of its kind: people are in several", () => {
    const [first, second] = ["telegram 1:-100", "telegram 1:-200"];
    const links = [first, second].map((place) => gave(linkVoter(place), { place }));
    draft(gave("telegram:7", { place: first }))
      .when(by(linkVoter(second), { place: second }))
      .then();
    draft(links[0]!)
      .when(by(linkVoter(second), { place: second }))
      .then();
    draft(links[0]!)
      .when(by("telegram:7", { place: second }))
      .then(gave("telegram:7", { place: second }));
    const named = fold(draftDecider, [submitted(), links[0]!, gave("telegram:7", { place: second })]);
    expect(named.votes.map(({ voter }) => voter)).to.deep.equal(["telegram:7"]);
    draft(links[0]!)
      .when(by(linkVoter("slack a"), { place: "slack a" }))
      .thenTypes("ApprovalGiven", "DraftApproved");
    // In another kind of chat the same person counts as another voter.
    draft(gave("telegram:7", { place: first }))
      .when(by(linkVoter("slack a"), { place: "slack a" }))
      .thenTypes("ApprovalGiven", "DraftApproved");
  });

  it("a draft is queued only with a full quorum", () => {
    draft().when(queue(2, byKey)).thenRejected("approvals_missing");
    draft(gave("a")).when(queue(2, byKey)).thenRejected("approvals_missing");
    draft(approved(1, { grantedBy: { runId: "run", ruleId: "rule" } }))
      .when(queue(2, byKey))
      .thenRejected("approvals_missing");
    draft(approved(1, { grantedBy: { runId: "run", ruleId: "rule" } }))
      .when(queue(2, { kind: "auto", approvedVersion: 1 }))
      .thenRejected("approvals_missing");
    const whole = [gave("a"), gave("b"), approved(1, full(["a", "b"]))];
    const naming = (voters: string[]) => ({ kind: "approval", approvedVersion: 1, ...full(voters) }) as const;
    draft(...whole)
      .when(queue(2, naming(["a", "b"])))
      .thenTypes("DraftQueued");
    for (const short of [
      naming(["a"]),
      naming(["a", "a"]),
      naming(["a", "stranger"]),
      { kind: "approval", approvedVersion: 1 } as const,
    ])
      draft(...whole)
        .when(queue(2, short))
        .thenRejected("approvals_missing");
    // A quorum that keys belong to has to be named in full, too.
    draft(approved(1, full([keysVoter, "b"])))
      .when(queue(2, naming(["b"])))
      .thenRejected("approvals_missing");
    // A draft approved before more approvals were required stays approved.
    draft(approved(1))
      .when(queue(2, { kind: "approval", approvedVersion: 1 }))
      .thenTypes("DraftQueued");
  });
});

describe("approvals that are missing", () => {
  it("a refusal for want of approvals says how many are required and how many there are", () => {
    const refusal = (sentence: string, ...events: DraftEvent[]) =>
      expect(() => draftDecider.decide(queue(3, byKey), fold(draftDecider, [submitted(), ...events])))
        .to.throw(Rejected, `this draft does not have enough approvals yet: ${sentence}`)
        .with.property("details");
    const [a, b] = ["a", "b"].map((voter) => gave(voter, { required: 3 }));
    const one = "1 of 3 approvals is given, so 2 more approvers have";
    refusal(one, a!).that.deep.equals({ required: 3, given: 1 });
    const two = "2 of 3 approvals are given, so 1 more approver has";
    refusal(two, a!, b!).that.deep.equals({ required: 3, given: 2 });
  });
});

type Step = Parameters<typeof draftDecider.decide>[0];

/** Approvals by anybody, by name or by a link into their chat, while the number that is required moves; and what else happens to a draft. */
const steps: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc
      .record({
        who: fc.constantFrom("ada", "bob", "cyd", "link", "mail", keysVoter),
        place: fc.constantFrom("chat", "other"),
        required: fc.integer({ min: 2, max: 4 }),
        keysCount: fc.boolean(),
      })
      .map(({ who, place, ...rest }): Step => {
        if (who === "mail" || who === keysVoter) return by(who, rest);
        return by(who === "link" ? linkVoter(place) : who, { place, ...rest });
      }),
  },
  {
    weight: 1,
    arbitrary: fc
      .tuple(fc.constantFrom<"edit" | "identity_changed">("edit", "identity_changed"), fc.uuid())
      .map(editing),
  },
  { weight: 1, arbitrary: fc.constantFrom<Step>(reject, back) },
);

function editing([because, contentSha256]: ["edit" | "identity_changed", string]): Step {
  const { version: _, ...data } = edited(2).data;
  return { type: "EditDraft", ...data, because, contentSha256, ifVersion: null };
}

/**
 * Returns what is wrong with a history, judged without the rules: each approval needs enough different people's approvals of exactly that
 * content.
 */
function faultIn(history: readonly DraftEvent[]): string | undefined {
  let current = { version: 1, contentSha256: "hash 1" };
  let given: Extract<DraftEvent, { type: "ApprovalGiven" }>["data"][] = [];
  let decided: string | undefined;
  for (const event of history) {
    if (event.type === "DraftEdited") {
      [current, given, decided] = [event.data, [], undefined];
    } else if (event.type === "DraftReturnedToPending") {
      [given, decided] = [[], undefined];
    } else if (event.type === "ApprovalGiven") {
      if (decided) return `approved once more after it was ${decided}`;
      if (event.data.version !== current.version || event.data.contentSha256 !== current.contentSha256)
        return "an approval of what is not there";
      if (given.some(({ voter }) => voter === event.data.voter)) return `${event.data.voter} counted twice`;
      given.push(event.data);
    } else if (event.type === "DraftRejected") {
      if (decided === "rejected") return "rejected twice";
      decided = "rejected";
    } else if (event.type === "DraftApproved") {
      if (decided) return `approved after it was ${decided}`;
      decided = "approved";
      const { quorum } = event.data;
      if (!quorum) return "approved by one alone";
      const named = given.filter(({ voter }) => quorum.voters.includes(voter));
      // Voters of a chat are its link and its people; any person may use the link.
      const places = (voter: string) =>
        named.filter((each) => each.place !== undefined && linkVoter(each.place) === voter);
      const people = named.filter(
        ({ voter, place }) =>
          !(places(voter).length > 0 && named.some((one) => one.place === place && one.voter !== voter)),
      );
      if (new Set(people.map(({ voter }) => voter)).size < quorum.required) return "too few of them";
      if (new Set(quorum.voters).size !== quorum.voters.length) return "somebody twice in it";
    }
  }
  return undefined;
}

describe("any order of approvals, edits, rejections and withdrawn approvals", () => {
  it("in any history each approval is that of a full quorum, of the version and hash that it names", () => {
    let approvals = 0;
    const property = fc.property(fc.array(steps, { minLength: 5, maxLength: 40 }), (commands) => {
      const history: DraftEvent[] = [submitted()];
      let state = fold(draftDecider, history);
      for (const command of commands) {
        try {
          const events = draftDecider.decide(command, state);
          history.push(...events);
          state = fold(draftDecider, events, state);
        } catch (error) {
          if (!(error instanceof Rejected)) throw error;
        }
      }
      approvals += history.filter(({ type }) => type === "DraftApproved").length;
      expect(faultIn(history)).to.equal(undefined);
    });
    fc.assert(property, { numRuns: sized(150, 5_000) });
    expect(approvals).to.be.greaterThan(20);
  });
});

describe("approvals of signed-in people who lost the right to decide", () => {
  const [ann, bob] = ["session:ann", "session:bob"];
  const alone = (approver?: string): DraftEvent => ({
    ...approved(1),
    data: { ...approved(1).data, tokenSha256: null, ...(approver && { approver }) },
  });
  const withdraw = (...lapsed: string[]) =>
    ({ type: "WithdrawApproval", version: 1, because: "removed", lapsed }) satisfies ReviewCommand;
  const returned = (...lapsed: string[]): DraftEvent => ({
    type: "DraftReturnedToPending",
    data: { because: "removed", lapsed },
  });
  const both = [gave(ann), gave(bob), { ...approved(1), data: { ...approved(1).data, ...full([ann, bob]) } }];

  it("a draft's only approval is withdrawn if its giver lost the right to decide, and no other approval is", () => {
    draft(alone(ann)).when(withdraw(ann)).then(returned(ann));
    draft(alone(ann)).when(withdraw(bob)).then();
    draft(alone()).when(withdraw(ann)).then();
    draft(alone(ann), edited(2)).when(withdraw(ann)).then();
  });

  it("one of two required approvals is withdrawn with its giver's right, and the other still counts", () => {
    draft(...both)
      .when(withdraw(ann))
      .then(returned(ann));
    const { status, votes } = fold(draftDecider, [submitted(), ...both, returned(ann)]);
    expect([status, votes.map(({ voter }) => voter)]).to.deep.equal(["pending", [bob]]);
    const cyd = "session:cyd";
    draft(...both, returned(ann))
      .when(by(cyd))
      .then(gave(cyd), {
        ...approved(1),
        data: { ...approved(1).data, tokenSha256: null, sendRequested: false, ...full([bob, cyd]) },
      });
  });

  it("an approval stays valid where enough others approved", () => {
    const three = [gave(ann), gave(bob), { ...approved(1), data: { ...approved(1).data, ...full([ann, bob], 1) } }];
    draft(...three)
      .when(withdraw(ann))
      .then();
    draft(...three)
      .when(withdraw(ann, bob))
      .then(returned(ann, bob));
  });
});
