import type { CardedView } from "#src/channels/approvalDecisions.ts";
import type { SendObstacle } from "#src/commands/approvals/sendObstacle.ts";
import type { ReviewQuery } from "./reviewQuery.ts";

/** The selected draft with everything its section shows. */
export type SelectedDraft = {
  view: CardedView;
  votes: OwnVote;
  obstacle: SendObstacle | undefined;
  /** Names of other people who are viewing it. */
  looking: readonly string[];
  /** Earlier rejection reasons of this workspace, to choose from. */
  reasons: readonly string[];
  /** The member who takes care of it; null if nobody does. */
  assignee: { user_id: string; name: string } | null;
  /** Members to whom it can be assigned; none if the reader may not assign it. */
  assignees: readonly { user_id: string; name: string }[];
  threadId: string;
  /** Place of the answered message among those of its conversation, from 1; undefined if the draft answers none. */
  message: { id: string; number: number; count: number } | undefined;
};

/** The drafts next to this one in the queue. `rank`: its own place, from 1; undefined if it is not in the queue. */
export type Neighbours = {
  next: string | undefined;
  previous: string | undefined;
  rank: number | undefined;
  total: number;
};

/** An action that was not done: why, and the reason or the requested changes that were typed. */
export type RefusedAction = { sentence: string; reason?: string; changes?: string };

export type SelectedDraftOptions = { place: ReviewQuery; neighbours: Neighbours; notDone: RefusedAction | undefined };

/** `isMine`: this person has approved this version already. `askedForChanges`: the open request for changes is theirs. */
export type OwnVote = { isMine: boolean; askedForChanges: boolean };
