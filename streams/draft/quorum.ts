import { Rejected } from "../decider.ts";
import { type Approval, type Draft, isByPersonOrKey, type Vote } from "./draft.ts";
import type { Authorisation, DraftEvent, Quorum } from "./events.ts";

/** Voter id of all keys of a workspace together: an agent that has several is one agent. */
export const keysVoter = "keys";

/** Voter id of a link in a chat, where any member may have pressed it. */
export const linkVoter = (place: string): string => `link:${place}`;

/** An approval as it counts towards a quorum. */
export type Voting = {
  voter: string;
  place: string | null;
  /** Further voter names of the same person. */
  also?: readonly string[];
  /** Number of approvals that the identity requires now. */
  required: number;
  /** True if keys may decide. False while human approval is required, which also discards their earlier approvals. */
  keysCount: boolean;
  /** Voters whose earlier approval no longer counts, because they are no longer members. */
  lapsed?: readonly string[];
};

type Shown = Pick<Draft, "version" | "contentSha256">;
type Approving = {
  voting: Voting;
  sendRequested: boolean;
  tokenSha256: string | null;
  undoWindow?: UndoWindow | undefined;
};

/**
 * Present for the approval of a person who can take it back: signed in, or on the page of a link. `sendAfter` (ISO 8601): if it sends, they
 * can take it back until then.
 */
export type UndoWindow = { sendAfter: string };

/** Returns the fields by which an approval names the person who can take it back; none if nobody can. */
export function approverIn(
  voter: string,
  { undoWindow, sends }: { undoWindow: UndoWindow | undefined; sends: boolean },
): { approver?: string; sendAfter?: string } {
  if (undoWindow === undefined) return {};
  return { approver: voter, ...(sends && { sendAfter: undoWindow.sendAfter }) };
}

/**
 * Records an approval if more than one is required; the one that completes the quorum approves the draft in the same append. An approver's
 * second approval changes nothing, unless by now their first one is enough.
 */
export function recordVote(
  draft: Shown & { votes: readonly Vote[] },
  { voting, undoWindow, ...press }: Approving,
): DraftEvent[] {
  const { voter, place, also = [], required, keysCount, lapsed = [] } = voting;
  const { version, contentSha256 } = draft;
  const { sendRequested, tokenSha256 } = press;
  const shown = { version, contentSha256, tokenSha256, sendRequested };
  const isNew = !hasVoted(draft.votes, voting);
  const names = also.length === 0 ? {} : { also: [...also] };
  const votes = isNew ? withVote(draft.votes, { voter, place, ...names, sendRequested }) : draft.votes;
  const given: DraftEvent[] = isNew
    ? [{ type: "ApprovalGiven", data: { ...shown, voter, ...(place !== null && { place }), ...names, required } }]
    : [];
  const counted = votes.filter((each) => (keysCount || each.voter !== keysVoter) && !lapsed.includes(each.voter));
  if (counted.length < required) return given;
  const quorum: Quorum = { required, voters: counted.map((each) => each.voter) };
  const means = counted.some((each) => each.sendRequested);
  const by = approverIn(voter, { undoWindow, sends: means });
  return [...given, { type: "DraftApproved", data: { ...shown, sendRequested: means, quorum, ...by } }];
}

type VoterNames = Pick<Vote, "voter" | "also">;

/** True if both voters are the same person, because they have a name in common. */
export const isSamePerson = (one: VoterNames, other: VoterNames): boolean => {
  const names = [other.voter, ...(other.also ?? [])];
  return [one.voter, ...(one.also ?? [])].some((name) => names.includes(name));
};

/**
 * True if this voter has already voted. A press in a chat may be by any earlier voter of that kind of chat: people are in several chats,
 * and one chat may have several names.
 */
const hasVoted = (votes: readonly Vote[], { voter, place, also = [] }: Omit<Vote, "sendRequested">): boolean =>
  votes.some(
    (each) => isSamePerson(each, { voter, also }) || (isLinkOf(voter, place) && isOfOneKind(each.place, place)),
  );

/** Returns the votes that still count when a draft returns to pending: the others', if only some voters' approvals fell. */
export function votesLeft<V extends Vote>(
  votes: readonly V[],
  { withdrawn, lapsed }: { withdrawn?: string; lapsed?: readonly string[] },
): V[] {
  const fallen = lapsed ?? (withdrawn === undefined ? undefined : [withdrawn]);
  return fallen === undefined ? [] : votes.filter(({ voter }) => !fallen.includes(voter));
}

const quorumIn = (approval: Approval | null): Quorum | undefined =>
  approval?.by === "person" || approval?.by === "key" ? approval.quorum : undefined;

type WithApproval = Pick<Draft, "approval" | "approver">;

/** Returns the voters who approved a draft: those of its quorum, or the signed-in person who approved it alone. */
export const approversOf = ({ approval, approver }: WithApproval): readonly string[] =>
  quorumIn(approval)?.voters ?? (approver === null ? [] : [approver.voter]);

/** True if too few approvers of a draft remain without these. */
export function losesQuorumWithout(draft: WithApproval, lapsed: readonly string[]): boolean {
  const voters = approversOf(draft);
  const left = voters.filter((voter) => !lapsed.includes(voter));
  return left.length < voters.length && left.length < (quorumIn(draft.approval)?.required ?? 1);
}

export const withoutVote = (votes: readonly Vote[], voter: string): Vote[] =>
  votes.filter((each) => each.voter !== voter);

/**
 * Adds a vote. A vote by a named person replaces a vote by a link in a chat of the same kind, because the same person may have given both.
 */
export const withVote = (votes: readonly Vote[], recordVote: Vote): Vote[] => [
  ...votes.filter(({ voter, place }) => !(isLinkOf(voter, place) && isOfOneKind(place, recordVote.place))),
  recordVote,
];

const isOfOneKind = (one: string | null, other: string | null): boolean =>
  one !== null && other !== null && one.split(" ", 1)[0] === other.split(" ", 1)[0];

const isLinkOf = (voter: string, place: string | null): boolean => place !== null && voter === linkVoter(place);

/** Kind of a complete quorum's approval: "person" only if there are enough people without the keys. */
export const quorumKind = ({ required, voters }: Quorum): "person" | "key" =>
  voters.filter((voter) => voter !== keysVoter).length >= required ? "person" : "key";

/** Creates Rejected approvals_missing, with how many are required and how many were given. */
export function approvalsMissing(required: number, given: number, already = false): Rejected {
  const missing = required - given;
  const said = already
    ? "API keys have approved this version already"
    : "this draft does not have enough approvals yet";
  const sentence = `${said}: ${given} of ${required} approvals ${given === 1 ? "is" : "are"} given, so ${missing} more ${missing === 1 ? "approver has" : "approvers have"} to approve it; keys count once together`;
  return new Rejected("approvals_missing", sentence, { required, given });
}

/**
 * Refuses to queue a draft that no full quorum approved, judged by the draft's own stream. The number required is fixed at the decision: a
 * draft approved when fewer were required stays approved. `required`: the number now. Throws Rejected approvals_missing.
 */
export function requireQuorum(draft: Draft, required: number, { quorum }: Authorisation): void {
  const { approval } = draft;
  if (required > 1 && !isByPersonOrKey(approval)) throw approvalsMissing(required, draft.votes.length);
  const full = quorumIn(approval);
  if (full === undefined) return;
  const named = quorum?.voters ?? [];
  const distinct = new Set(named.filter((voter) => full.voters.includes(voter)));
  if (distinct.size < full.required) throw approvalsMissing(full.required, distinct.size);
}
