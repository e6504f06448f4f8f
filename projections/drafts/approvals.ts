import type { DraftEvent, Quorum } from "#streams/draft/events.ts";
import type { Actor, Metadata } from "#streams/event.ts";

/** An approval of a draft's version. `voter`: whom it counts for, and `place`: the chat it came from, where several are required; else null. */
export type GivenApproval = {
  by: Pick<Actor, "kind" | "id" | "name" | "channel">;
  at: string;
  voter: string | null;
  place: string | null;
};

type Given = Extract<DraftEvent, { type: "ApprovalGiven" }>["data"];

export const nobodyApproved = { approvals_given: [], approvals_required: null };

const byOf = ({ kind, id, name, channel }: Actor): GivenApproval["by"] => ({
  kind,
  id,
  ...(name !== undefined && { name }),
  ...(channel !== undefined && { channel }),
});

/** The one who approved alone. What grants without a person is no approver. */
export const givenBy = ({ actor, at }: Metadata): GivenApproval[] =>
  actor.kind === "rule" || actor.kind === "auto" ? [] : [{ by: byOf(actor), at, voter: null, place: null }];

const isOfOneKind = (one: string | null, other: string | null): boolean =>
  one !== null && other !== null && one.split(" ", 1)[0] === other.split(" ", 1)[0];

/** Somebody who approves by name takes the place of the one who approved by a link into a chat of the same kind: it may have been the same person. */
export function withGiven(given: readonly GivenApproval[], data: Given, { actor, at }: Metadata): GivenApproval[] {
  const { voter, place = null } = data;
  const others = given.filter((each) => !(each.voter === `link:${each.place}` && isOfOneKind(each.place, place)));
  return [...others, { by: byOf(actor), at, voter, place }];
}

/** Without the approvals of these voters, and without that of somebody who approved alone. */
export const withoutGiven = (given: readonly GivenApproval[], voters: readonly string[]): GivenApproval[] =>
  given.filter(({ voter }) => voter !== null && !voters.includes(voter));

/** Those that the quorum is made of: an API key's earlier one may not count any more. */
export const counted = (given: readonly GivenApproval[], { voters }: Quorum): GivenApproval[] =>
  given.filter(({ voter }) => voter !== null && voters.includes(voter));
