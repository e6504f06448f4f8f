import type { DraftEvent, Quorum } from "#streams/draft/events.ts";
import type { Actor, Metadata } from "#streams/event.ts";

/**
 * An approval of a draft's version. `voter`: the id it counts for, and `place`: the chat it was given in, if several are required; else
 * null.
 */
export type GivenApproval = {
  by: Pick<Actor, "kind" | "id" | "name" | "channel">;
  at: string;
  voter: string | null;
  place: string | null;
};

type ApprovalGiven = Extract<DraftEvent, { type: "ApprovalGiven" }>["data"];

export const noApprovals = { approvals_given: [], approvals_required: null };

export const byOf = ({ kind, id, name, channel }: Actor): GivenApproval["by"] => ({
  kind,
  id,
  ...(name !== undefined && { name }),
  ...(channel !== undefined && { channel }),
});

/** Returns the approver who approved alone. A rule or setting is no approver. */
export const soleApprover = ({ actor, at }: Metadata): GivenApproval[] =>
  actor.kind === "rule" || actor.kind === "auto" ? [] : [{ by: byOf(actor), at, voter: null, place: null }];

const isOfOneKind = (one: string | null, other: string | null): boolean =>
  one !== null && other !== null && one.split(" ", 1)[0] === other.split(" ", 1)[0];

/**
 * Adds an approval. An approval by a named person replaces an approval by a link in a chat of the same kind, because the same person may
 * have given both.
 */
export function addApproval(
  given: readonly GivenApproval[],
  data: ApprovalGiven,
  { actor, at }: Metadata,
): GivenApproval[] {
  const { voter, place = null } = data;
  const others = given.filter((each) => !(each.voter === `link:${each.place}` && isOfOneKind(each.place, place)));
  return [...others, { by: byOf(actor), at, voter, place }];
}

/** Removes the approvals of these voters, and that of a person who approved alone. */
export const removeApprovals = (given: readonly GivenApproval[], voters: readonly string[]): GivenApproval[] =>
  given.filter(({ voter }) => voter !== null && !voters.includes(voter));

/** Returns the approvals of the quorum: an API key's earlier one may no longer count. */
export const countedApprovals = (given: readonly GivenApproval[], { voters }: Quorum): GivenApproval[] =>
  given.filter(({ voter }) => voter !== null && voters.includes(voter));
