import { Rejected } from "../decider.ts";
import { type Approval, type Draft, isByPersonOrKey, type Vote } from "./draft.ts";
import type { Authorisation, DraftEvent, Quorum } from "./events.ts";

/** All keys of a workspace together are one voter: an agent that holds several is one agent. */
export const keysVoter = "keys";

/** Who holds a link into a chat may be anybody in it. */
export const linkVoter = (place: string): string => `link:${place}`;

/** An approval as it counts towards a quorum. */
export type Voting = {
  voter: string;
  place: string | null;
  /** Other names by which the same person may vote. */
  also?: readonly string[];
  /** As many as the identity asks for now. */
  required: number;
  /** Keys may decide; not while human approval is required, whatever they said before. */
  keysCount: boolean;
  /** Voters whose earlier approval counts no more: they are no members any more. */
  lapsed?: readonly string[];
};

type Shown = Pick<Draft, "version" | "contentSha256">;
type Approving = {
  voting: Voting;
  sendRequested: boolean;
  tokenSha256: string | null;
  signedIn?: SignedIn | undefined;
};

/** It is a signed-in person's approval. `sendAfter` (ISO 8601): if it sends, they can take it back until then. */
export type SignedIn = { sendAfter: string };

/** How an approval names the signed-in person who gave it; nothing for anybody else's. */
export function approverIn(
  voter: string,
  { signedIn, sends }: { signedIn: SignedIn | undefined; sends: boolean },
): { approver?: string; sendAfter?: string } {
  if (signedIn === undefined) return {};
  return { approver: voter, ...(sends && { sendAfter: signedIn.sendAfter }) };
}

/**
 * What an approval comes to where more than one is required: it is on record, and the one that completes the quorum approves the draft in the same
 * append. An approver's second one changes nothing, unless by now their first one is enough.
 */
export function vote(
  draft: Shown & { votes: readonly Vote[] },
  { voting, signedIn, ...press }: Approving,
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
  const by = approverIn(voter, { signedIn, sends: means });
  return [...given, { type: "DraftApproved", data: { ...shown, sendRequested: means, quorum, ...by } }];
}

type Named = Pick<Vote, "voter" | "also">;

/** Whether both are the same person's: they have a name in common. */
export const isSamePerson = (one: Named, other: Named): boolean => {
  const names = [other.voter, ...(other.also ?? [])];
  return [one.voter, ...(one.also ?? [])].some((name) => names.includes(name));
};

/** The holder of a link into a chat may be anybody who voted in one of its kind: people are in several, and one chat may have several names. */
const hasVoted = (votes: readonly Vote[], { voter, place, also = [] }: Omit<Vote, "sendRequested">): boolean =>
  votes.some(
    (each) => isSamePerson(each, { voter, also }) || (isLinkOf(voter, place) && isOfOneKind(each.place, place)),
  );

/** The votes that still count when a draft returns to pending: the others', if it was some voters' approval that fell. */
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

/** The voters whose approval a draft has: those of its quorum, or the signed-in person who approved it alone. */
export const approversOf = ({ approval, approver }: WithApproval): readonly string[] =>
  quorumIn(approval)?.voters ?? (approver === null ? [] : [approver.voter]);

/** True if too few of a draft's approvers are left without these. */
export function fallsWithout(draft: WithApproval, lapsed: readonly string[]): boolean {
  const voters = approversOf(draft);
  const left = voters.filter((voter) => !lapsed.includes(voter));
  return left.length < voters.length && left.length < (quorumIn(draft.approval)?.required ?? 1);
}

export const withoutVote = (votes: readonly Vote[], voter: string): Vote[] =>
  votes.filter((each) => each.voter !== voter);

/** Somebody who votes by name takes the place of the vote by a link into a chat of the same kind: it may have been theirs. */
export const withVote = (votes: readonly Vote[], vote: Vote): Vote[] => [
  ...votes.filter(({ voter, place }) => !(isLinkOf(voter, place) && isOfOneKind(place, vote.place))),
  vote,
];

const isOfOneKind = (one: string | null, other: string | null): boolean =>
  one !== null && other !== null && one.split(" ", 1)[0] === other.split(" ", 1)[0];

const isLinkOf = (voter: string, place: string | null): boolean => place !== null && voter === linkVoter(place);

/** Whose approval a full quorum is: people's only if they are enough without the keys. */
export const quorumBy = ({ required, voters }: Quorum): "person" | "key" =>
  voters.filter((voter) => voter !== keysVoter).length >= required ? "person" : "key";

/** Rejected approvals_missing, with how many are required and how many there are. */
export function approvalsMissing(required: number, given: number, already = false): Rejected {
  const missing = required - given;
  const said = already ? "API keys have approved this version already" : "this draft is not approved by enough people";
  const sentence = `${said}: ${given} of ${required} approvals ${given === 1 ? "is" : "are"} given, so ${missing} more ${missing === 1 ? "approver has" : "approvers have"} to approve it; keys count once together`;
  return new Rejected("approvals_missing", sentence, { required, given });
}

/**
 * Refuses to queue what a full quorum has not approved, as the draft's own stream tells. How many are required is judged at the decision: what
 * was approved when fewer were required stays approved. `required`: as many as now. Throws Rejected approvals_missing.
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
